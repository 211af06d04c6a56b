/* The text forms of SEP-23, also of secret seeds: copies are wiped, and nothing is allocated. */
#include "stellar/strkey.h"

#include <sodium.h>
#include <stdbool.h>
#include <string.h>

#define VALUE_SIZE 32
#define RAW_SIZE (1 + VALUE_SIZE + 2) /* with version and checksum: exactly 56 digits */

/* CRC16-XMODEM; strkey stores it with the low byte first. */
static uint16_t crc16(const uint8_t *data, size_t len)
{
    uint16_t crc = 0;
    for (size_t i = 0; i < len; i++) {
        crc = (uint16_t)(crc ^ data[i] << 8);
        for (int bit = 0; bit < 8; bit++)
            crc = (uint16_t)(crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1);
    }
    return crc;
}

static int base32_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= '2' && c <= '7')
        return c - '2' + 26;
    return -1;
}

void strkey_encode(
    enum strkey_version version, const uint8_t value[static VALUE_SIZE], char out[static STRKEY_SIZE])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    uint8_t raw[RAW_SIZE] = {(uint8_t)version};
    memcpy(raw + 1, value, VALUE_SIZE);
    const uint16_t crc = crc16(raw, 1 + VALUE_SIZE);
    raw[1 + VALUE_SIZE] = (uint8_t)crc;
    raw[2 + VALUE_SIZE] = (uint8_t)(crc >> 8);

    uint32_t window = 0;
    unsigned bits = 0;
    for (size_t i = 0; i < RAW_SIZE; i++) {
        window = window << 8 | raw[i];
        for (bits += 8; bits >= 5; bits -= 5)
            *out++ = digits[window >> (bits - 5) & 31];
    }
    *out = '\0';
    sodium_memzero(raw, sizeof raw);
    sodium_memzero(&window, sizeof window);
}

static bool base32_decode(const char *text, uint8_t out[static RAW_SIZE])
{
    uint32_t window = 0;
    unsigned bits = 0;
    bool good = strlen(text) == STRKEY_SIZE - 1;
    for (; good && *text != '\0'; text++) {
        const int digit = base32_digit(*text);
        good = digit >= 0;
        window = window << 5 | (uint32_t)digit;
        bits += 5;
        if (bits < 8)
            continue;
        bits -= 8;
        *out++ = (uint8_t)(window >> bits);
    }
    sodium_memzero(&window, sizeof window);
    return good;
}

enum err strkey_decode(enum strkey_version version, const char *text, uint8_t out[static VALUE_SIZE])
{
    uint8_t raw[RAW_SIZE] = {0};
    const bool decodes = base32_decode(text, raw);
    const uint16_t crc = crc16(raw, 1 + VALUE_SIZE);
    const bool good = decodes && raw[0] == version && raw[1 + VALUE_SIZE] == (uint8_t)crc &&
                      raw[2 + VALUE_SIZE] == crc >> 8;
    if (good)
        memcpy(out, raw + 1, VALUE_SIZE);
    sodium_memzero(raw, sizeof raw);
    return good ? ERR_OK : ERR_MALFORMED;
}
