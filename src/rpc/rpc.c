#include "rpc/rpc.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "call.h"
#include "field.h"

struct rpc *rpc_new(const struct rpc_settings *settings)
{
    struct rpc *rpc = NEW(struct rpc);
    rpc->transport = transport_new(settings);
    return rpc;
}

void rpc_free(struct rpc *rpc)
{
    if (rpc == NULL)
        return;
    transport_free(rpc->transport);
    free(rpc);
}

enum err rpc_health(struct rpc *rpc, struct rpc_health *out, struct detail *detail)
{
    struct call_error error;
    const char *status;
    *out = (struct rpc_health){0};
    AUTO_JSON result = NULL;
    enum err e = call(rpc, "getHealth", NULL, &result, &error, detail);
    if (e == ERR_RPC_UNAVAILABLE && error.code != 0)
        return ERR_OK; /* the server reports that it is unhealthy */
    if (e == ERR_OK)
        e = field_text(result, "status", &status, detail);
    if (e == ERR_OK)
        e = field_u32(result, "latestLedger", &out->latest_ledger, detail);
    if (e == ERR_OK)
        e = field_u32(result, "oldestLedger", &out->oldest_ledger, detail);
    out->healthy = e == ERR_OK && strcmp(status, "healthy") == 0;
    return e;
}

enum err rpc_network(struct rpc *rpc, struct rpc_network *out, struct detail *detail)
{
    const char *passphrase, *friendbot_url;
    *out = (struct rpc_network){0};
    AUTO_JSON result = NULL;
    enum err e = call(rpc, "getNetwork", NULL, &result, NULL, detail);
    if (e == ERR_OK)
        e = field_text(result, "passphrase", &passphrase, detail);
    if (e == ERR_OK)
        e = field_u32(result, "protocolVersion", &out->protocol, detail);
    if (e != ERR_OK)
        return e;
    out->passphrase = mem_copy_text(passphrase);
    if (field_text(result, "friendbotUrl", &friendbot_url, NULL) == ERR_OK && friendbot_url[0] != '\0')
        out->friendbot_url = mem_copy_text(friendbot_url);
    return ERR_OK;
}

void rpc_network_free(struct rpc_network *network)
{
    free(network->passphrase);
    free(network->friendbot_url);
    *network = (struct rpc_network){0};
}
