/* accounts: lists the pool's accounts; release and retire change single ones. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "base/clock.h"
#include "base/mem.h"
#include "commands.h"
#include "start.h"
#include "pool/account_read.h"
#include "rpc/rpcs.h"
#include "provision/account_admin.h"

#define PAGE 500

static void print_account(const struct account_shown *account)
{
    printf("%s %-11s", account->public_key, account->state);
    if (account->sequence >= 0)
        printf(" sequence %" PRId64 " as of ledger %" PRId64, account->sequence, account->sequence_ledger);
    else
        printf(" sequence unknown");
    if (account->lease_shown) {
        char hash[HASH_HEX_SIZE], until[CLOCK_TEXT_SIZE];
        hash_encode(&account->lease_hash, hash);
        clock_text(account->lease_max_time_s, until);
        printf(" lease %s until %s", hash, until);
    }
    if (account->reason[0] != '\0') {
        fputs(" reason \"", stdout);
        command_put(account->reason, strlen(account->reason));
        putchar('"');
    }
    putchar('\n');
}

static enum err print_all(const struct config *config, struct db *db, struct detail *detail)
{
    (void)config;
    struct account_shown *page AUTO_FREE = NEW_ARRAY(PAGE, struct account_shown);
    size_t count = PAGE;
    char after[ADDRESS_SIZE] = "";
    while (count == PAGE) {
        enum err e = account_read_page(db, NULL, NULL, after, PAGE, page, &count, detail);
        if (e != ERR_OK)
            return e;
        for (size_t i = 0; i < count; i++)
            print_account(&page[i]);
        if (count > 0)
            memcpy(after, page[count - 1].public_key, sizeof after);
    }
    return ERR_OK;
}

typedef enum err (*change_fn)(
    const struct account_admin *admin, const struct public_key *account, struct detail *detail);

/* The COMMIT was sent, but its outcome is unknown, or the standby may lack it. */
static bool is_uncertain(enum err e)
{
    return e == ERR_OUTCOME_UNKNOWN || e == ERR_NOT_REPLICATED;
}

static bool later_may_help(enum err e)
{
    return e == ERR_NOT_YET || e == ERR_SERIALIZATION || is_uncertain(e);
}

/*
 * After a refusal, an uncertain COMMIT or one failed read of the RPC, the command continues with the next
 * account. Any other error, or a second failed read in a row, ends the command, because the remaining
 * accounts would fail too.
 */
static int change_each(const struct config *config, const struct account_admin *admin, change_fn change)
{
    bool refused = false, later = false, read_failed = false;
    const size_t end = config_argument_count(config);
    for (size_t i = 1; i < end; i++) {
        const char *address = config_argument(config, i), *prefix = "";
        struct public_key account;
        struct detail detail = {0};
        enum err e = address_decode(address, &account);
        if (e == ERR_OK)
            e = change(admin, &account, &detail);
        bool read_fails = e == ERR_RPC_UNAVAILABLE && i + 1 < end && !read_failed;
        if (e != ERR_OK && e != ERR_REFUSED && !later_may_help(e) && !read_fails) {
            AUTO_FREE char *unchanged = mem_format("%s and the accounts after it are unchanged", address);
            return command_failed(e, &detail, unchanged);
        }
        if (is_uncertain(e))
            prefix = "may have changed; repeat the command to find out: ";
        else if (read_fails)
            prefix = "unchanged; repeat the command: ";
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
    struct pool_access access;
    for (size_t i = 1; i < config_argument_count(config); i++)
        if (address_decode(config_argument(config, i), &account) != ERR_OK)
            return command_usage_error(
                "accounts", "\"%s\" is not an account address (G...)", config_argument(config, i));
    int code = pool_access_open(config, KEYD_SERVE, true, &access);
    if (code == EX_OK) {
        struct rpcs *rpcs = rpcs_start(&(struct rpcs_settings){
            .url = access.rpc_url, .ledger_ms = (int)config_ms(config, "LEDGER_SECONDS")});
        const struct account_admin admin = {.db = access.db,
            .feed = rpcs_feed(rpcs),
            .timeout_s = (unsigned)config_number(config, "START_TIMEOUT"),
            .poll_ms = pool_access_poll_ms(config)};
        code = change_each(config, &admin, change);
        rpcs_stop(rpcs);
    }
    pool_access_close(&access);
    return code;
}

int cmd_accounts(const struct config *config)
{
    const char *verb = config_argument(config, 0);
    if (verb == NULL)
        return database_run(config, "fairway accounts", print_all, "cannot list the accounts");
    const bool releases = strcmp(verb, "release") == 0;
    if (!releases && strcmp(verb, "retire") != 0)
        return command_usage_error("accounts", "unexpected argument 1");
    if (config_argument_count(config) == 1)
        return command_usage_error("accounts", "%s needs at least one ACCOUNT", verb);
    return change_accounts(config, releases ? account_admin_release : account_admin_retire);
}
