/* Asks the RPCs of RPC_URL for their network when a command starts. Never reads ledgers or accounts. */
#include "start.h"

#include "base/deadlines.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/thread.h"
#include "rpc/rpc.h"
#include "stellar/protocol.h"

struct check {
    const char *url, *passphrase;
    int64_t deadline_ms;
};

/* One address of RPC_URL. */
struct probe {
    const struct check *check;
    unsigned address; /* from 1 */
    int timeout_ms;
    pthread_t thread;
    bool has_thread;
    enum err e;
    struct detail detail;
};

/* Asks one address for its network. */
static void *check_rpc(void *context)
{
    struct probe *probe = context;
    struct rpc *rpc = rpc_new(&(struct rpc_settings){
        .url = probe->check->url, .only = probe->address, .timeout_ms = probe->timeout_ms});
    struct rpc_network network CLEANUP(rpc_network_free) = {0};
    probe->e = rpc_network(rpc, &network, &probe->detail);
    if (probe->e == ERR_OK && !text_equal(network.passphrase, probe->check->passphrase)) {
        AUTO_FREE char *origin = rpc_origin(probe->check->url, probe->address);
        probe->e = detail_set(&probe->detail, ERR_CONFIG,
            "%.50s of RPC_URL serves the network \"%.50s\", but NETWORK_PASSPHRASE is \"%.50s\"", origin,
            network.passphrase, probe->check->passphrase);
    }
    uint32_t protocol;
    if (probe->e == ERR_OK && rpc_node_protocol(rpc, &protocol) == ERR_OK)
        protocol_note(protocol, "the node behind RPC_URL");
    rpc_free(rpc);
    return NULL;
}

#define TIMEOUT_MIN_MS 1000

/* All at the same time: one that hangs delays the start by its own timeout only. */
static void probe_all(const struct check *check, struct probe probes[], unsigned count)
{
    const int most_ms = count > 1 ? SERVE_RPC_MS : START_RPC_MAX_MS,
              left_ms = clock_left_ms(check->deadline_ms);
    const int timeout_ms = left_ms < TIMEOUT_MIN_MS ? TIMEOUT_MIN_MS : left_ms > most_ms ? most_ms : left_ms;
    for (unsigned i = 0; i < count; i++) {
        probes[i] = (struct probe){.check = check, .address = i + 1, .timeout_ms = timeout_ms};
        probes[i].has_thread = thread_try(&probes[i].thread, check_rpc, &probes[i]) == 0;
    }
    for (unsigned i = 0; i < count; i++)
        if (probes[i].has_thread)
            pthread_join(probes[i].thread, NULL);
        else /* this host has no thread for it */
            check_rpc(&probes[i]);
}

/* One that counted twice would confirm what it says itself. */
static enum err check_addresses(const char *url, unsigned count, struct detail *detail)
{
    if (count == 0)
        return detail_set(detail, ERR_CONFIG, "RPC_URL has no address");
    if (count > RPC_ADDRESSES_MAX)
        return detail_set(
            detail, ERR_CONFIG, "RPC_URL has %u addresses; at most %d are used", count, RPC_ADDRESSES_MAX);
    for (unsigned i = 1; i <= count; i++) {
        AUTO_FREE char *origin = rpc_origin(url, i);
        if (!text_starts(origin, "http://") && !text_starts(origin, "https://"))
            return detail_set(detail, ERR_CONFIG, "address %u of RPC_URL is not an http or https URL", i);
        if (rpc_address_repeats(url, i))
            return detail_set(detail, ERR_CONFIG, "address %u of RPC_URL is the same as an earlier one", i);
    }
    return ERR_OK;
}

static enum err check_rpcs(void *context, struct detail *detail)
{
    const struct check *check = context;
    const unsigned count = (unsigned)rpc_address_count(check->url);
    struct probe probes[RPC_ADDRESSES_MAX];
    bool answered = false;
    enum err failed = check_addresses(check->url, count, detail);
    if (failed != ERR_OK)
        return failed;
    probe_all(check, probes, count);
    for (unsigned i = 0; i < count; i++) {
        answered |= probes[i].e == ERR_OK;
        if (probes[i].e == ERR_OK)
            continue;
        failed = detail_set(detail, probes[i].e, "%s", probes[i].detail.text);
        if (failed != ERR_RPC_UNAVAILABLE && failed != ERR_RPC_REFUSED)
            return failed;
    }
    if (!answered)
        return failed;
    for (unsigned i = 0; i < count; i++)
        if (probes[i].e != ERR_OK)
            log_warn("an RPC of RPC_URL does not answer; its network is not checked", "rpc=%u detail=\"%s\"",
                i + 1, probes[i].detail.text);
    return ERR_OK;
}

enum err rpcs_check(const char *url, const char *passphrase, int64_t deadline_ms, struct detail *detail)
{
    struct check check = {url, passphrase, deadline_ms};
    if (rpc_is_plain(url))
        log_warn(
            "RPC_URL has an http:// address of another host; use https, or anyone on the network path can"
            " change the responses",
            NULL);
    return retry_until(check_rpcs, &check, deadline_ms, detail);
}

enum err rpcs_check_once(const char *url, const char *passphrase, int64_t deadline_ms, struct detail *detail)
{
    return check_rpcs(&(struct check){url, passphrase, deadline_ms}, detail);
}
