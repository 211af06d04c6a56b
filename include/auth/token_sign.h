/* Signs a token for a request, as a client does: for `fairway token` and for tests. */
#pragma once

#include "stellar/ids.h"

struct token_request {
    const char *method, *target;
    struct bytes body;
    const char *audience;        /* NULL: no aud */
    const char *idempotency_key; /* NULL: the request has no Idempotency-Key */
    int64_t now_s;
    unsigned valid_s;
};

/*
 * Returns in *out the token, in memory that the caller frees, signed with the key whose secret seed is the
 * strkey S... ERR_MALFORMED: it is not one. ERR_INVALID_REQUEST: a text of the request is not UTF-8. Wipes
 * the secret key that it computes.
 */
MUST_CHECK enum err token_sign(const char *seed, const struct token_request *request, char **out);
/* Makes a new key from the kernel's random numbers: its strkeys S..., of STRKEY_SIZE bytes, and G... */
void token_key_new(char seed[static ADDRESS_SIZE], char address[static ADDRESS_SIZE]);
