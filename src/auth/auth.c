/* Judges the token of one request, and reads CLIENTS_FILE again when it has changed. The reason of a refusal
 * never reaches the client. */
#include "auth/auth.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "clients.h"
#include "token.h"

enum {
    FILE_MAX = 1 << 20
};

struct auth {
    struct auth_settings settings;
    char *public_keys, *clients_file; /* copies, for settings */
    pthread_rwlock_t lock;            /* guards clients */
    struct clients clients;
    struct stat read; /* the file when it was last opened; used by one thread */
    bool unread;      /* it could not be read then */
};

/* ---- the clients */

static enum err unreadable(const char *path, const char *why, struct detail *detail)
{
    return detail_set(detail, ERR_CONFIG, "CLIENTS_FILE: cannot read %s: %s", path, why);
}

/* Reads an open file, and its state before that: a change while it is read is seen by the next auth_changed.
 */
static enum err read_open_file(
    int fd, const char *path, struct buf *out, struct stat *state, struct detail *detail)
{
    ssize_t got = 0;
    if (fstat(fd, state) != 0)
        return unreadable(path, strerror(errno), detail);
    if (!S_ISREG(state->st_mode))
        return unreadable(path, "it is not a regular file", detail);
    if ((state->st_mode & S_IWOTH) != 0)
        return detail_set(detail, ERR_CONFIG,
            "CLIENTS_FILE: every user of this host may change %s; set its mode to 0644", path);
    buf_reserve(out, FILE_MAX + 1);
    while (out->len <= FILE_MAX && (got = read(fd, out->data + out->len, FILE_MAX + 1 - out->len)) > 0)
        out->len += (size_t)got;
    if (got < 0)
        return unreadable(path, strerror(errno), detail);
    if (out->len > FILE_MAX)
        return detail_set(detail, ERR_CONFIG, "CLIENTS_FILE: %s is larger than %d bytes", path, FILE_MAX);
    return ERR_OK;
}

/* O_NONBLOCK: a FIFO must not stop the thread. */
static enum err read_file(struct auth *auth, struct buf *out, struct detail *detail)
{
    const char *path = auth->clients_file;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    auth->unread = fd < 0;
    if (fd < 0)
        return unreadable(path, strerror(errno), detail);
    enum err e = read_open_file(fd, path, out, &auth->read, detail);
    close(fd);
    return e;
}

static const char *sources(const struct auth *auth)
{
    return auth->clients_file == NULL  ? "CLIENT_AUTH_PUBLIC_KEYS"
           : auth->public_keys == NULL ? "CLIENTS_FILE"
                                       : "CLIENT_AUTH_PUBLIC_KEYS and CLIENTS_FILE";
}

static enum err read_clients(struct auth *auth, struct clients *out, struct detail *detail)
{
    struct buf text CLEANUP(buf_free) = {0};
    struct detail why = {0};
    enum err e = ERR_OK;
    if (auth->clients_file != NULL)
        e = read_file(auth, &text, detail);
    if (e != ERR_OK)
        return e;
    const struct bytes file = buf_bytes(&text);
    if (clients_read(auth->public_keys, auth->clients_file != NULL ? &file : NULL, out, &why) != ERR_OK)
        return detail_set(detail, ERR_CONFIG, "%s: %s", sources(auth), why.text);
    return ERR_OK;
}

enum err auth_open(const struct auth_settings *settings, struct auth **out, struct detail *detail)
{
    if (sodium_init() < 0)
        return detail_set(detail, ERR_INTERNAL, "sodium_init failed");
    struct auth *auth = NEW(struct auth);
    auth->settings = *settings;
    if (settings->public_keys != NULL)
        auth->public_keys = mem_copy_text(settings->public_keys);
    if (settings->clients_file != NULL)
        auth->clients_file = mem_copy_text(settings->clients_file);
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
    free(auth->clients_file);
    free(auth);
}

enum err auth_reload(struct auth *auth, struct detail *detail)
{
    struct clients fresh, before;
    enum err e = read_clients(auth, &fresh, detail);
    if (e != ERR_OK)
        return e;
    pthread_rwlock_wrlock(&auth->lock);
    before = auth->clients;
    auth->clients = fresh;
    pthread_rwlock_unlock(&auth->lock);
    clients_wipe(&before);
    return ERR_OK;
}

/* The change time cannot be set, unlike the modification time. */
bool auth_changed(struct auth *auth)
{
    struct stat now;
    const struct stat *read = &auth->read;
    if (auth->clients_file == NULL)
        return false;
    if (auth->unread || stat(auth->clients_file, &now) != 0)
        return true;
    return now.st_ino != read->st_ino || now.st_dev != read->st_dev || now.st_size != read->st_size ||
           now.st_ctim.tv_sec != read->st_ctim.tv_sec || now.st_ctim.tv_nsec != read->st_ctim.tv_nsec;
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
        return refuse(why, "there is no Authorization header");
    if (strncasecmp(authorization, scheme, strlen(scheme)) != 0)
        return refuse(why, "Authorization is not a bearer token");
    *out = authorization + strlen(scheme);
    if (strlen(*out) > AUTH_TOKEN_MAX)
        return refuse(why, "the token is too long");
    return ERR_OK;
}

