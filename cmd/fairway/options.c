/* Each option of fairway stands here once: name, default, meaning and bounds; below the table, the rules
 * between options. No other file has a default. */
#include "options.h"

#include <inttypes.h>

#include "base/mem.h"

enum {
    WITH_DATABASE = /* commands that connect to it */
        FOR_SERVE | FOR_ENSURE_ACCOUNTS | FOR_IMPORT_ACCOUNTS | FOR_ROTATE_MASTER_KEY | FOR_ACCOUNTS |
        FOR_HOLD | FOR_LOCKS | FOR_MIGRATE | FOR_PAUSE | FOR_RESUME | FOR_CHECK,
    WITH_INGESTION = FOR_SERVE | FOR_ENSURE_ACCOUNTS | FOR_IMPORT_ACCOUNTS, /* commands that ingest */
    WITH_POOL = /* commands that start fairway-keyd and ask the RPC */
        WITH_INGESTION | FOR_ACCOUNTS | FOR_ROTATE_MASTER_KEY | FOR_CHECK,
};

#define BOUNDED(kind, name, fallback, help, min, max, readers)                                               \
    {                                                                                                        \
        {name, kind, fallback, help, min, max}, readers                                                      \
    }
#define OPTION(kind, name, fallback, help, readers) BOUNDED(kind, name, fallback, help, 0, 0, readers)
#define NUMBER(...) BOUNDED(CONFIG_NUMBER, __VA_ARGS__)
#define DURATION(...) BOUNDED(CONFIG_DURATION, __VA_ARGS__) /* in milliseconds */

/*
 * The comments say why an operator sets the options. What nobody has a reason to set is a constant. The
 * bounds are ours: beyond them is a mistake of units, or more than was measured. Two are not: ports are
 * TCP's, and FEE_BUMP_BASE_FEE begins with the network's least base fee, MAX_FEE with twice that (CAP-15).
 */
