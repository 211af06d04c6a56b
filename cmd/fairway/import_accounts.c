/* import-accounts: takes existing accounts into the pool. Passes standard input on to the key process, and
 * never reads it. Ingests ledgers itself unless another process leads, so it needs no running serve. */
#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>
#include <unistd.h>

#include "commands.h"
#include "start.h"
#include "pool/pool_counts.h"
#include "provision/import.h"
#include "rpc/rpcs.h"

static void print_item(void *context, const struct import_item *item)
{
    static const char *const words[] = {"refused: ", "already in the pool: ", "accepted"};
    size_t *totals = context;
    char address[ADDRESS_SIZE];
    totals[item->outcome]++;
    address_encode(&item->given.key.public_key, address);
    if (item->given.result == ERR_OK)
        printf("%s %s%s\n", address, words[item->outcome], item->why);
    else
        printf("line %" PRIu32 " %s%s\n", item->given.line, words[item->outcome], item->why);
    fflush(stdout);
}

static enum err import(
    const struct config *config, struct pool_access *access, size_t totals[3], struct detail *detail)
{
    const struct ingest_settings ingestion = pool_access_ingestion(config, access);
    struct ingest *ingest;
    enum err e = ingest_start(&ingestion, &ingest, detail);
    if (e != ERR_OK)
        return e;
    struct rpcs *rpcs =
        rpcs_start(&(struct rpcs_settings){.url = access->rpc_url, .ledger_ms = (int)ingestion.ledger_ms});
    e = import_all(&(struct import_settings){.database_url = access->database_url,
                       .network = access->network,
                       .distribution = access->distribution,
                       .keyd = access->keyd,
                       .feed = rpcs_feed(rpcs),
                       .timeout_s = (unsigned)config_number(config, "START_TIMEOUT"),
                       .poll_ms = ingestion.poll_ms},
        print_item, totals, detail);
    rpcs_stop(rpcs);
    ingest_stop(ingest);
    return e;
}

static enum err print_totals(struct pool_access *access, const size_t totals[3], struct detail *detail)
{
    struct pool_counts counts;
    printf("%zu accepted, %zu already in the pool, %zu refused\n", totals[IMPORT_TAKEN], totals[IMPORT_KNOWN],
        totals[IMPORT_REFUSED]);
    enum err e = pool_counts_read(access->db, true, &counts, detail);
    if (e == ERR_OK)
        printf("%" PRId64 " channel accounts active: ensure-accounts with a lower N merges accounts into the"
               " distribution account\n",
            counts.active);
    return e;
}

int cmd_import_accounts(const struct config *config)
{
    struct pool_access access;
    struct detail detail = {0};
    size_t totals[3] = {0};
    if (isatty(STDIN_FILENO))
        return command_usage_error(
            "import-accounts", "give the seeds by a pipe or a file: a terminal would show them");
    int code = pool_access_open(config, KEYD_IMPORT, true, &access);
    if (code == EX_OK) {
        enum err e = import(config, &access, totals, &detail);
        if (e == ERR_OK)
            e = print_totals(&access, totals, &detail);
        if (e != ERR_OK)
            code = command_failed(
                e, &detail, "accounts that are not printed may not be imported: repeat the command");
        else
            code = totals[IMPORT_REFUSED] > 0 ? 1 : EX_OK;
    }
    pool_access_close(&access);
    return code;
}
