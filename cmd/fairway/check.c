/* check: the checks of a start, and what the settings lead to, one line each. Whether leases are granted now,
 * is for status and health. Changes nothing that a start would not. */
#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>

#include "serve.h"
#include "start.h"
#include "api/judge.h"
#include "base/clock.h"
#include "base/deadlines.h"
#include "base/mem.h"
#include "base/text.h"
#include "commands.h"
#include "ingest/ingest.h"
#include "pool/role.h"
#include "rpc/rpc.h"
#include "stellar/envelope_build.h"

#define STEP_MS 3000 /* what a step of the start may wait for database or RPC */

struct checks {
    const struct config *config;
    struct pool_opening opening;
    struct pool_access access;
    bool passed[STEP_COUNT];
    struct judge_report judgement; /* of the database */
    bool acts;                     /* a line says so */
};

/* Prints a line: what is so, or what is wrong and what to do. look: nothing is broken. */
static void say(struct checks *checks, const char *name, enum err e, bool look, const char *text)
{
    command_print(printf("%s  %-13s ", e == ERR_OK ? look ? "look" : "ok  " : "ACT ", name), text);
    fflush(stdout);
    checks->acts |= e != ERR_OK;
}

static bool step(struct checks *checks, enum pool_step step, const char *name, const char *fine)
{
    struct detail detail = {0};
    checks->opening.deadline_ms = clock_ms() + STEP_MS;
    const enum err e = pool_access_step(&checks->opening, step, &detail);
    checks->passed[step] = e == ERR_OK;
    say(checks, name, e, false, e == ERR_OK ? fine : detail.text[0] != '\0' ? detail.text : err_text(e));
    return e == ERR_OK;
}

static void check_clients(struct checks *checks)
{
    struct auth *auth = NULL;
    struct detail detail = {0};
    const enum err e = authentication_open(checks->config, &auth, &detail);
    if (e == ERR_OK && auth == NULL)
        detail_set(&detail, ERR_OK, "AUTH=none: everyone who reaches the port may send requests");
    else if (e == ERR_OK)
        detail_set(&detail, ERR_OK, "%zu keys", auth_key_count(auth));
    say(checks, "clients", e, auth == NULL, detail.text);
    auth_free(auth);
}

/* ---- the RPCs */

/* What serve asks for: all methods, the newest ledger, and a simulation, here of a contract that nobody has.
 */
static enum err ask_rpc(struct rpc *rpc, uint32_t *newest, struct detail *detail)
{
    static const uint8_t function[52] = {[7] = 1, [43] = 1, [44] = 'f'}; /* invokes f() */
    const struct public_key account = {{0}};
    struct account_entry entry;
    struct rpc_ledgers ledgers CLEANUP(rpc_ledgers_free) = {0};
    struct rpc_simulation simulation CLEANUP(rpc_simulation_free) = {0};
    struct buf call CLEANUP(buf_free) = {0};
    envelope_build_call(&account, BYTES_OF(function), (struct bytes){0}, 0, &call);
    enum err e = rpc_check_methods(rpc, detail);
    if (e == ERR_OK)
        e = rpc_accounts(rpc, &account, 1, &entry, newest, detail);
    if (e == ERR_OK)
        e = rpc_ledgers(rpc, *newest, 1, &ledgers, detail);
    if (e == ERR_OK)
        e = rpc_simulate(rpc, buf_bytes(&call), false, 0, &simulation, detail);
    return e;
}

static void check_rpcs(struct checks *checks)
{
    const char *url = checks->access.rpc_url;
    const unsigned count = (unsigned)rpc_address_count(url);
    uint32_t ledgers[RPC_ADDRESSES_MAX] = {0}, newest = 0;
    struct detail details[RPC_ADDRESSES_MAX] = {0};
    enum err errors[RPC_ADDRESSES_MAX];
    for (unsigned i = 0; i < count; i++) {
        struct rpc *rpc =
            rpc_new(&(struct rpc_settings){.url = url, .only = i + 1, .timeout_ms = SERVE_RPC_MS});
        errors[i] = ask_rpc(rpc, &ledgers[i], &details[i]);
        newest = ledgers[i] > newest ? ledgers[i] : newest;
        rpc_free(rpc);
    }
    for (unsigned i = 0; i < count; i++) {
        AUTO_FREE char *origin = rpc_origin(url, i + 1);
        AUTO_FREE char *name = mem_format("rpc %u", i + 1);
        AUTO_FREE char *text = NULL;
        if (errors[i] != ERR_OK)
            text = mem_format("%s: %s", origin, details[i].text);
        else if (newest - ledgers[i] > RPC_BEHIND_LEDGERS)
            text = mem_format(
                "%s is at ledger %" PRIu32 ", and another one at %" PRIu32, origin, ledgers[i], newest);
        else
            text = mem_format("%s, at ledger %" PRIu32, origin, ledgers[i]);
        if (errors[i] == ERR_OK && newest - ledgers[i] > RPC_BEHIND_LEDGERS)
            errors[i] = ERR_RPC_UNAVAILABLE;
        say(checks, name, errors[i], false, text);
    }
    if (rpc_is_plain(url))
        say(checks, "rpc", ERR_OK, true,
            "RPC_URL has an http:// address of another host: anyone on the path can change what it says; use "
            "https");
}

/* ---- the database */

static void check_role(struct checks *checks)
{
    struct detail detail = {0};
    bool may_write = false;
    enum err e = role_may_write(checks->access.db, &may_write, &detail);
    say(checks, "role", e, may_write,
        e != ERR_OK ? detail.text
        : may_write
            ? "it owns the schema or may write its tables: serve with the role fairway of docker/roles.sql"
            : "it may write no table");
}

