/* Reads the options of authentication, and the clients again when their file has changed. Judges no token:
 * that is auth/auth. */
#include "serve.h"

#include "base/log.h"
#include "base/text.h"

static bool is_off(const struct config *config)
{
    return text_equal(config_text(config, "AUTH"), "none");
}

enum err authentication_open(const struct config *config, struct auth **out, struct detail *detail)
{
    const struct auth_settings settings = {.public_keys = config_text(config, "CLIENT_AUTH_PUBLIC_KEYS"),
        .clients_file = config_text(config, "CLIENTS_FILE"),
        .audience_required = config_is_on(config, "CLIENT_AUTH_AUDIENCE")};
    const bool has_clients = settings.public_keys != NULL || settings.clients_file != NULL;
    *out = NULL;
    if (!is_off(config) && !text_equal(config_text(config, "AUTH"), "jwt"))
        return detail_set(
            detail, ERR_CONFIG, "AUTH must be jwt or none, not \"%.40s\"", config_text(config, "AUTH"));
    if (is_off(config) && has_clients)
        return detail_set(detail, ERR_CONFIG,
            "AUTH=none and client keys (CLIENT_AUTH_PUBLIC_KEYS, CLIENTS_FILE) exclude each other: unset "
            "one");
    if (is_off(config))
        return ERR_OK;
    if (!has_clients)
        return detail_set(detail, ERR_CONFIG,
            "no client may send requests: set CLIENT_AUTH_PUBLIC_KEYS or CLIENTS_FILE (fairway keygen "
            "--client makes a key), or AUTH=none to serve everyone who reaches the port");
    const enum err e = auth_open(&settings, out, detail);
    if (e == ERR_OK)
        log_info("clients read", "keys=%zu", auth_key_count(*out));
    return e;
}

static void log_read(size_t keys, const char *why)
{
    if (keys > 0)
        log_info("clients read again", "keys=%zu reason=%s", keys, why);
    else
        log_warn("clients read again: there is none, so every request is refused", "keys=0 reason=%s", why);
}

void authentication_reload(struct auth *auth, const char *why)
{
    static struct detail logged; /* empty: the last reading was good */
    struct detail detail = {0};
    if (auth == NULL)
        return;
    if (auth_reload(auth, &detail) == ERR_OK) {
        logged = detail;
        log_read(auth_key_count(auth), why);
        return;
    }
    /* A file that cannot be opened is tried again each second. */
    if (text_equal(detail.text, logged.text) && !text_equal(why, "SIGHUP"))
        return;
    logged = detail;
    log_error(
        "cannot reload the clients; the previous ones stay", "reason=%s detail=\"%s\"", why, detail.text);
}

const char *authentication_listen(const struct config *config)
{
    const char *listen = config_text(config, "LISTEN");
    return listen != NULL ? listen : is_off(config) ? "127.0.0.1" : "0.0.0.0";
}
