/* accounts: shows the pool's accounts; release and retire change single ones, once the network has confirmed
 * that they may. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#include "base/mem.h"
#include "base/text.h"
#include "commands.h"
#include "db/migrate.h"
#include "pool/status.h"
#include "provision/account_admin.h"
#include "startup.h"

#define PAGE 500

/* In the order of the sum at the end. */
static const char *const states[] = {"idle", "leased", "creating", "retiring", "quarantined", "retired"};

static void print_account(const struct account_status *account)
{
    printf("%s %-11s", account->public_key, account->state);
    if (account->sequence >= 0)
        printf(" sequence %" PRId64 " as of ledger %" PRId64, account->sequence, account->sequence_ledger);
    else
        printf(" sequence not known yet");
    if (account->leased) {
        char hash[HASH_HEX_SIZE], until[32] = "?";
        struct tm utc;
        time_t max_time = (time_t)account->lease_max_time_s;
        hash_encode(&account->lease_hash, hash);
        if (gmtime_r(&max_time, &utc) != NULL)
            strftime(until, sizeof until, "%Y-%m-%dT%H:%M:%SZ", &utc);
        printf(" lease %s until %s", hash, until);
    }
    if (account->reason[0] != '\0')
        printf(" reason \"%s\"", account->reason);
    putchar('\n');
}

static enum err print_all(struct db *db, const char *state, struct detail *detail)
{
    struct account_status *page AUTO_FREE = NEW_ARRAY(PAGE, struct account_status);
    size_t totals[ARRAY_LEN(states)] = {0}, all = 0, count = PAGE;
    char after[ADDRESS_SIZE] = "";
    while (count == PAGE) {
        enum err e = account_page(db, state, after, PAGE, page, &count, detail);
        if (e != ERR_OK)
            return e;
        for (size_t i = 0; i < count; i++) {
            print_account(&page[i]);
            for (size_t k = 0; k < ARRAY_LEN(states); k++)
                totals[k] += strcmp(page[i].state, states[k]) == 0;
        }
        all += count;
        if (count > 0)
            memcpy(after, page[count - 1].public_key, sizeof after);
    }
    printf("%zu accounts", all);
    for (size_t k = 0; k < ARRAY_LEN(states); k++)
        if (totals[k] > 0)
            printf(", %zu %s", totals[k], states[k]);
    putchar('\n');
    return ERR_OK;
}

/* Needs the database and nothing else: it is for the time when something else is away. */
static int list(const struct config *config)
{
    const char *url = config_text(config, "DATABASE_DIRECT_URL"), *state = config_text(config, "STATE");
    struct detail detail = {0};
    bool known = state == NULL;
    for (size_t k = 0; k < ARRAY_LEN(states); k++)
        known |= text_equal(state, states[k]);
    if (!known) {
        fprintf(stderr,
            "fairway accounts: no state \"%s\": say idle, leased, creating, retiring, retired or"
            " quarantined\n",
            state);
        return EX_USAGE;
    }
    if (url == NULL && (url = config_text(config, "DATABASE_URL")) == NULL) {
        detail_set(&detail, ERR_CONFIG, "DATABASE_URL is not set");
        return command_failed(ERR_CONFIG, &detail, "cannot show the accounts");
    }
    struct db *db = db_new(&(struct db_settings){.url = url, .kind = DB_DIRECT, .name = "fairway accounts"});
    enum err e = db_connect_patiently(db, (int)config_number(config, "START_TIMEOUT"), &detail);
    if (e == ERR_OK)
        e = migrate_check(db, &detail);
    if (e == ERR_OK)
        e = print_all(db, state, &detail);
    db_free(db);
    return e == ERR_OK ? EX_OK : command_failed(e, &detail, "cannot show the accounts");
}

typedef enum err (*change_fn)(
    const struct account_admin *manual, const struct public_key *account, struct detail *detail);

/* The COMMIT was sent, and nobody has said that it holds. */
static bool in_doubt(enum err e)
{
    return e == ERR_OUTCOME_UNKNOWN || e == ERR_NOT_REPLICATED;
}

static bool later_may_help(enum err e)
{
    return e == ERR_NOT_YET || e == ERR_SERIALIZATION || in_doubt(e);
}

/*
 * A refusal, a doubt, or one read that the RPC fails concerns that account only: the list goes on. Any other
 * error, and a second failed read in a row, would meet all accounts that follow, and ends the command.
 */
static int change_each(const struct config *config, const struct account_admin *manual, change_fn change)
{
    bool refused = false, later = false, read_failed = false;
    const size_t end = config_argument_count(config);
    for (size_t i = 1; i < end; i++) {
        const char *address = config_argument(config, i), *prefix = "";
        struct public_key account;
        struct detail detail = {0};
        enum err e = address_decode(address, &account);
        if (e == ERR_OK)
            e = change(manual, &account, &detail);
        bool read_fails = e == ERR_RPC_UNAVAILABLE && i + 1 < end && !read_failed;
        if (e != ERR_OK && e != ERR_REFUSED && !later_may_help(e) && !read_fails)
            return command_failed(e, &detail, "this account and those after it stay as they are");
        if (in_doubt(e))
            prefix = "may have changed; look at it and repeat the command: ";
        else if (read_fails)
            prefix = "not now, and unchanged: ";
        printf("%s %s%s\n", address, prefix, detail.text);
        refused |= e == ERR_REFUSED;
        later |= later_may_help(e) || read_fails;
        read_failed = read_fails;
    }
    return refused ? 1 : later ? EX_TEMPFAIL : EX_OK;
}

static int change_accounts(const struct config *config, change_fn change)
{
    struct public_key account;
    struct startup base;
    for (size_t i = 1; i < config_argument_count(config); i++)
        if (address_decode(config_argument(config, i), &account) != ERR_OK) {
            fprintf(
                stderr, "fairway accounts: \"%s\" is not an account (G...)\n", config_argument(config, i));
            return EX_USAGE;
        }
    int code = startup(config, KEYD_SERVE, NEEDS_RPC, &base);
    if (code == EX_OK) {
        const struct account_admin manual = {.db = base.db,
            .rpc = rpc_new(&(struct rpc_settings){.url = base.rpc_url, .cancel_fd = -1}),
            .keyd = base.keyd,
            .distribution = base.distribution,
            .patience_s = (unsigned)config_number(config, "START_TIMEOUT"),
            .poll_ms = (unsigned)config_number(config, "INGEST_POLL_MS")};
        code = change_each(config, &manual, change);
        rpc_free(manual.rpc);
    }
    startup_end(&base);
    return code;
}

int cmd_accounts(const struct config *config)
{
    const char *verb = config_argument(config, 0);
    if (verb == NULL)
        return list(config);
    if (config_argument_count(config) > 1 && config_text(config, "STATE") == NULL) {
        if (strcmp(verb, "release") == 0)
            return change_accounts(config, account_admin_release);
        if (strcmp(verb, "retire") == 0)
            return change_accounts(config, account_admin_retire);
    }
    fputs("fairway accounts: say nothing, --state STATE, release G... or retire G...\n", stderr);
    return EX_USAGE;
}