/* What serve judges, as far as a process that serves nothing can. */
static void check_judged(struct checks *checks)
{
    static const struct {
        enum judge_check check;
        const char *fine;
    } lines[] = {{CHECK_STANDBY, "commits wait for it"}, {CHECK_DISK, "it has room"},
        {CHECK_CLOCK, "this host's and the database's agree"}, {CHECK_SNAPSHOT, "none is old"}};
    const struct pool_access *access = &checks->access;
    judge(access->db,
        &(struct api_settings){.keyd = access->keyd,
            .funds = access->funds,
            .synchronous_failover = access->synchronous_failover,
            .ledger_ms = (unsigned)config_ms(checks->config, "LEDGER_SECONDS")},
        true, &checks->judgement);
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        const struct judge_result *result = &checks->judgement.checks[lines[i].check];
        if (result->ran)
            say(checks, check_names[lines[i].check], result->level == CHECK_PASSES ? ERR_OK : ERR_CONFIG,
                false, result->level == CHECK_PASSES ? lines[i].fine : judge_shown(result));
    }
}

/* ---- the distribution account and the pool */

static void check_money(struct checks *checks)
{
    const struct pool_access *access = &checks->access;
    struct rpc *rpc = rpc_new(&(struct rpc_settings){.url = access->rpc_url, .timeout_ms = SERVE_RPC_MS});
    struct funds funds = {.bound = true, .account = access->distribution};
    char address[ADDRESS_SIZE];
    struct detail detail = {0};
    struct account_entry account;
    uint32_t ledger;
    address_encode(&access->distribution, address);
    enum err e = rpc_accounts(rpc, &access->distribution, 1, &account, &ledger, &detail);
    if (e == ERR_OK && account.removed) {
        e = detail_set(&detail, ERR_CONFIG, "%s does not exist on this network: create and fund it", address);
    } else if (e == ERR_OK) {
        (void)!funds_take(&funds, &account, ledger, BASE_RESERVE_STROOPS);
        const struct judge_result result = judge_funds(&funds, &access->funds);
        e = result.level == CHECK_PASSES ? ERR_OK : ERR_CONFIG;
        detail_set(&detail, e, "%s can pay for %" PRId64 " payments%s%s", address,
            funds_payments(&funds, &access->funds), e == ERR_OK ? "" : ": ", result.text);
    }
    say(checks, "money", e, false, detail.text);
    rpc_free(rpc);
}

static void check_pool(struct checks *checks)
{
    const int64_t wanted = (int64_t)config_number(checks->config, "NUM_CHANNEL_ACCOUNTS");
    const struct pool_counts *counts = &checks->judgement.pool;
    struct detail detail = {0};
    const bool few = counts->active == 0 ||
                     (counts->active < wanted && config_is_given(checks->config, "NUM_CHANNEL_ACCOUNTS"));
    detail_set(&detail, ERR_OK, "%" PRId64 " accounts are active, %" PRId64 " of them idle%s", counts->active,
        counts->idle, few ? ": fairway ensure-accounts N creates more" : "");
    say(checks, "pool", few ? ERR_CONFIG : ERR_OK, false, detail.text);
}

/* ---- the command */

static void not_checked(const char *names, const char *because)
{
    printf("--    %s: not checked, because of %s\n", names, because);
}

static void check_all(struct checks *checks)
{
    if (!step(checks, STEP_OPTIONS, "options", "complete, and without a contradiction")) {
        not_checked("everything else", "the options");
        return;
    }
    check_clients(checks);
    const bool signatures = ingest_checks_signatures(
        config_text(checks->config, "TRUSTED_VALIDATORS"), config_text(checks->config, "NETWORK_PASSPHRASE"));
    say(checks, "validators", ERR_OK, !signatures,
        signatures ? "the signatures of ledgers are checked"
                   : "no list (TRUSTED_VALIDATORS): the RPC is believed, and one that is alone can invent "
                     "ledgers that end leases");
    step(checks, STEP_KEY_PROCESS, "key process", "started with the secrets");
    if (checks->access.keyd == NULL || !step(checks, STEP_CONFINEMENT, "walls", "this process is confined")) {
        not_checked("database, RPC, keys, money, pool", "the key process or the walls");
        return;
    }
    if (step(checks, STEP_DATABASE, "database", "reachable, with the schema of this version"))
        check_role(checks);
    if (step(checks, STEP_RPC, "network", checks->access.passphrase))
        check_rpcs(checks);
    if (checks->passed[STEP_DATABASE])
        check_judged(checks);
    if (!checks->passed[STEP_DATABASE])
        not_checked("keys, pool", "the database");
    else if (step(
                 checks, STEP_KEYS, "keys", "the master key is the pool's, and the distribution account too"))
        check_pool(checks);
    if (checks->passed[STEP_KEYS] && checks->passed[STEP_RPC])
        check_money(checks);
    else
        not_checked("money", checks->passed[STEP_RPC] ? "the keys" : "the RPC");
}

int cmd_check(const struct config *config)
{
    struct checks checks = {.config = config};
    checks.opening =
        (struct pool_opening){.config = config, .mode = KEYD_SERVE, .needs_rpc = true, .out = &checks.access};
    if (!text_equal(config_text(config, "LOG_LEVEL"), "debug") && log_set_level("error") != ERR_OK)
        return EX_SOFTWARE;
    check_all(&checks);
    pool_access_close(&checks.access);
    return checks.acts ? 1 : EX_OK;
}
