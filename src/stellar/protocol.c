/* Keeps the newest protocol version that was seen. What a version means, the decoders know. */
#include "stellar/protocol.h"

#include <inttypes.h>
#include <stdatomic.h>

#include "base/log.h"

static _Atomic uint32_t noted;

void protocol_note(uint32_t version, const char *from)
{
    uint32_t before = atomic_load(&noted);
    while (version > before && !atomic_compare_exchange_weak(&noted, &before, version))
        ;
    if (version > before && version > PROTOCOL_KNOWN)
        log_warn(
            "the network has or will have a protocol newer than this build: install a newer fairway before"
            " it upgrades, or no lease ends from then on",
            "protocol=%" PRIu32 " known=%d seen_in=\"%s\"", version, PROTOCOL_KNOWN, from);
}

uint32_t protocol_noted(void)
{
    return atomic_load(&noted);
}
