/* Decodes a token strictly. Nothing is judged and no signature verified here. */
#include "token.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/json.h"

/* header.claims.signature */
struct parts {
    struct bytes header, claims, signature;
};

static bool split(const char *text, struct parts *out)
{
    const char *first = strchr(text, '.'), *second = first == NULL ? NULL : strchr(first + 1, '.');
    if (second == NULL || strchr(second + 1, '.') != NULL)
        return false;
    out->header = (struct bytes){(const uint8_t *)text, (size_t)(first - text)};
    out->claims = (struct bytes){(const uint8_t *)first + 1, (size_t)(second - first - 1)};
    out->signature = (struct bytes){(const uint8_t *)second + 1, strlen(second + 1)};
    return true;
}

/* The parser's reason is not passed on: it may quote bytes of the token. */
static enum err read_object(struct bytes part, const char *name, json_t **out, struct detail *why)
{
    struct buf text CLEANUP(buf_free) = {0};
    if (base64_url_decode((const char *)part.data, part.len, &text) != ERR_OK)
        return detail_set(why, ERR_UNAUTHORIZED, /* RFC 7515, 2; RFC 4648, 3.5 */
            "The token's %s is not canonical base64url without padding.", name);
    if (json_read_object(buf_bytes(&text), out, NULL) != ERR_OK)
        return detail_set(why, ERR_UNAUTHORIZED, /* RFC 7515, 4; RFC 7519, 4 */
            "The token's %s is not one JSON object, in UTF-8 and with no member twice.", name);
    return ERR_OK;
}

/* Members that are not understood are ignored (RFC 7515, 4), and typ is an application's (RFC 7519, 5.1). */
static enum err check_header(struct bytes part, struct detail *why)
{
    AUTO_JSON json_t *header = NULL;
    enum err e = read_object(part, "header", &header, why);
    if (e != ERR_OK)
        return e;
    const char *algorithm = json_string_value(json_object_get(header, "alg"));
    if (!text_equal(algorithm, "EdDSA") && !text_equal(algorithm, "Ed25519"))
        return detail_set(why, ERR_UNAUTHORIZED, /* RFC 8037, 3.1; RFC 9864, 2.2; ours: keys are Stellar's */
            "alg is neither EdDSA nor Ed25519.");
    if (json_object_get(header, "crit") != NULL)
        return detail_set(why, ERR_UNAUTHORIZED, /* RFC 7515, 4.1.11: no extension is understood */
            "The token's header has crit.");
    return ERR_OK;
}

static enum err read_signature(struct bytes part, struct signature *out, struct detail *why)
{
    struct buf bytes CLEANUP(buf_free) = {0};
    if (base64_url_decode((const char *)part.data, part.len, &bytes) != ERR_OK ||
        bytes.len != sizeof out->bytes)
        return detail_set(why, ERR_UNAUTHORIZED, /* RFC 8032, 5.1.6 */
            "The token's signature is not 64 bytes in canonical base64url without padding.");
    memcpy(out->bytes, bytes.data, bytes.len);
    return ERR_OK;
}

/* A NumericDate may have a fraction (RFC 7519, 2). It is cut off. */
static enum err read_time(const json_t *claims, const char *name, int64_t *out, struct detail *why)
{
    const json_t *value = json_object_get(claims, name);
    const double seconds = json_number_value(value);
    if (!json_is_number(value) || seconds < 0 || seconds >= 0x1p53)
        return detail_set(why, ERR_UNAUTHORIZED, /* RFC 7519, 2; ours: a token is valid for seconds */
            "%s is missing or not a number of seconds.", name);
    *out = (int64_t)seconds;
    return ERR_OK;
}

static enum err read_text(const json_t *claims, const char *name, const char **out, struct detail *why)
{
    if (json_read_text(claims, name, out, NULL) != ERR_OK)
        return detail_set(why, ERR_UNAUTHORIZED, /* RFC 7519, 4.1.2; ours: a token is for one request */
            "%s is missing or not a string.", name);
    return ERR_OK;
}

static enum err read_claims(struct bytes part, struct token *out, struct detail *why)
{
    enum err e;
    if ((e = read_object(part, "payload", &out->claims, why)) != ERR_OK ||
        (e = read_text(out->claims, "sub", &out->subject, why)) != ERR_OK ||
        (e = read_text(out->claims, "methodAndPath", &out->method_and_path, why)) != ERR_OK ||
        (e = read_text(out->claims, "bodyHash", &out->body_hash, why)) != ERR_OK ||
        (e = read_time(out->claims, "iat", &out->issued_at_s, why)) != ERR_OK ||
        (e = read_time(out->claims, "exp", &out->expires_at_s, why)) != ERR_OK)
        return e;
    if (json_object_get(out->claims, "nbf") != NULL &&
        (e = read_time(out->claims, "nbf", &out->not_before_s, why)) != ERR_OK)
        return e;
    if (json_object_get(out->claims, "idempotencyKey") != NULL &&
        (e = read_text(out->claims, "idempotencyKey", &out->idempotency_key, why)) != ERR_OK)
        return e;
    out->audience = json_object_get(out->claims, "aud");
    return ERR_OK;
}

enum err token_decode(const char *text, struct token *out, struct detail *why)
{
    struct parts parts;
    enum err e;
    *out = (struct token){0};
    if (!split(text, &parts))
        return detail_set(why, ERR_UNAUTHORIZED, /* RFC 7515, 7.1 */
            "The token does not have three parts, with dots between them.");
    if ((e = read_signature(parts.signature, &out->signature, why)) != ERR_OK ||
        (e = check_header(parts.header, why)) != ERR_OK ||
        (e = read_claims(parts.claims, out, why)) != ERR_OK)
        return e;
    out->signed_part = (struct bytes){parts.header.data, parts.header.len + 1 + parts.claims.len};
    return ERR_OK;
}

void token_wipe(struct token *token)
{
    json_decref(token->claims);
    *token = (struct token){0};
}

bool token_is_for(const struct token *token, const char *audience)
{
    size_t i;
    json_t *value;
    if (json_is_string(token->audience))
        return text_equal(json_string_value(token->audience), audience);
    bool found = false;
    json_array_foreach(token->audience, i, value)
    {
        if (!json_is_string(value))
            return false;
        found |= text_equal(json_string_value(value), audience);
    }
    return found;
}
