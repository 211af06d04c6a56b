/* The table of commands, and what they share: help, usage errors and exit codes. What a command does is in
 * the file of its name. */
#include "commands.h"

#include <stdarg.h>
#include <string.h>
#include <sysexits.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "options.h"

#define ANY_NUMBER ((size_t)-1)
#define SCREEN_COLUMNS 80

static const struct command commands[] = {
    {"serve", FOR_SERVE, {""}, "serves the API and ingests ledgers",
        "Serves the API and ingests ledgers. On SIGTERM or SIGINT it answers open requests and ends.\n"
        "SIGHUP and a change of CLIENTS_FILE make it read the clients again.",
        0, cmd_serve},
    {"ensure-accounts", FOR_ENSURE_ACCOUNTS, {" [--dry-run] [N]"}, "brings the pool to N channel accounts",
        "Creates or retires channel accounts until exactly N are active; without N, creates them until\n"
        "NUM_CHANNEL_ACCOUNTS are. Retired accounts are merged into the distribution account. Prints first\n"
        "what it will do.",
        1, cmd_ensure_accounts},
    {"import-accounts", FOR_IMPORT_ACCOUNTS, {" < SEEDS"}, "takes existing accounts into the pool",
        "Reads secret seeds (S...), one a line, from standard input, and takes their accounts into the\n"
        "pool, with their balances and sponsors. Each must exist on the network and have no signer but its\n"
        "master key, no subentries and no balance above its reserve. Prints what became of each, by\n"
        "address. May be repeated.\n"
        "Exit code 0: all are in the pool, 1: some were refused.",
        0, cmd_import_accounts},
    {"rotate-master-key", FOR_ROTATE_MASTER_KEY, {""}, "seals all seeds under another master key",
        "Opens the sealed seed of each account with the old master key, and seals it again under the new\n"
        "one, in batches, while fairway serve runs. MASTER_KEY_FILE is the new key, OLD_MASTER_KEY_FILE\n"
        "the old one; either may be the passphrase instead. Every replica must have both keys.\n"
        "DATABASE_URL has the owner's role. May be killed and repeated. Exit code 1: a seed did not open,\n"
        "so the old key is still needed.",
        0, cmd_rotate_master_key},
    {"accounts", FOR_ACCOUNTS, {"", " release ACCOUNT...", " retire ACCOUNT..."},
        "lists channel accounts, puts them back into use or retires them",
        "Lists the channel accounts, except retired ones, puts quarantined accounts back into use\n"
        "(release), or takes accounts out of the pool (retire).",
        ANY_NUMBER, cmd_accounts},
    {"hold", FOR_HOLD, {" REASON"}, "stops granting leases after the database went back in time",
        "Stops granting leases until every transaction whose lease this database may have lost has\n"
        "expired: for a database that went back in time, such as a copied volume. fairway status shows\n"
        "the hold.",
        1, cmd_hold},
    {"pause", FOR_PAUSE, {" --reason REASON"}, "stops granting leases until fairway resume",
        "Stops granting leases, in all replicas, until fairway resume: for maintenance, or when something\n"
        "is wrong. Clients get GRANTS_SUSPENDED; fairway status has the reason. Open leases go on and end.",
        0, cmd_pause},
    {"resume", FOR_RESUME, {""}, "ends a pause", "Ends the pause that fairway pause began. It ends no hold.",
        0, cmd_resume},
    {"locks", FOR_LOCKS, {""}, "shows which database session blocks which",
        "Shows which session blocks which in PostgreSQL, for how long and by which statement, and who holds\n"
        "locks of fairway. Exit code 1: a session has waited, or held one, longer than 2 s.",
        0, cmd_locks},
    {"health", FOR_HEALTH, {" [ready | live]"}, "asks the serve process on this host whether it works",
        "Asks the serve process on this host whether it can grant leases (ready, the default) or runs\n"
        "(live), and prints its answer. Exit code 0: yes, 1: no.",
        1, cmd_health},
    {"check", FOR_CHECK, {""}, "checks the settings and what they lead to, one line each",
        "Checks what fairway serve needs, with its settings: options, keys, database, RPCs, the\n"
        "distribution account, the pool. Each line says ok, look or ACT, and what to do. May run beside\n"
        "fairway serve.\n"
        "Exit code 0: no line says ACT, 1: one does.",
        0, cmd_check},
    {"status", FOR_STATUS, {" [--json]"}, "shows how the service is, one line a question",
        "Shows what the serve process on this host knows: may leases be granted, is there room, do leases\n"
        "end, is it fast, is there money, which part is sick, and what happened last. The same as the page\n"
        "/status and, with --json, as /status.json of the admin listener. Exit code 0: leases are granted, "
        "1: not, or there is no answer.",
        0, cmd_status},
    {"migrate", FOR_MIGRATE, {""}, "creates or updates the database schema",
        "Creates or updates the database schema.", 0, cmd_migrate},
    {"keygen", FOR_KEYGEN, {" FILE", " --client FILE"}, "makes a master key, or the key of a client",
        "Writes a new 32-byte master key to FILE, which must not exist; or, with --client, the secret seed\n"
        "of a new client's key, and prints the public key for CLIENT_AUTH_PUBLIC_KEYS or CLIENTS_FILE.",
        1, cmd_keygen},
    {"token", FOR_TOKEN,
        {" [--audience PASSPHRASE] [--idempotency-key KEY] KEY_FILE METHOD TARGET [BODY_FILE]"},
        "prints a token for one request",
        "Prints a token for one request, valid for 15 s, signed with the secret seed in KEY_FILE; for\n"
        "curl -H \"Authorization: Bearer $(fairway token ...)\". TARGET is the path with its query.",
        4, cmd_token},
};

