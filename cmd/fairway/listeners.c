/* Opens, drains and closes the listeners of serve, and counts the files that they may need. Handles no
 * request. */
#include "serve.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/metric.h"
#include "base/text.h"
#include "rpc/rpc.h"

enum {
    ADMIN_CONNECTIONS = 64,
    ADMIN_DRAIN_MS = 500,
    ADMIN_PORT_DISTANCE = 1000, /* far enough that replicas on consecutive ports do not collide */
    PORT_MAX = 65535,
    /* File descriptors besides those of open connections: for database sessions, the key process, Stellar
     * RPC, HTTP threads, listening sockets and closing connections; for each thread that grants; and for each
     * further address of RPC_URL: 128 connections (rpc/loop.c), for which libcurl needs up to three. */
    DESCRIPTORS_BASE = 524,
    DESCRIPTORS_THREAD = 4,
    DESCRIPTORS_ADDRESS = 384
};

static unsigned number(const struct config *config, const char *name)
{
    return (unsigned)config_number(config, name);
}

static unsigned further_addresses(const struct config *config)
{
    const char *url = config_text(config, "RPC_URL");
    const size_t count = url == NULL ? 0 : rpc_address_count(url);
    return count > 1 ? (unsigned)count - 1 : 0;
}

enum err listeners_raise_limit(const struct config *config, struct detail *detail)
{
    struct rlimit limit;
    const unsigned connections = number(config, "MAX_CONNECTIONS");
    const unsigned needed = connections + ADMIN_CONNECTIONS + DESCRIPTORS_BASE +
                            DESCRIPTORS_THREAD * number(config, "ENGINE_THREADS") +
                            DESCRIPTORS_ADDRESS * further_addresses(config);
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return ERR_OK;
    if (limit.rlim_max < needed)
        return detail_set(detail, ERR_CONFIG,
            "MAX_CONNECTIONS=%u needs %u open files, but this process may open %u (ulimit -Hn): raise the "
            "limit, or lower MAX_CONNECTIONS",
            connections, needed, (unsigned)limit.rlim_max);
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        log_warn("cannot raise the limit on open files", "reason=\"%s\"", strerror(errno));
    return ERR_OK;
}

bool listeners_want_admin(const struct config *config)
{
    return !text_equal(config_text(config, "ADMIN_LISTEN"), "off");
}

bool listeners_admin_is_local(const struct config *config)
{
    const char *address = config_text(config, "ADMIN_LISTEN");
    return text_starts(address, "127.") || text_equal(address, "localhost") || text_equal(address, "[::1]");
}

unsigned listeners_admin_port(const struct config *config)
{
    const unsigned port = number(config, "PORT");
    if (config_text(config, "ADMIN_PORT") != NULL)
        return number(config, "ADMIN_PORT");
    if (port == 0)
        return 0;
    return port + ADMIN_PORT_DISTANCE <= PORT_MAX ? port + ADMIN_PORT_DISTANCE : port - ADMIN_PORT_DISTANCE;
}

static enum err open_api(
    const struct config *config, const struct api *api, struct http_server **out, struct detail *detail)
{
    AUTO_FREE char *address = mem_format("%s:%s", authentication_listen(config), config_text(config, "PORT"));
    struct http_server_settings http = {
        .address = address, .max_connections = number(config, "MAX_CONNECTIONS")};
    http.routes = api_routes(api, &http.route_count);
    return http_server_start(&http, out, detail);
}

static enum err open_admin(
    const struct config *config, const struct api *admin, struct http_server **out, struct detail *detail)
{
    AUTO_FREE char *address =
        mem_format("%s:%u", config_text(config, "ADMIN_LISTEN"), listeners_admin_port(config));
    struct http_server_settings http = {
        .address = address, .threads = 1, .max_connections = ADMIN_CONNECTIONS, .listener = METRIC_ADMIN};
    struct detail why = {0};
    http.routes = api_routes(admin, &http.route_count);
    enum err e = http_server_start(&http, out, &why);
    if (e == ERR_OK)
        return e;
    return detail_set(detail, e,
        "admin listener: %s (ADMIN_PORT=0 takes any free port, ADMIN_LISTEN=off turns it off)", why.text);
}

enum err listeners_open(const struct config *config, const struct api *api, const struct api *admin,
    struct listeners *out, struct detail *detail)
{
    enum err e = open_api(config, api, &out->api, detail);
    if (e == ERR_OK && admin != NULL)
        e = open_admin(config, admin, &out->admin, detail);
    if (e != ERR_OK)
        return e;
    printf("listening on http://%s:%u\n", authentication_listen(config), http_server_port(out->api));
    if (out->admin != NULL)
        printf("admin listening on http://%s:%u\n", config_text(config, "ADMIN_LISTEN"),
            http_server_port(out->admin));
    fflush(stdout);
    return ERR_OK;
}

void listeners_drain(struct listeners *listeners, int grace_ms)
{
    http_server_drain(listeners->api, grace_ms);
    if (listeners->admin != NULL)
        http_server_drain(listeners->admin, ADMIN_DRAIN_MS);
}

void listeners_free(struct listeners *listeners)
{
    http_server_free(listeners->api);
    http_server_free(listeners->admin);
}
