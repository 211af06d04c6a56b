/* Judges the token of one request, and reads CLIENTS_FILE again when it has changed. No answer and no time
 * tells whether a key is a client's, except to who has signed with that key. */
#include "auth/auth.h"

#include <inttypes.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/metric.h"
#include "base/text.h"
#include "base/watched_file.h"
#include "clients.h"
#include "token.h"

struct auth {
    char *public_keys; /* NULL: none */
    bool audience_required;
    struct watched_file file; /* used by one thread */
    pthread_rwlock_t lock;    /* guards clients */
    struct clients clients;
    atomic_bool stale;
};

/* ---- the clients */

static const char *sources(const struct auth *auth)
{
    return auth->file.path == NULL     ? "CLIENT_AUTH_PUBLIC_KEYS"
           : auth->public_keys == NULL ? "CLIENTS_FILE"
                                       : "CLIENT_AUTH_PUBLIC_KEYS and CLIENTS_FILE";
}

static enum err read_clients(struct auth *auth, struct clients *out, struct detail *detail)
{
    struct buf text CLEANUP(buf_free) = {0};
    struct detail why = {0};
    enum err e = ERR_OK;
    if (auth->file.path != NULL)
        e = watched_file_read(&auth->file, &text, detail);
    if (e != ERR_OK)
        return e;
    const struct bytes file = buf_bytes(&text);
    if (clients_read(auth->public_keys, auth->file.path != NULL ? &file : NULL, out, &why) != ERR_OK)
        return detail_set(detail, ERR_CONFIG, "%s: %s", sources(auth), why.text);
    for (size_t i = 0; i < out->count; i++)
        metric_label_add(METRIC_CLIENT, out->list[i].name);
    return ERR_OK;
}

enum err auth_open(const struct auth_settings *settings, struct auth **out, struct detail *detail)
{
    if (sodium_init() < 0)
        return detail_set(detail, ERR_INTERNAL, "sodium_init failed");
    struct auth *auth = NEW(struct auth);
    auth->audience_required = settings->audience_required;
    auth->file.option = "CLIENTS_FILE";
    if (settings->public_keys != NULL)
        auth->public_keys = mem_copy_text(settings->public_keys);
    if (settings->clients_file != NULL)
        auth->file.path = mem_copy_text(settings->clients_file);
    pthread_rwlock_init(&auth->lock, NULL);
    enum err e = read_clients(auth, &auth->clients, detail);
    if (e == ERR_OK && auth->clients.count == 0)
        e = detail_set(detail, ERR_CONFIG, "%s: there is no client", sources(auth));
    if (e == ERR_OK)
        *out = auth;
    else
        auth_free(auth);
    return e;
}

void auth_free(struct auth *auth)
{
    if (auth == NULL)
        return;
    clients_wipe(&auth->clients);
    pthread_rwlock_destroy(&auth->lock);
    free(auth->public_keys);
    free(auth->file.path);
    free(auth);
}

enum err auth_reload(struct auth *auth, struct detail *detail)
{
    struct clients fresh, before;
    enum err e = read_clients(auth, &fresh, detail);
    atomic_store(&auth->stale, e != ERR_OK);
    if (e != ERR_OK)
        return e;
    pthread_rwlock_wrlock(&auth->lock);
    before = auth->clients;
    auth->clients = fresh;
    pthread_rwlock_unlock(&auth->lock);
    clients_wipe(&before);
    return ERR_OK;
}

bool auth_changed(struct auth *auth)
{
    return watched_file_changed(&auth->file);
}

bool auth_stale(const struct auth *auth)
{
    return atomic_load(&auth->stale);
}

size_t auth_key_count(struct auth *auth)
{
    pthread_rwlock_rdlock(&auth->lock);
    const size_t count = auth->clients.key_count;
    pthread_rwlock_unlock(&auth->lock);
    return count;
}

/* ---- one request */

static enum err refuse(struct detail *why, const char *reason)
{
    return detail_set(why, ERR_UNAUTHORIZED, "%s", reason);
}

