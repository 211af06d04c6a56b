/* Signs tokens, for `fairway token` and for tests. The service itself never holds a client's secret key. */
#include "auth/token_sign.h"

#include <jansson.h>
#include <sodium.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "stellar/strkey.h"

struct key_pair {
    uint8_t seed[crypto_sign_SEEDBYTES], secret[crypto_sign_SECRETKEYBYTES];
    struct public_key public;
};

static void wipe_pair(struct key_pair *pair)
{
    sodium_memzero(pair, sizeof *pair);
}

static enum err read_pair(const char *seed, struct key_pair *out)
{
    enum err e = strkey_decode(STRKEY_SEED, seed, out->seed);
    if (e == ERR_OK)
        crypto_sign_seed_keypair(out->public.bytes, out->secret, out->seed);
    return e;
}

/* {"sub":...,"iat":...,"exp":...,"methodAndPath":...,"bodyHash":...}; NULL: a text is not UTF-8. */
static char *claims_text(const struct token_request *request, const struct public_key *key)
{
    char subject[ADDRESS_SIZE], body_hash[HASH_HEX_SIZE];
    AUTO_FREE char *method_and_path = mem_format("%s %s", request->method, request->target);
    const struct hash hash = sha256(request->body);
    address_encode(key, subject);
    hash_encode(&hash, body_hash);
    json_t *claims = json_pack("{s:s, s:I, s:I, s:s, s:s}", "sub", subject, "iat", (json_int_t)request->now_s,
        "exp", (json_int_t)request->now_s + request->valid_s, "methodAndPath", method_and_path, "bodyHash",
        body_hash);
    char *text = NULL;
    /* jansson makes no string of a text that is not UTF-8 */
    if (claims != NULL &&
        (request->audience == NULL ||
            json_object_set_new(claims, "aud", json_string(request->audience)) == 0) &&
        (request->idempotency_key == NULL ||
            json_object_set_new(claims, "idempotencyKey", json_string(request->idempotency_key)) == 0))
        text = json_dumps(claims, JSON_COMPACT);
    json_decref(claims);
    return text;
}

enum err token_sign(const char *seed, const struct token_request *request, char **out)
{
    static const char header[] = "{\"alg\":\"EdDSA\",\"typ\":\"JWT\"}";
    struct key_pair pair CLEANUP(wipe_pair);
    struct signature signature;
    if (read_pair(seed, &pair) != ERR_OK)
        return ERR_MALFORMED;
    AUTO_FREE char *claims = claims_text(request, &pair.public);
    if (claims == NULL)
        return ERR_INVALID_REQUEST;
    AUTO_FREE char *first = base64_url_encode((struct bytes){(const uint8_t *)header, strlen(header)});
    AUTO_FREE char *second = base64_url_encode((struct bytes){(const uint8_t *)claims, strlen(claims)});
    AUTO_FREE char *signed_part = mem_format("%s.%s", first, second);
    crypto_sign_detached(
        signature.bytes, NULL, (const uint8_t *)signed_part, strlen(signed_part), pair.secret);
    AUTO_FREE char *third = base64_url_encode(BYTES_OF(signature.bytes));
    *out = mem_format("%s.%s", signed_part, third);
    return ERR_OK;
}

void token_key_new(char seed[static ADDRESS_SIZE], char address[static ADDRESS_SIZE])
{
    struct key_pair pair CLEANUP(wipe_pair);
    randombytes_buf(pair.seed, sizeof pair.seed);
    crypto_sign_seed_keypair(pair.public.bytes, pair.secret, pair.seed);
    strkey_encode(STRKEY_SEED, pair.seed, seed);
    address_encode(&pair.public, address);
}
