/* The client and its addresses, getNetwork and getVersionInfo. Calls are made by call.c. */
#include "rpc/rpc.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/deadlines.h"
#include "base/mem.h"
#include "base/metric.h"
#include "base/text.h"
#include "call.h"
#include "field.h"

/* Returns the next address in *list, without spaces around it, and moves *list past it; empty at the end. */
static struct bytes next_address(const char **list)
{
    const char *start = *list + strspn(*list, ", \t"), *end = start + strcspn(start, ",");
    *list = end;
    while (end > start && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    return (struct bytes){(const uint8_t *)start, (size_t)(end - start)};
}

size_t rpc_address_count(const char *url)
{
    size_t count = 0;
    while (next_address(&url).len > 0)
        count++;
    return count;
}

static struct bytes address_at(const char *url, unsigned address)
{
    struct bytes text = {0};
    for (unsigned n = 0; n < address; n++)
        text = next_address(&url);
    while (text.len > 0 && text.data[text.len - 1] == '/')
        text.len--;
    return text;
}

bool rpc_address_repeats(const char *url, unsigned address)
{
    const struct bytes one = address_at(url, address);
    for (unsigned n = 1; n < address; n++)
        if (bytes_equal(address_at(url, n), one))
            return true;
    return false;
}

/* url begins with a host. */
static bool is_loopback(const char *url)
{
    static const char *const hosts[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
        size_t len = strlen(hosts[i]);
        if (strncmp(url, hosts[i], len) == 0 && (url[len] == '\0' || strchr(":/?, ", url[len]) != NULL))
            return true;
    }
    return false;
}

/* Scheme, host and port. A path or a query may hold an API key, and what is before the host a password. */
static char *origin_of(const char *url)
{
    CURLU *parsed = curl_url();
    char *scheme = NULL, *host = NULL, *port = NULL;
    const bool known = parsed != NULL && curl_url_set(parsed, CURLUPART_URL, url, 0) == CURLUE_OK &&
                       curl_url_get(parsed, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
                       curl_url_get(parsed, CURLUPART_HOST, &host, 0) == CURLUE_OK;
    if (known)
        (void)curl_url_get(parsed, CURLUPART_PORT, &port, 0); /* most URLs have none */
    char *origin =
        known ? mem_format("%s://%s%s%s", scheme, host, port != NULL ? ":" : "", port != NULL ? port : "")
              : mem_copy_text("an address");
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(parsed);
    return origin;
}

char *rpc_origin(const char *url, unsigned address)
{
    const struct bytes text = address_at(url, address);
    AUTO_FREE char *one = mem_format("%.*s", (int)text.len, (const char *)text.data);
    return origin_of(one);
}

bool rpc_is_plain(const char *url)
{
    const unsigned count = (unsigned)rpc_address_count(url);
    for (unsigned n = 1; n <= count; n++) {
        AUTO_FREE char *origin = rpc_origin(url, n);
        if (text_starts(origin, "http://") && !is_loopback(origin + strlen("http://")))
            return true;
    }
    return false;
}

struct rpc *rpc_new(const struct rpc_settings *settings)
{
    struct rpc *rpc = NEW(struct rpc);
    rpc->shared = rpc;
    const char *list = settings->url;
    struct bytes address;
    rpc->first = rpc->last = settings->only != 0 ? settings->only : 1;
    rpc->timeout_ms = settings->timeout_ms != 0 ? settings->timeout_ms : RPC_TIMEOUT_MS;
    rpc->wait_ms = settings->wait_ms != 0 ? settings->wait_ms : rpc->timeout_ms;
    pthread_mutex_init(&rpc->mutex, NULL);
    pthread_cond_init(&rpc->changed, NULL);
    for (unsigned n = 1; n <= RPC_ADDRESSES_MAX && (address = next_address(&list)).len > 0; n++) {
        AUTO_FREE char *number = mem_format("%u", n);
        metric_label_add(METRIC_RPC, number);
        AUTO_FREE char *url = mem_format("%.*s", (int)address.len, (const char *)address.data);
        if (settings->only == 0 || settings->only == n)
            rpc->addresses[rpc->count++] = address_of(url);
    }
    if (rpc->count == 0) /* a call then says that this is not a URL */
        rpc->addresses[rpc->count++] = address_of(settings->url);
    return rpc;
}

void rpc_cancel(struct rpc *rpc)
{
    atomic_store(&rpc->cancelled, true);
    loop_look();
}

void rpc_settle(struct rpc *rpc)
{
    pthread_mutex_lock(&rpc->mutex);
    while (rpc->open > 0)
        pthread_cond_wait(&rpc->changed, &rpc->mutex);
    pthread_mutex_unlock(&rpc->mutex);
}

struct rpc *rpc_asking(struct rpc *rpc, const struct rpc_ask *ask)
{
    struct rpc *asking = NEW(struct rpc);
    asking->shared = rpc;
    asking->ask = *ask;
    return asking;
}

void rpc_free(struct rpc *rpc)
{
    if (rpc == NULL)
        return;
    call_free(rpc->call);
    if (rpc->shared == rpc) {
        rpc_settle(rpc);
        pthread_cond_destroy(&rpc->changed);
        pthread_mutex_destroy(&rpc->mutex);
    }
    free(rpc);
}

enum err rpc_network(struct rpc *rpc, struct rpc_network *out, struct detail *detail)
{
    const char *passphrase;
    *out = (struct rpc_network){0};
    AUTO_JSON json_t *result = NULL;
    enum err e = call(rpc, "getNetwork", NULL, &result, NULL, detail);
    if (e == ERR_OK && (e = field_text(result, "passphrase", &passphrase, detail)) == ERR_OK)
        out->passphrase = mem_copy_text(passphrase);
    return e;
}

/* The first number of its version, as in "stellar-core 28.0.1 (dedd7ce)": protocolVersion is that of the last
 * ledger. */
enum err rpc_node_protocol(struct rpc *rpc, uint32_t *protocol)
{
    const char *version;
    char dot;
    AUTO_JSON json_t *result = NULL;
    *protocol = 0;
    const enum err e = call(rpc, "getVersionInfo", NULL, &result, NULL, NULL);
    if (e == ERR_NOT_YET)
        return e;
    if (e != ERR_OK || field_text(result, "captiveCoreVersion", &version, NULL) != ERR_OK ||
        sscanf(version, "stellar-core %4" SCNu32 "%c", protocol, &dot) != 2 || dot != '.')
        *protocol = 0;
    return ERR_OK;
}

void rpc_network_free(struct rpc_network *network)
{
    free(network->passphrase);
    *network = (struct rpc_network){0};
}
