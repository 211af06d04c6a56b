/* Addresses and seeds in text: each value has one spelling. The input is a text. */
#include <string.h>

#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "stellar/ids.h"
#include "stellar/strkey.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum strkey_version versions[] = {STRKEY_ACCOUNT, STRKEY_SEED, STRKEY_CONTRACT};
    AUTO_FREE char *text = NEW_ARRAY(size + 1, char);
    if (size > 0)
        memcpy(text, data, size);
    unsigned taken = 0;
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        uint8_t value[32];
        char again[STRKEY_SIZE];
        if (strkey_decode(versions[i], text, value) != ERR_OK)
            continue;
        taken++;
        strkey_encode(versions[i], value, again);
        RULE(strcmp(text, again) == 0);
    }
    RULE(taken <= 1);
    struct public_key key;
    if (address_decode(text, &key) == ERR_OK)
        RULE(text[0] == 'G' && taken == 1);
    return 0;
}