/* Authorization: Bearer TOKEN (RFC 6750 section 2.1). */
static enum err find_token(const char *authorization, const char **out, struct detail *why)
{
    static const char scheme[] = "Bearer ";
    if (authorization == NULL)
        return refuse(why, "There is no Authorization header.");
    if (strncasecmp(authorization, scheme, strlen(scheme)) != 0)
        return refuse(why, "The Authorization header is not a bearer token.");
    *out = authorization + strlen(scheme);
    if (strlen(*out) > AUTH_TOKEN_MAX)
        return detail_set(why, ERR_UNAUTHORIZED, "The token is longer than %d characters.", AUTH_TOKEN_MAX);
    return ERR_OK;
}

enum {
    QUOTE_MAX = 60,
    QUOTE_BEFORE = 20 /* of the bytes before a difference, these are quoted */
};

struct quote {
    char text[QUOTE_MAX + sizeof "...\"\"..."];
};

/* Quotes what a stranger may have written: its end from a byte on, printable ASCII only, and bounded. */
static struct quote quote(const char *text, size_t from)
{
    struct quote out = {"absent"};
    if (text == NULL)
        return out;
    snprintf(out.text, sizeof out.text, "%s\"%.*s\"%s", from > 0 ? "..." : "", QUOTE_MAX, text + from,
        strlen(text + from) > QUOTE_MAX ? "..." : "");
    for (char *at = out.text; *at != '\0'; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
    return out;
}

/* Says how a claim differs from what was received, from shortly before the first difference on. */
static enum err compare(
    const char *claim, const char *claimed, const char *item, const char *received, struct detail *why)
{
    size_t same = 0;
    if (text_equal(claimed, received))
        return ERR_OK;
    while (claimed != NULL && received != NULL && claimed[same] != '\0' && claimed[same] == received[same])
        same++;
    const size_t from = same > QUOTE_BEFORE ? same - QUOTE_BEFORE : 0;
    return detail_set(why, ERR_UNAUTHORIZED, "%s is %s, but %s is %s.", claim, quote(claimed, from).text,
        item, quote(received, from).text);
}

/* ---- the checks of a token, in their order */

struct judged {
    struct auth *auth;
    const struct auth_request *request;
    struct token *token;
    const char *text;           /* of the token */
    struct auth_client *client; /* what the checks find out */
};

static enum err read_token(struct judged *judged, struct detail *why)
{
    const enum err e = find_token(judged->request->authorization, &judged->text, why);
    return e != ERR_OK ? e : token_decode(judged->text, judged->token, why);
}

static enum err check_subject(struct judged *judged, struct detail *why)
{
    return address_decode(judged->token->subject, &judged->client->key) == ERR_OK
               ? ERR_OK
               : refuse(why, "sub is not the public key (G...) of an account.");
}

/* The times are at least 0, so no difference overflows. */
static enum err check_times(struct judged *judged, struct detail *why)
{
    const struct token *token = judged->token;
    const int64_t issued_s = token->issued_at_s, expires_s = token->expires_at_s,
                  now_s = judged->request->now_s;
    if (expires_s <= issued_s || expires_s - issued_s > AUTH_WINDOW_MAX_S)
        return detail_set(why, ERR_UNAUTHORIZED,
            "exp must be 1 to %d s after iat, but exp is %" PRId64 " and iat is %" PRId64 ".",
            AUTH_WINDOW_MAX_S, expires_s, issued_s);
    const bool later = token->not_before_s > issued_s;
    const int64_t from_s = later ? token->not_before_s : issued_s;
    if (from_s > now_s + AUTH_SKEW_S)
        return detail_set(why, ERR_UNAUTHORIZED,
            "The token is not valid yet: %s is %" PRId64 ", and the server's time is %" PRId64 ".",
            later ? "nbf" : "iat", from_s, now_s);
    if (expires_s < now_s - AUTH_SKEW_S)
        return detail_set(why, ERR_UNAUTHORIZED,
            "The token has expired: exp is %" PRId64 ", and the server's time is %" PRId64 ".", expires_s,
            now_s);
    return ERR_OK;
}

static enum err check_audience(struct judged *judged, struct detail *why)
{
    const struct token *token = judged->token;
    if (token->audience == NULL && judged->auth->audience_required)
        return refuse(why, "aud is missing: it must name the network's passphrase.");
    if (token->audience != NULL && !token_is_for(token, judged->request->audience))
        return refuse(why, "aud does not name the network's passphrase.");
    return ERR_OK;
}

static enum err check_method_and_path(struct judged *judged, struct detail *why)
{
    const struct auth_request *request = judged->request;
    AUTO_FREE char *received = mem_format("%s %s", request->method, request->target);
    return compare("methodAndPath", judged->token->method_and_path, "the request", received, why);
}

/* The claim and the header are the same, or both absent: whoever captures a request cannot send it with
 * another key, which would take another lease. */
static enum err check_idempotency_key(struct judged *judged, struct detail *why)
{
    return compare("idempotencyKey", judged->token->idempotency_key, "the header Idempotency-Key",
        judged->request->idempotency_key, why);
}

/* Only lower-case digits, so that a body has one hash. The body is compared when it has come. */
static enum err read_body_hash(struct judged *judged, struct detail *why)
{
    char text[HASH_HEX_SIZE];
    struct hash *hash = &judged->client->body_hash;
    if (hash_decode(judged->token->body_hash, hash) == ERR_OK) {
        hash_encode(hash, text);
        if (text_equal(text, judged->token->body_hash))
            return ERR_OK;
    }
    return refuse(why, "bodyHash is not 64 lower-case hexadecimal digits.");
}

/* Whoever sub is: a signature that only clients' keys were checked for would take longer for these. */
static enum err check_signature(struct judged *judged, struct detail *why)
{
    return signature_valid_of(&judged->token->signature, judged->token->signed_part, &judged->client->key)
               ? ERR_OK
               : refuse(why, "The signature is not by the key that sub names.");
}

static bool find_client(struct auth *auth, struct auth_client *client, unsigned *scopes)
{
    pthread_rwlock_rdlock(&auth->lock);
    const struct clients_client *found = clients_find(&auth->clients, &client->key);
    if (found != NULL) {
        memcpy(client->name, found->name, sizeof client->name);
        client->limits = found->limits;
        *scopes = found->scopes;
    }
    client->others = auth->clients.count > 1;
    pthread_rwlock_unlock(&auth->lock);
    return found != NULL;
}

static enum err check_client(struct judged *judged, struct detail *why)
{
    struct auth_client *client = judged->client;
    unsigned scopes;
    if (!find_client(judged->auth, client, &scopes))
        return refuse(why, "sub is not a client's key.");
    if ((scopes & judged->request->scope) == 0)
        return detail_set(why, ERR_FORBIDDEN, "The client %s may not use this path.", client->name);
    return ERR_OK;
}

static enum err compare_body(const struct auth_client *client, struct bytes body, struct detail *why)
{
    const struct hash hash = sha256(body);
    char text[HASH_HEX_SIZE];
    if (hash_equal(&client->body_hash, &hash))
        return ERR_OK;
    hash_encode(&hash, text);
    return detail_set(why, ERR_UNAUTHORIZED,
        "bodyHash does not match the body: the SHA-256 of the %zu bytes received is %s.", body.len, text);
}

/* First all that follows from the request and the clock. The signature comes before the client, so that only
 * who has a key learns whether it is a client's. */
static const struct {
    enum err (*check)(struct judged *judged, struct detail *why);
    bool hidden;
} checks[] = {
    {read_token, false},
    {check_subject, false},
    {check_times, false},
    {check_audience, false},
    {check_method_and_path, false},
    {check_idempotency_key, false},
    {read_body_hash, false},
    {check_signature, true},
    {check_client, true},
};

enum err auth_check(
    struct auth *auth, const struct auth_request *request, struct auth_client *out, struct detail *why)
{
    struct token token CLEANUP(token_wipe) = {0};
    struct judged judged = {.auth = auth, .request = request, .token = &token, .client = out};
    *out = (struct auth_client){0};
    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        const enum err e = checks[i].check(&judged, why);
        out->reason_hidden = e == ERR_UNAUTHORIZED && checks[i].hidden;
        if (e != ERR_OK)
            return e;
    }
    out->token = sha256((struct bytes){(const uint8_t *)judged.text, strlen(judged.text)});
    return ERR_OK;
}

enum err auth_check_body(struct auth *auth, struct auth_client *client, struct bytes body, struct detail *why)
{
    struct auth_client now = *client;
    unsigned scopes;
    client->reason_hidden = !find_client(auth, &now, &scopes);
    return client->reason_hidden ? refuse(why, "The client's key was revoked while the body was read.")
                                 : compare_body(client, body, why);
}