static const struct {
    struct config_option option;
    unsigned readers; /* ORed */
} option_rows[] = {
    /* Which database, and whether its failover may lose commits. */
    OPTION(CONFIG_URL, "DATABASE_URL", NULL, "PostgreSQL itself, not a pooler", WITH_DATABASE),
    OPTION(CONFIG_TEXT, "DATABASE_FAILOVER", "asynchronous",
        "\"synchronous\": every commit waits for the standby that may be promoted, so a failover causes no "
        "hold; or \"asynchronous\"",
        WITH_POOL),
    /* Networks differ in passphrase, validators and pace. */
    OPTION(CONFIG_URL, "RPC_URL", NULL,
        "Stellar RPC, http or https; up to 8, with commas between them, are compared", WITH_POOL),
    OPTION(CONFIG_TEXT, "RPC_HEADERS_FILE", NULL,
        "secret file of headers for RPCs, read again when it changes: lines as \"2: X-Api-Key: ...\" for "
        "address 2 of\n"
        "      RPC_URL, \"*: X-Api-Key: ...\" for all",
        WITH_POOL),
    OPTION(CONFIG_TEXT, "RPC_CA_FILE", NULL,
        "certificates (PEM) of the authorities that RPCs are checked by, instead of the system's", WITH_POOL),
    OPTION(CONFIG_TEXT, "NETWORK_PASSPHRASE", NULL,
        "passphrase of the network; the database and each RPC must be of that network:\n"
        "      \"Public Global Stellar Network ; September 2015\", \"Test SDF Network ; September 2015\" "
        "(testnet)",
        WITH_POOL),
    OPTION(CONFIG_TEXT, "TRUSTED_VALIDATORS", NULL,
        "file of the validators whose signatures prove ledgers, read again when it changes; without it, the\n"
        "      program's list for the public network and testnet; \"off\": none, so the RPC is believed",
        WITH_INGESTION | FOR_CHECK),
    DURATION("LEDGER_SECONDS", "6", "expected seconds between two ledgers", 100, 60000, WITH_POOL | FOR_HOLD),
    /* The installation's own secrets; a public key guards against the wrong one, KEYD is for packages. The
     * limits are what a captured process may cost. */
    OPTION(CONFIG_SECRET, "MASTER_KEY_FILE", NULL,
        "file with the 32-byte master key (fairway keygen makes one)", WITH_POOL),
    OPTION(CONFIG_SECRET, "OLD_MASTER_KEY_FILE", NULL,
        "the same, with the key that rotate-master-key replaces", WITH_POOL),
    OPTION(CONFIG_SECRET, "CHANNEL_ACCOUNT_ENCRYPTION_PASSPHRASE", NULL,
        "passphrase, instead of a master key file", WITH_POOL),
    OPTION(CONFIG_SECRET, "DISTRIBUTION_ACCOUNT_PRIVATE_KEY", NULL,
        "secret seed (S...) of the distribution account", WITH_POOL),
    OPTION(CONFIG_TEXT, "DISTRIBUTION_ACCOUNT_PUBLIC_KEY", NULL,
        "distribution account (G...); refused if the private key is another account's", WITH_POOL),
    OPTION(
        CONFIG_TEXT, "KEYD", NULL, "path of fairway-keyd (default: in the directory of fairway)", WITH_POOL),
    NUMBER("KEYD_MAX_FEES_PER_HOUR", "100000000000",
        "limit of what a replica's fee bumps of an hour may cost, in stroops; more get 503; at least "
        "MAX_FEE + MAX_RESOURCE_FEE",
        200, 1000000000000000, WITH_POOL),
    /* The load: leases that are open at a time, and cores of the host. */
    NUMBER("NUM_CHANNEL_ACCOUNTS", "15",
        "least size of the pool for ensure-accounts without N; serve logs when fewer accounts are active", 1,
        100000, FOR_SERVE | FOR_ENSURE_ACCOUNTS | FOR_CHECK),
    NUMBER("ENGINE_THREADS", "2", "threads that grant leases, with one database connection each", 1, 16,
        FOR_SERVE),
    /* What the network's fees are, and what one payment may cost. The margin: state that others change
     * meanwhile needs more, a call near the network's limits less. */
    NUMBER("FEE_BUMP_BASE_FEE", "10000", "stroops per operation that fee bumps offer", 100, 100000000,
        WITH_POOL),
    NUMBER("MAX_FEE", "2000000",
        "largest fee of a fee bump in stroops, without the resource fee; at least 2 x FEE_BUMP_BASE_FEE", 200,
        1000000000000, WITH_POOL),
    NUMBER("MAX_RESOURCE_FEE", "50000000", "largest resource fee of a Soroban transaction in stroops", 0,
        1000000000000, WITH_POOL),
    NUMBER("RESOURCE_MARGIN_PERCENT", "15",
        "percent that a contract call prepared by fairway may use, and pay, above what its simulation found",
        0, 100, FOR_SERVE),
    /* How fast the account is funded again. */
    NUMBER("LOW_BALANCE_PAYMENTS", "1000",
        "warn when the distribution account can pay for fewer payments, of 2 x FEE_BUMP_BASE_FEE each, than\n"
        "      this; at least MIN_BALANCE_PAYMENTS",
        0, 1000000000, WITH_POOL),
    NUMBER("MIN_BALANCE_PAYMENTS", "100",
        "grant no lease when it can pay for fewer of them than this; 0: no limit", 0, 1000000000, WITH_POOL),
    /* Where clients, probes and proxies reach it, who may send, and the memory and files of the host. A key
     * that is used on two networks needs audiences. */
    NUMBER(
        "PORT", "8001", "port of the API; 0: any free port", 0, 65535, FOR_SERVE | FOR_HEALTH | FOR_STATUS),
    OPTION(CONFIG_TEXT, "LISTEN", NULL,
        "address of the API; a name means all its addresses (default: 0.0.0.0; 127.0.0.1 with AUTH=none)",
        FOR_SERVE | FOR_HEALTH | FOR_STATUS),
    OPTION(CONFIG_TEXT, "AUTH", "jwt",
        "\"jwt\": each request has a token signed by a client's key; \"none\": no authentication",
        FOR_SERVE | FOR_HEALTH | FOR_STATUS | FOR_CHECK),
    OPTION(CONFIG_TEXT, "CLIENT_AUTH_PUBLIC_KEYS", NULL,
        "public keys (G...,G...) of clients with default limits", FOR_SERVE | FOR_CHECK),
    OPTION(CONFIG_TEXT, "CLIENTS_FILE", NULL,
        "JSON file of clients: names, keys, scopes, limits; read again when it changes, and at SIGHUP",
        FOR_SERVE | FOR_CHECK),
    OPTION(CONFIG_SWITCH, "CLIENT_AUTH_AUDIENCE", "off",
        "\"on\": each token must name the network's passphrase as its audience (aud)", FOR_SERVE | FOR_CHECK),
    NUMBER("MAX_CONNECTIONS", "1024",
        "open connections to the API; half of them may have ?wait=, five eighths ask for leases without it,\n"
        "      three quarters both",
        1, 100000, FOR_SERVE),
    OPTION(CONFIG_TEXT, "ADMIN_LISTEN", "127.0.0.1",
        "address of the admin listener, which serves probes, metrics and /status; \"off\": none",
        FOR_SERVE | FOR_HEALTH | FOR_STATUS),
    NUMBER("ADMIN_PORT", NULL,
        "port of the admin listener; 0: any free port (default: PORT + 1000, or PORT - 1000 above 64535; "
        "any\n"
        "      free port with PORT=0)",
        0, 65535, FOR_SERVE | FOR_HEALTH | FOR_STATUS),
    /* What the database's disk holds. */
    NUMBER("LEASE_RETENTION_DAYS", "7", "days that settled leases are kept", 1, 90, WITH_INGESTION),
    OPTION(
        CONFIG_FLAG_SWITCH, "DRY_RUN", NULL, "print what would be done, and do nothing", FOR_ENSURE_ACCOUNTS),
    OPTION(CONFIG_FLAG, "REASON", NULL,
        "why, for the list of events; that of a pause is in fairway status, too",
        FOR_PAUSE | FOR_RESUME | FOR_ACCOUNTS | FOR_IMPORT_ACCOUNTS | FOR_ENSURE_ACCOUNTS |
            FOR_ROTATE_MASTER_KEY),
    OPTION(CONFIG_FLAG_SWITCH, "JSON", NULL, "print /status.json as it is", FOR_STATUS),
    OPTION(CONFIG_FLAG_SWITCH, "CLIENT", NULL,
        "make a client's key: writes its secret seed, prints its public key", FOR_KEYGEN),
    OPTION(CONFIG_FLAG, "AUDIENCE", NULL, "passphrase of the network that the token is for", FOR_TOKEN),
    OPTION(CONFIG_FLAG, "IDEMPOTENCY_KEY", NULL, "the request's Idempotency-Key", FOR_TOKEN),
    /* What starts it, and what reads its log. */
    NUMBER("START_TIMEOUT", "60",
        "seconds to wait at start for the database, and for the RPC; serve starts without the RPC", 1, 3600,
        WITH_DATABASE & ~(unsigned)FOR_LOCKS),
    OPTION(CONFIG_TEXT, "LOG_LEVEL", "info", "debug, info, warn or error",
        WITH_DATABASE | FOR_KEYGEN | FOR_HEALTH | FOR_STATUS | FOR_TOKEN),
    OPTION(CONFIG_TEXT, "LOG_FORMAT", "logfmt",
        "form of the log's lines: logfmt, or json (one object with the same members)",
        WITH_DATABASE | FOR_KEYGEN | FOR_HEALTH | FOR_STATUS | FOR_TOKEN),
};

