/* locks: who blocks whom in PostgreSQL, for how long and doing what. Needs the database alone, and no
 * privilege beyond connecting to it. */
#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>

#include "base/mem.h"
#include "commands.h"
#include "pool/lock_numbers.h"
#include "pool/network.h"

/* A snapshot this old is worth a line: no transaction of fairway's takes as long. */
#define PIN_OLD_MS 5000

/* The locks of the network have no name in a database that is not migrated or not bound to a network, and
 * when this role may not read it. */
static size_t name_locks(struct db *db, struct lock_name names[static LOCK_NAMES_MAX])
{
    struct network network CLEANUP(network_free) = {0};
    struct detail detail;
    if (network_read(db, &network, &detail) != ERR_OK || network.passphrase == NULL)
        return lock_numbers_names(NULL, names);
    const struct network_id id = network_id_of(network.passphrase);
    return lock_numbers_names(&id, names);
}

static void print_ms(const char *before, int64_t ms, const char *after)
{
    if (ms >= 0)
        printf("%s%" PRId64 ".%" PRId64 " s%s", before, ms / 1000, ms % 1000 / 100, after);
}

static void print_session(const struct lock_session *session)
{
    if (session->pid == 0) {
        fputs("a prepared transaction", stdout);
        return;
    }
    printf("%" PRId32 " \"%s\" (%s, %s): %s", session->pid, session->name, session->user, session->client,
        session->state);
    if (session->wait[0] != '\0')
        printf(", waits for %s", session->wait);
    print_ms(", in a transaction for ", session->transaction_ms, "");
    printf("\n      %s", session->query);
}

/* Whether any wait is longer than fairway's own can be. */
static bool print_waits(const struct locks_report *report)
{
    bool too_long = false;
    if (report->wait_count == 0)
        puts("Blocked: nobody waits for a lock.");
    else
        puts("Blocked:");
    for (size_t i = 0; i < report->wait_count; i++) {
        const struct lock_wait *wait = &report->waits[i];
        print_ms("  for ", wait->waited_ms, ": ");
        printf("%s\n    waits:  ", wait->lock);
        print_session(&wait->waiter);
        printf("\n    behind: ");
        print_session(&wait->blocker);
        putchar('\n');
        too_long |= wait->waited_ms > LOCKS_LONG_MS;
    }
    return too_long;
}

static void print_holders(const struct locks_report *report)
{
    if (report->holder_count == 0)
        puts("Advisory locks of fairway: nobody holds any.");
    else
        puts("Advisory locks of fairway:");
    for (size_t i = 0; i < report->holder_count; i++) {
        const struct lock_holder *holder = &report->holders[i];
        printf("  %s (%s): ", holder->lock, holder->mode);
        print_session(&holder->session);
        putchar('\n');
    }
}

static void print_pins(const struct locks_report *report)
{
    size_t old = 0;
    for (size_t i = 0; i < report->pin_count; i++) {
        const struct lock_pin *pin = &report->pins[i];
        if (pin->age_ms >= 0 && pin->age_ms < PIN_OLD_MS)
            continue;
        if (old++ == 0)
            puts("What keeps vacuum from cleaning up (each dead row behind it costs every look-up):");
        printf("  %s %s", pin->what, pin->name);
        print_ms("for ", pin->age_ms, ", ");
        printf("%" PRId64 " transactions", pin->age_transactions);
        if (pin->session.pid != 0) {
            fputs(": ", stdout);
            print_session(&pin->session);
        }
        putchar('\n');
    }
    if (old == 0)
        puts("Snapshots: none is old; vacuum can clean up.");
}

static enum err show(struct db *db, int *code, struct detail *detail)
{
    struct lock_name names[LOCK_NAMES_MAX];
    struct locks_report *report AUTO_FREE = NEW(struct locks_report);
    size_t named = name_locks(db, names);
    enum err e = locks_read(db, names, named, report, detail);
    if (e != ERR_OK)
        return e;
    *code = print_waits(report) ? 1 : EX_OK;
    print_holders(report);
    print_pins(report);
    if (report->hidden > 0)
        printf("Not seen: what %" PRId64 " sessions of other roles do (GRANT pg_read_all_stats shows it).\n",
            report->hidden);
    return ERR_OK;
}

int cmd_locks(const struct config *config)
{
    const char *direct = config_text(config, "DATABASE_DIRECT_URL");
    const char *url = direct != NULL ? direct : config_text(config, "DATABASE_URL");
    struct detail detail = {0};
    int code = EX_OK;
    if (config_argument_count(config) > 0) {
        fputs("fairway locks: takes no arguments\n", stderr);
        return EX_USAGE;
    }
    if (url == NULL) {
        detail_set(&detail, ERR_CONFIG, "DATABASE_URL is not set");
        return command_failed(ERR_CONFIG, &detail, "cannot show locks");
    }
    struct db *db = db_new(&(struct db_settings){.url = url, .kind = DB_DIRECT, .name = "fairway locks"});
    enum err e = db_connect(db, &detail);
    if (e == ERR_OK)
        e = show(db, &code, &detail);
    db_free(db);
    return e == ERR_OK ? code : command_failed(e, &detail, "cannot show locks");
}
