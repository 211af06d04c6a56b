/*
 * The validators whose signatures an operator trusts. Each line of the text has an organisation and the
 * public key of one of its nodes, for example
 *     SDF GCM6QMP3DLRPTAZW2UZPCPX2LF3SXWXKPMP3GKFZBDSF3QZGV2G5QSTK
 * Empty lines and those that begin with # are comments.
 */
#pragma once

#include "stellar/ids.h"

#define VALIDATORS_MAX 1000

/* {0} is empty. */
struct validators {
    struct public_key *keys;
    size_t count;
};

/* ERR_CONFIG: a line is not of this form, a key occurs twice, or there is none; detail names the line. *out
 * is empty then. */
MUST_CHECK enum err validators_parse(struct bytes text, struct validators *out, struct detail *detail);
void validators_free(struct validators *validators);

bool validators_have(const struct validators *validators, const struct public_key *key);
