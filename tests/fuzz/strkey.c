/* Addresses and seeds in text: each value has one spelling. The input is a text. */
#include <string.h>

#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "stellar/ids.h"
#include "stellar/strkey.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct {
        enum strkey_version version;
        size_t len;
    } kinds[] = {{STRKEY_ACCOUNT, 32}, {STRKEY_SEED, 32}, {STRKEY_MUXED_CONTRACT, 40}};
    AUTO_FREE char *text = NEW_ARRAY(size + 1, char);
    if (size > 0)
        memcpy(text, data, size);
    unsigned taken = 0;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        uint8_t value[STRKEY_VALUE_MAX];
        char again[STRKEY_SIZE(STRKEY_VALUE_MAX)];
        if (strkey_decode(kinds[i].version, text, value, kinds[i].len) != ERR_OK)
            continue;
        taken++;
        strkey_encode(kinds[i].version, value, kinds[i].len, again);
        RULE(strcmp(text, again) == 0);
    }
    RULE(taken <= 1);
    struct public_key key;
    if (address_decode(text, &key) == ERR_OK)
        RULE(text[0] == 'G' && taken == 1);
    return 0;
}