static const char exit_codes[] =
    "0 done; 1 refused, or a check failed; 64 usage; 66 input cannot be read;\n"
    "69 database or RPC unavailable; 70 internal error; 71 out of memory, threads or descriptors;\n"
    "73 keygen: file not written; 74 output not printed; 75 not now, or outcome unknown: repeat;\n"
    "78 configuration.\n";

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static void print_usage(const struct command *command, FILE *to)
{
    for (size_t i = 0; i < COMMAND_SYNOPSES && command->synopsis[i] != NULL; i++)
        fprintf(to, "%s fairway %s%s\n", i == 0 ? "usage:" : "      ", command->name, command->synopsis[i]);
}

static void print_options(unsigned commands_bits, FILE *to)
{
    size_t count;
    AUTO_FREE struct config_option *options = options_of(commands_bits, &count);
    fputs(
        "\nOptions: flag, environment variable, meaning [default]. The flag overrides the variable.\n\n", to);
    config_print(options, count, to);
}

void command_help(const struct command *command, FILE *to)
{
    print_usage(command, to);
    fprintf(to, "\n%s\n", command->help);
    print_options(command->options, to);
}

void command_help_all(FILE *to)
{
    fputs("fairway: signs Stellar transactions with leased channel accounts.\n\n"
          "usage: fairway COMMAND [OPTION]...\n"
          "       fairway COMMAND --help\n"
          "       fairway --version\n\n",
        to);
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        for (size_t k = 0; k < COMMAND_SYNOPSES && commands[i].synopsis[k] != NULL; k++)
            fprintf(to, "  fairway %s%s\n", commands[i].name, commands[i].synopsis[k]);
        fprintf(to, "      %s\n", commands[i].summary);
    }
    print_options(~0u, to);
    fprintf(to, "\nExit codes: %s", exit_codes);
}

int command_usage_error(const char *name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "fairway %s: ", name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    const struct command *command = command_find(name);
    if (command != NULL)
        print_usage(command, stderr);
    return EX_USAGE;
}

void command_put(const char *text, size_t len)
{
    for (const char *end = text + len; text < end;) {
        const size_t used = text_character_length(text);
        if (used == 0 || text_is_control(text))
            putchar('?');
        else
            fwrite(text, 1, used, stdout);
        text += used == 0 ? 1 : used;
    }
}

void command_print(int indent, const char *text)
{
    for (int column = indent; *text != '\0'; text += *text == ' ') {
        const int word = (int)strcspn(text, " ");
        const bool fits = column + 1 + word <= SCREEN_COLUMNS;
        if (column > indent)
            printf(fits ? " " : "\n%*s", indent, "");
        column = (column > indent && fits ? column + 1 : indent) + word;
        command_put(text, (size_t)word);
        text += word;
    }
    putchar('\n');
}

int command_failed(enum err e, const struct detail *detail, const char *message)
{
    log_error(message, "error=%s detail=\"%s\"", err_code(e), detail->text);
    switch (e) {
    case ERR_CONFIG:
    case ERR_CONSTRAINT:
    case ERR_REFUSED:
        return EX_CONFIG;
    case ERR_DATABASE_UNAVAILABLE:
    case ERR_RPC_UNAVAILABLE:
    case ERR_RPC_REFUSED: /* a node that is starting refuses requests for a while */
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
