/* base64 and hexadecimal: each value has one spelling. The input is a text, then bytes. */
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(buf_free) struct buf out = {0}, again = {0};
    buf_add(&out, "x", 1);
    enum err e = base64_decode((const char *)data, size, &out);
    RULE(e == ERR_OK || (e == ERR_MALFORMED && out.len == 1));
    if (e == ERR_OK) {
        AUTO_FREE char *text = base64_encode((struct bytes){out.data + 1, out.len - 1});
        RULE(strlen(text) == size && memcmp(text, data, size) == 0);
    }
    AUTO_FREE char *encoded = base64_encode((struct bytes){data, size});
    RULE(base64_decode(encoded, strlen(encoded), &again) == ERR_OK);
    RULE(bytes_equal(buf_bytes(&again), (struct bytes){data, size}));

    AUTO_FREE char *hex = NEW_ARRAY(2 * size + 1, char);
    AUTO_FREE uint8_t *back = NEW_ARRAY(size + 1, uint8_t);
    hex_encode(data, size, hex);
    RULE(hex_decode(hex, strlen(hex), back, size) == ERR_OK && memcmp(back, data, size) == 0);
    (void)!hex_decode((const char *)data, size, back, size / 2);
    return 0;
}
