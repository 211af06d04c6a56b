/* Limits of responses (rpc/call.h). */
#include <string.h>

#include "check.h"
#include "base/mem.h"
#include "call.h"

/* What a client of getHealth once made 1.2 GB of. */
TEST(no_method_accepts_24_megabytes_of_empty_arrays)
{
    static const char *const methods[] = {"getHealth", "getNetwork", "getLedgers", "getLedgerEntries",
        "getTransaction", "sendTransaction", "simulateTransaction"};
    const size_t len = 24 << 20;
    char *body = mem_new(len, 1);
    for (size_t i = 0; i + 3 <= len; i += 3)
        memcpy(body + i, "[],", 3);
    body[0] = '{';
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        const struct call_limits *limits = call_limits_of(methods[i]);
        assert_true(limits->values <= 100000 && limits->depth <= 64 && limits->bytes <= 64 << 20);
        assert_false(
            json_is_within((struct bytes){(const uint8_t *)body, len}, limits->depth, limits->values, NULL));
    }
    mem_free_at(&body);
}
