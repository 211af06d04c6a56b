/*
 * Tokens of clients. Bit 0 of the first byte of the input chooses: the rest is a whole token, or the claims
 * of one that a client's key has signed. A token is accepted only when its claims are those of the request.
 */
#include <jansson.h>
#include <sodium.h>
#include <string.h>

#include "auth/auth.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "fuzz/fuzz.h"

#define NOW_S 1000000
static const char audience[] = "fuzz", body[] = "{\"a\":1}", target[] = "/v1/transactions?a=b%20c";

static struct auth *auth;
static uint8_t secret_key[crypto_sign_SECRETKEYBYTES];
static char address[ADDRESS_SIZE], body_hash[HASH_HEX_SIZE];

static void prepare(void)
{
    static const uint8_t seed[crypto_sign_SEEDBYTES] = {4, 2};
    struct public_key key;
    struct detail detail;
    RULE(sodium_init() >= 0 && crypto_sign_seed_keypair(key.bytes, secret_key, seed) == 0);
    address_encode(&key, address);
    const struct hash hash = sha256((struct bytes){(const uint8_t *)body, strlen(body)});
    hash_encode(&hash, body_hash);
    const struct auth_settings settings = {.public_keys = address};
    RULE(auth_open(&settings, &auth, &detail) == ERR_OK);
    (void)!log_set_level("error");
}

static void add_base64url(struct buf *out, const void *data, size_t len)
{
    const int variant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
    AUTO_FREE char *text = NEW_ARRAY(sodium_base64_encoded_len(len, variant), char);
    sodium_bin2base64(text, sodium_base64_encoded_len(len, variant), data, len, variant);
    buf_add(out, text, strlen(text));
}

/* In the claims, "$G" stands for the client's address and "$H" for the hash of the body, so that small inputs
 * are complete. */
static void add_claims(struct buf *out, const uint8_t *data, size_t size)
{
    CLEANUP(buf_free) struct buf claims = {0};
    for (size_t i = 0; i < size; i++) {
        const char *value = i + 1 < size && data[i] == '$' ? (data[i + 1] == 'G'      ? address
                                                                 : data[i + 1] == 'H' ? body_hash
                                                                                      : NULL)
                                                           : NULL;
        if (value != NULL)
            buf_add(&claims, value, strlen(value)), i++;
        else
            buf_add(&claims, data + i, 1);
    }
    add_base64url(out, claims.data, claims.len);
}

static void sign(struct buf *token, const uint8_t *claims, size_t size)
{
    static const char header[] = "{\"alg\":\"EdDSA\",\"typ\":\"JWT\"}";
    uint8_t signature[crypto_sign_BYTES];
    add_base64url(token, header, strlen(header));
    buf_add(token, ".", 1);
    add_claims(token, claims, size);
    RULE(crypto_sign_detached(signature, NULL, token->data, token->len, secret_key) == 0);
    buf_add(token, ".", 1);
    add_base64url(token, signature, sizeof signature);
}

/* Reads the accepted claims again, by other code. */
static void check_accepted(const char *token)
{
    const char *begin = strchr(token, '.') + 1;
    const size_t len = strcspn(begin, ".");
    AUTO_FREE char *text = NEW_ARRAY(len + 1, char);
    size_t got;
    RULE(sodium_base642bin((uint8_t *)text, len, begin, len, NULL, &got, NULL,
             sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0);
    json_t *claims = json_loadb(text, got, JSON_REJECT_DUPLICATES, NULL);
    const json_int_t iat = json_integer_value(json_object_get(claims, "iat")),
                     exp = json_integer_value(json_object_get(claims, "exp"));
    RULE(exp > iat && exp - iat <= AUTH_WINDOW_MAX_S && iat <= NOW_S + AUTH_SKEW_S &&
         exp >= NOW_S - AUTH_SKEW_S);
    AUTO_FREE char *wanted = mem_format("POST %s", target);
    RULE(text_equal(json_string_value(json_object_get(claims, "methodAndPath")), wanted));
    RULE(text_equal(json_string_value(json_object_get(claims, "bodyHash")), body_hash));
    RULE(text_equal(json_string_value(json_object_get(claims, "sub")), address));
    json_decref(claims);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (auth == NULL)
        prepare();
    const bool is_signed = (data[0] & 1) != 0;
    CLEANUP(buf_free) struct buf header = {0};
    buf_add(&header, "Bearer ", strlen("Bearer "));
    if (is_signed) {
        CLEANUP(buf_free) struct buf token = {0};
        sign(&token, data + 1, size - 1);
        buf_add_bytes(&header, buf_bytes(&token));
    } else {
        buf_add(&header, data + 1, size - 1);
    }
    buf_add(&header, "", 1);
    struct auth_client client;
    struct detail why = {0};
    const struct auth_request request = {.method = "POST",
        .target = target,
        .authorization = (const char *)header.data,
        .audience = audience,
        .scope = AUTH_LEASE,
        .now_s = NOW_S};
    enum err e = auth_check(auth, &request, &client, &why);
    if (e == ERR_OK)
        e = auth_check_body(auth, &client, (struct bytes){(const uint8_t *)body, strlen(body)}, &why);
    RULE(e == ERR_OK || (e == ERR_UNAUTHORIZED && why.text[0] != '\0'));
    RULE(e != ERR_OK || is_signed);
    if (e == ERR_OK)
        check_accepted((const char *)header.data + strlen("Bearer "));
    return 0;
}
