/*
 * fairway: leases channel accounts to transactions, signs them, and ends each lease by the ledger that
 * decides it. This file reads the command line and runs the subcommand.
 */
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sysexits.h>

#include "base/log.h"
#include "base/mem.h"
#include "commands.h"
#include "db/db.h"
#include "keys/secrets.h"
#include "sandbox/confine.h"
#include "stellar/protocol.h"
#include "options.h"

/* Names each variable that looks like an option of any command, misspelt. Its value may be a secret. */
static void warn_of_variables(void)
{
    size_t count;
    AUTO_FREE struct config_option *options = options_of(~0u, &count);
    for (char **variable = environ; *variable != NULL; variable++) {
        AUTO_FREE char *name = mem_format("%.*s", (int)strcspn(*variable, "="), *variable);
        const char *likely = config_likely(options, count, name);
        if (likely != NULL)
            log_warn("an environment variable is no option, but its name is like one's; it has no effect",
                "variable=\"%.100s\" option=%s", name, likely);
    }
}

/* For the list of events: who runs this command, on which host, and why. */
static void name_actor(const struct command *command, const struct config *config)
{
    char host[HOST_NAME_MAX + 1] = "unknown";
    const char *sudo = getenv("SUDO_USER"), *user = sudo != NULL ? sudo : getenv("USER");
    const char *why = config_knows(config, "REASON") ? config_text(config, "REASON") : NULL;
    (void)!gethostname(host, sizeof host - 1);
    AUTO_FREE char *uid = mem_format("uid %u", (unsigned)getuid());
    AUTO_FREE char *who =
        mem_format("%.40s@%.60s, fairway %s", user != NULL ? user : uid, host, command->name);
    db_set_actor(who, why != NULL ? why : "");
}

static int bad_option(
    const struct command *command, const struct config *config, const char *name, const char *allowed)
{
    fprintf(stderr, "fairway %s: %s must be %s, not \"%s\"\n", command->name, name, allowed,
        config_text(config, name));
    return EX_CONFIG;
}

static int run_loaded(const struct command *command, const struct config *config)
{
    if (config_wants_help(config)) {
        command_help(command, stdout);
        return EX_OK;
    }
    if (config_argument_count(config) > command->max_arguments)
        return command_usage_error(
            command->name, "unexpected argument %zu", command->max_arguments + 1); /* it may be a seed */
    if (log_set_level(config_text(config, "LOG_LEVEL")) != ERR_OK)
        return bad_option(command, config, "LOG_LEVEL", "debug, info, warn or error");
    if (log_set_format(config_text(config, "LOG_FORMAT")) != ERR_OK)
        return bad_option(command, config, "LOG_FORMAT", "logfmt or json");
    if (config_knows(config, "DATABASE_URL")) { /* not for keygen, token, status and health */
        warn_of_variables();
        name_actor(command, config);
        db_set_url_file(getenv("DATABASE_URL_FILE"));
    }
    return command->run(config);
}

static int run(const struct command *command, int argc, char **argv)
{
    size_t count;
    AUTO_FREE struct config_option *options = options_of(command->options, &count);
    struct config *config = NULL;
    struct detail detail = {0};
    if (config_load(options, count, argc, argv, &config, &detail) != ERR_OK)
        return command_usage_error(command->name, "%s", detail.text);
    int code = run_loaded(command, config);
    config_free(config);
    return code;
}

static void print_version(FILE *to)
{
    fprintf(to, "fairway %s (commit %s, protocol %d)\n", version_text(), version_commit(), PROTOCOL_KNOWN);
}

static const struct {
    const char *flag;
    void (*print)(FILE *to);
} pages[] = {
    {"--help", command_help_all},
    {"-h", command_help_all},
    {"--version", print_version},
};

static int unexpected(const char *page)
{
    fprintf(stderr, "fairway: unexpected argument after %s (see fairway --help)\n", page);
    return EX_USAGE;
}

/* Out of memory ends the process. jansson would return an error, and a reply would lack a member. */
static void *json_memory(size_t size)
{
    return mem_grow(NULL, size, 1);
}

static int run_program(int argc, char **argv)
{
    struct detail detail = {0};
    confine_hide();
    json_set_alloc_funcs(json_memory, free);
    json_object_seed(0);      /* once, before threads make objects */
    signal(SIGPIPE, SIG_IGN); /* write(2) reports a closed connection instead */
    if (secrets_hide(argv, &detail) != ERR_OK) {
        fprintf(stderr, "fairway: %s\n", detail.text);
        return EX_CONFIG;
    }
    if (argc < 2) {
        command_help_all(stderr);
        return EX_USAGE;
    }
    for (size_t i = 0; i < ARRAY_LEN(pages); i++)
        if (strcmp(argv[1], pages[i].flag) == 0) {
            if (argc > 2)
                return unexpected(pages[i].flag);
            pages[i].print(stdout);
            return EX_OK;
        }
    const struct command *command = command_find(argv[1]);
    if (command != NULL)
        return run(command, argc - 1, argv + 1);
    fprintf(stderr, "fairway: unknown command \"%s\" (see fairway --help)\n", argv[1]);
    return EX_USAGE;
}

/* Without exit handlers: that of libcrypto frees what a thread uses that still opens a session for which
 * nobody waits any more. */
int main(int argc, char **argv)
{
    const int code = run_program(argc, argv);
    fflush(NULL);
    _exit(code);
}