struct config_option *options_of(unsigned readers, size_t *count)
{
    struct config_option *out = NEW_ARRAY(ARRAY_LEN(option_rows), struct config_option);
    *count = 0;
    for (size_t i = 0; i < ARRAY_LEN(option_rows); i++)
        if ((option_rows[i].readers & readers) != 0)
            out[(*count)++] = option_rows[i].option;
    return out;
}

/* Options that contradict each other, although each value is within its own bounds. */
enum err options_check(const struct config *config, struct detail *detail)
{
    const uint64_t bump = config_number(config, "FEE_BUMP_BASE_FEE"), max = config_number(config, "MAX_FEE"),
                   resources = config_number(config, "MAX_RESOURCE_FEE");
    const struct {
        const char *name, *least_name, *least_is;
        uint64_t value, least;
    } rules[] = {
        {"MAX_FEE", "2 x FEE_BUMP_BASE_FEE", "what the fee bump of one operation costs", max, 2 * bump},
        {"KEYD_MAX_FEES_PER_HOUR", "MAX_FEE + MAX_RESOURCE_FEE", "the most that one fee bump may cost",
            config_number(config, "KEYD_MAX_FEES_PER_HOUR"), max + resources},
        {"LOW_BALANCE_PAYMENTS", "MIN_BALANCE_PAYMENTS", "at which leases are refused, before the warning",
            config_number(config, "LOW_BALANCE_PAYMENTS"), config_number(config, "MIN_BALANCE_PAYMENTS")},
    };
    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        if (rules[i].value < rules[i].least)
            return detail_set(detail, ERR_CONFIG,
                "%s=%" PRIu64 " is below %s=%" PRIu64 ", %s. Raise the first or lower the second",
                rules[i].name, rules[i].value, rules[i].least_name, rules[i].least, rules[i].least_is);
    return ERR_OK;
}
