/* Reads a list of validators. Verifies no signature. */
#include "stellar/validators.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* A point of small order would verify signatures that nobody made. */
static bool decode_key(const char *text, struct public_key *out)
{
    return address_decode(text, out) == ERR_OK && crypto_core_ed25519_is_valid_point(out->bytes) == 1;
}

/* The organisation may have spaces: the key is the last word. */
static enum err add_line(struct validators *validators, char *line, unsigned number, struct detail *detail)
{
    struct public_key added;
    line += strspn(line, " \t\r");
    if (*line == '\0' || *line == '#')
        return ERR_OK;
    for (size_t len = strlen(line); len > 0 && strchr(" \t\r", line[len - 1]) != NULL; len--)
        line[len - 1] = '\0';
    char *key = strrchr(line, ' ') != NULL ? strrchr(line, ' ') : strrchr(line, '\t');
    if (key == NULL || !decode_key(key + 1, &added))
        return detail_set(detail, ERR_CONFIG,
            "line %u is not an organisation and the public key (G...) of a validator", number);
    if (validators_have(validators, &added))
        return detail_set(detail, ERR_CONFIG, "line %u repeats key %s", number, key + 1);
    if (validators->count == VALIDATORS_MAX)
        return detail_set(detail, ERR_CONFIG, "there are more than %d validators", VALIDATORS_MAX);
    validators->keys = mem_grow(validators->keys, validators->count + 1, sizeof validators->keys[0]);
    validators->keys[validators->count++] = added;
    return ERR_OK;
}

enum err validators_parse(struct bytes text, struct validators *out, struct detail *detail)
{
    AUTO_FREE char *copy = mem_format("%.*s", (int)text.len, (const char *)text.data);
    enum err e = ERR_OK;
    unsigned number = 0;
    *out = (struct validators){0};
    for (char *line = copy, *next; e == ERR_OK && line != NULL; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        e = add_line(out, line, ++number, detail);
    }
    if (e == ERR_OK && out->count == 0)
        e = detail_set(detail, ERR_CONFIG, "there is no validator");
    if (e != ERR_OK)
        validators_free(out);
    return e;
}

void validators_free(struct validators *validators)
{
    free(validators->keys);
    *validators = (struct validators){0};
}

bool validators_have(const struct validators *validators, const struct public_key *key)
{
    for (size_t i = 0; i < validators->count; i++)
        if (public_key_equal(&validators->keys[i], key))
            return true;
    return false;
}
