/* Asks the RPCs of RPC_URL for their network when a command starts. Never reads ledgers or accounts. */
#include "start.h"

#include "base/deadlines.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "rpc/rpc.h"

struct check {
    const char *url, *passphrase;
    int64_t deadline_ms;
};

/* Asks one address of RPC_URL, counted from 1, for its network. */
static enum err check_rpc(const struct check *check, unsigned address, int timeout_ms, struct detail *detail)
{
    struct rpc *rpc = rpc_new(&(struct rpc_settings){
        .url = check->url, .only = address, .timeout_ms = timeout_ms, .cancel_fd = -1});
    struct rpc_network network = {0};
    enum err e = rpc_network(rpc, &network, detail);
    if (e == ERR_OK && !text_equal(network.passphrase, check->passphrase)) {
        AUTO_FREE char *origin = rpc_origin(check->url, address);
        e = detail_set(detail, ERR_CONFIG,
            "%.50s of RPC_URL serves the network \"%.50s\", but NETWORK_PASSPHRASE is \"%.50s\"", origin,
            network.passphrase, check->passphrase);
    }
    rpc_network_free(&network);
    rpc_free(rpc);
    return e;
}

/* Shares the time that is left between the RPCs that have not been asked yet. */
static int rpc_timeout_ms(const struct check *check, unsigned not_asked)
{
    const int share_ms = clock_left_ms(check->deadline_ms) / (int)not_asked;
    return share_ms < START_RPC_MIN_MS   ? START_RPC_MIN_MS
           : share_ms > START_RPC_MAX_MS ? START_RPC_MAX_MS
                                         : share_ms;
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
    struct detail failures[RPC_ADDRESSES_MAX] = {0}; /* empty: it has answered */
    bool answered = false;
    enum err failed = check_addresses(check->url, count, detail);
    if (failed != ERR_OK)
        return failed;
    for (unsigned i = 0; i < count; i++) {
        enum err e = check_rpc(check, i + 1, rpc_timeout_ms(check, count - i), &failures[i]);
        answered |= e == ERR_OK;
        if (e == ERR_OK)
            continue;
        failed = e;
        *detail = failures[i];
        if (e != ERR_RPC_UNAVAILABLE && e != ERR_RPC_REFUSED)
            return e;
    }
    if (!answered)
        return failed;
    for (unsigned i = 0; i < count; i++)
        if (failures[i].text[0] != '\0')
            log_warn("an RPC of RPC_URL does not answer; its network is not checked", "rpc=%u detail=\"%s\"",
                i + 1, failures[i].text);
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
