/*
 * A JSON web token in compact form (RFC 7515 section 7.1): header.claims.signature, each part in base64url.
 * This file decodes it, strictly and without judging it; auth.c compares it with a request.
 */
#pragma once

#include <jansson.h>

#include "stellar/ids.h"

struct token {
    struct bytes signed_part; /* header.claims, in the caller's text */
    struct signature signature;
    int64_t issued_at_s, expires_at_s, not_before_s; /* not_before_s: 0 without nbf */
    /* Strings of the claims: they live as long as the token. */
    const char *subject, *method_and_path, *body_hash;
    const char *idempotency_key; /* NULL: none */
    const json_t *audience;      /* a string or an array of strings; NULL: none */
    json_t *claims;
};

/*
 * ERR_UNAUTHORIZED, with the reason: not three parts in canonical base64url (no padding, unused bits zero);
 * header or claims are not one JSON object, or have a member twice; the header has another alg than EdDSA and
 * Ed25519, or crit; a claim is missing or of another type. Other members and claims are ignored. The caller
 * wipes the token in either case.
 */
MUST_CHECK enum err token_decode(const char *text, struct token *out, struct detail *why);
void token_wipe(struct token *token);

/* Whether aud names this audience. */
bool token_is_for(const struct token *token, const char *audience);