/* Both times are at least 0, so no difference overflows. */
static enum err check_window(
    const struct auth *auth, const struct token *token, int64_t now_s, struct detail *why)
{
    const int64_t issued_s = token->issued_at_s, expires_s = token->expires_at_s;
    if (expires_s <= issued_s || expires_s - issued_s > (int64_t)auth->settings.window_s)
        return detail_set(why, ERR_UNAUTHORIZED, "exp must be 1 to %u s after iat", auth->settings.window_s);
    const int64_t from_s = token->not_before_s > issued_s ? token->not_before_s : issued_s;
    if (from_s > now_s + AUTH_SKEW_S)
        return detail_set(
            why, ERR_UNAUTHORIZED, "the token is not valid yet: it will be in %" PRId64 " s", from_s - now_s);
    if (expires_s < now_s - AUTH_SKEW_S)
        return detail_set(why, ERR_UNAUTHORIZED, "the token expired %" PRId64 " s ago", now_s - expires_s);
    return ERR_OK;
}

static enum err check_audience(
    const struct auth *auth, const struct token *token, const char *audience, struct detail *why)
{
    if (token->audience == NULL && auth->settings.audience_required)
        return refuse(why, "aud is missing");
    if (token->audience != NULL && !token_is_for(token, audience))
        return refuse(why, "aud does not name this network");
    return ERR_OK;
}

/* The claims about this request: method, target and idempotency key. The body is checked when it has come.
 * The claim idempotencyKey and the header are the same, or both absent: whoever captures a request cannot
 * send it with another key, which would take another lease. */
static enum err check_request(
    const struct token *token, const struct auth_request *request, struct detail *why)
{
    AUTO_FREE char *method_and_path = mem_format("%s %s", request->method, request->target);
    if (!text_equal(token->method_and_path, method_and_path))
        return refuse(why, "methodAndPath does not match the request");
    if (!text_equal(token->idempotency_key, request->idempotency_key))
        return refuse(why, "the claim idempotencyKey is not the header Idempotency-Key");
    return ERR_OK;
}

/* Only lower-case digits, so that a body has one hash. */
static enum err read_body_hash(const struct token *token, struct hash *out, struct detail *why)
{
    char text[HASH_HEX_SIZE];
    if (hash_decode(token->body_hash, out) == ERR_OK) {
        hash_encode(out, text);
        if (text_equal(text, token->body_hash))
            return ERR_OK;
    }
    return refuse(why, "bodyHash is not 64 lower-case hexadecimal digits");
}

/* Copies the client, so that no signature is verified under the lock: a flood of tokens would keep
 * auth_reload waiting. */
static bool find_client(
    struct auth *auth, const struct public_key *key, struct clients_client *out, bool *others)
{
    pthread_rwlock_rdlock(&auth->lock);
    const struct clients_client *found = clients_find(&auth->clients, key);
    if (found != NULL)
        *out = *found;
    *others = auth->clients.count > 1;
    pthread_rwlock_unlock(&auth->lock);
    return found != NULL;
}

static enum err check_token(struct auth *auth, const struct token *token, const struct auth_request *request,
    struct auth_client *out, struct detail *why)
{
    struct public_key key;
    struct clients_client found;
    const struct clients_client *client = &found;
    enum err e;
    if (address_decode(token->subject, &key) != ERR_OK || !find_client(auth, &key, &found, &out->others))
        return refuse(why, "sub is not a client's key");
    if ((e = check_window(auth, token, request->now_s, why)) != ERR_OK)
        return e;
    if (!signature_valid_of(&token->signature, token->signed_part, &key))
        return refuse(why, "the signature is invalid");
    if ((e = check_audience(auth, token, request->audience, why)) != ERR_OK ||
        (e = check_request(token, request, why)) != ERR_OK ||
        (e = read_body_hash(token, &out->body_hash, why)) != ERR_OK)
        return e;
    out->key = key;
    memcpy(out->name, client->name, sizeof out->name);
    out->limits = client->limits;
    if ((client->scopes & request->scope) == 0)
        return detail_set(why, ERR_FORBIDDEN, "The client %s may not use this path.", client->name);
    return ERR_OK;
}

enum err auth_check(
    struct auth *auth, const struct auth_request *request, struct auth_client *out, struct detail *why)
{
    const char *text = NULL;
    struct token token CLEANUP(token_wipe) = {0};
    enum err e;
    *out = (struct auth_client){0};
    if ((e = find_token(request->authorization, &text, why)) != ERR_OK ||
        (e = token_decode(text, &token, why)) != ERR_OK)
        return e;
    if ((e = check_token(auth, &token, request, out, why)) == ERR_OK)
        out->token = sha256((struct bytes){(const uint8_t *)text, strlen(text)});
    return e;
}

enum err auth_check_body(
    struct auth *auth, const struct auth_client *client, struct bytes body, struct detail *why)
{
    struct clients_client found;
    bool others;
    if (!find_client(auth, &client->key, &found, &others))
        return refuse(why, "the client's key was revoked while the body was read");
    const struct hash hash = sha256(body);
    return hash_equal(&client->body_hash, &hash) ? ERR_OK : refuse(why, "bodyHash does not match the body");
}
