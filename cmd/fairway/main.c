/*
 * fairway: leases channel accounts to transactions, signs, and ends each lease with the ledger that decides
 * it. This file finds the subcommand; each stands in a file of its own.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "base/log.h"
#include "base/mem.h"
#include "commands.h"
#include "keys/secrets.h"
#include "options.h"

static const struct command {
    const char *name;
    const char *arguments;
    int (*run)(const struct config *config);
    int (*run_plain)(int argc, char **argv); /* instead of run: needs none of the service's options */
    const char *help;
} commands[] = {
    {"serve", "", cmd_serve, NULL, "answer the API and ingest ledgers, until SIGTERM"},
    {"ingest", "", cmd_ingest, NULL, "ingest ledgers only, until SIGTERM"},
    {"ensure-accounts", "[N]", cmd_ensure_accounts, NULL,
        "bring the pool to exactly N active channel accounts"},
    {"accounts", "[--state S] | release G... | retire G...", cmd_accounts, NULL,
        "show the channel accounts; put quarantined ones back into use; take some out of the pool"},
    {"locks", "", cmd_locks, NULL, "show who blocks whom in PostgreSQL, how long and doing what"},
    {"hold", "[REASON]", cmd_hold, NULL,
        "grant no lease until none can be live that this database has forgotten (after copying a volume)"},
    {"migrate", "", cmd_migrate, NULL, "create or update the database schema"},
    {"keygen", "FILE", cmd_keygen, NULL, "write a new 32-byte master key to FILE"},
    {"inspect", "ledgers [--framed] FILE... | transaction XDR", NULL, cmd_inspect,
        "show what fairway reads from XDR, as JSON"},
};

static void usage(FILE *to)
{
    fprintf(to, "fairway: Stellar channel accounts, leased until the ledger decides.\n\nUsage: fairway "
                "COMMAND [options]\n\n");
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        fprintf(to, "  %s %s\n      %s\n", commands[i].name, commands[i].arguments, commands[i].help);
    fprintf(to, "\nOptions, as flag or environment variable [default]; secrets come from the environment or "
                "a file only:\n\n");
    config_print(fairway_options, FAIRWAY_OPTION_COUNT, to);
}

int command_failed(enum err e, const struct detail *detail, const char *doing)
{
    log_error(doing, "error=%s detail=\"%s\"", err_code(e), detail->text);
    switch (e) {
    case ERR_CONFIG:
    case ERR_CONSTRAINT:
    case ERR_REFUSED:
        return EX_CONFIG;
    case ERR_DATABASE_UNAVAILABLE:
    case ERR_RPC_UNAVAILABLE:
    case ERR_RPC_REFUSED: /* a node that starts refuses for a while */
        return EX_UNAVAILABLE;
    case ERR_SERIALIZATION:
    case ERR_NOT_YET:
    case ERR_OUTCOME_UNKNOWN:
    case ERR_NOT_REPLICATED:
    case ERR_CANCELLED:
        return EX_TEMPFAIL;
    default:
        return EX_SOFTWARE;
    }
}

static int run(const struct command *command, int argc, char **argv)
{
    if (command->run_plain != NULL)
        return command->run_plain(argc, argv);
    struct config *config = NULL;
    struct detail detail = {0};
    if (config_load(fairway_options, FAIRWAY_OPTION_COUNT, argc, argv, &config, &detail) != ERR_OK) {
        fprintf(stderr, "fairway %s: %s\n", command->name, detail.text);
        return EX_USAGE;
    }
    int code = EX_OK;
    if (config_wants_help(config))
        usage(stdout);
    else if (log_set_level(config_text(config, "LOG_LEVEL")) != ERR_OK) {
        fprintf(stderr, "fairway %s: LOG_LEVEL must be debug, info, warn or error\n", command->name);
        code = EX_CONFIG;
    } else
        code = command->run(config);
    config_free(config);
    return code;
}

int main(int argc, char **argv)
{
    struct detail detail = {0};
    signal(SIGPIPE, SIG_IGN); /* a peer that hangs up is an error of that write, not the end of the process */
    if (secrets_hide(argv, &detail) != ERR_OK) {
        fprintf(stderr, "fairway: %s\n", detail.text);
        return EX_CONFIG;
    }
    if (argc < 2) {
        usage(stderr);
        return EX_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        usage(stdout);
        return EX_OK;
    }
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return run(&commands[i], argc - 1, argv + 1);
    fprintf(stderr, "fairway: unknown command \"%s\" (see fairway --help)\n", argv[1]);
    return EX_USAGE;
}
