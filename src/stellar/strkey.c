/* The text forms of SEP-23, also of secret seeds: copies are wiped, and nothing is allocated. */
#include "stellar/strkey.h"

#include <sodium.h>
#include <stdbool.h>
#include <string.h>

#include "base/invariant.h"

#define RAW_MAX (1 + STRKEY_VALUE_MAX + 2)

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

void strkey_encode(enum strkey_version version, const uint8_t *value, size_t len, char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    INVARIANT(len <= STRKEY_VALUE_MAX);
    uint8_t raw[RAW_MAX];
    size_t raw_len = 1 + len + 2;
    raw[0] = (uint8_t)version;
    memcpy(raw + 1, value, len);
    uint16_t crc = crc16(raw, 1 + len);
    raw[1 + len] = (uint8_t)crc;
    raw[2 + len] = (uint8_t)(crc >> 8);

    uint32_t window = 0;
    unsigned bits = 0;
    for (size_t i = 0; i < raw_len; i++) {
        window = window << 8 | raw[i];
        for (bits += 8; bits >= 5; bits -= 5)
            *out++ = digits[window >> (bits - 5) & 31];
    }
    if (bits > 0)
        *out++ = digits[window << (5 - bits) & 31];
    *out = '\0';
    sodium_memzero(raw, sizeof raw);
    sodium_memzero(&window, sizeof window);
}

/* Decodes exactly len bytes from exactly the digits that they take. */
static enum err base32_decode(const char *text, uint8_t *out, size_t len)
{
    uint32_t window = 0;
    unsigned bits = 0;
    size_t have = 0;
    for (; *text != '\0'; text++) {
        int digit = base32_digit(*text);
        if (digit < 0)
            return ERR_MALFORMED;
        window = window << 5 | (uint32_t)digit;
        bits += 5;
        if (bits < 8)
            continue;
        if (have == len)
            return ERR_MALFORMED;
        bits -= 8;
        out[have++] = (uint8_t)(window >> bits);
    }
    /* Five or more unused bits mean a superfluous digit; fewer must be zero. */
    bool exact = have == len && bits < 5 && (window & ((1u << bits) - 1)) == 0;
    sodium_memzero(&window, sizeof window);
    return exact ? ERR_OK : ERR_MALFORMED;
}

enum err strkey_decode(enum strkey_version version, const char *text, uint8_t *out, size_t len)
{
    INVARIANT(len <= STRKEY_VALUE_MAX);
    uint8_t raw[RAW_MAX];
    enum err e = base32_decode(text, raw, 1 + len + 2);
    if (e == ERR_OK) {
        uint16_t crc = crc16(raw, 1 + len);
        if (raw[0] != version || raw[1 + len] != (uint8_t)crc || raw[2 + len] != crc >> 8)
            e = ERR_MALFORMED;
        else
            memcpy(out, raw + 1, len);
    }
    sodium_memzero(raw, sizeof raw);
    return e;
}
