/* Every option of every subcommand: name, kind, default, meaning with unit, other name, bounds. */
#ifndef FAIRWAY_OPTIONS_H
#define FAIRWAY_OPTIONS_H

#include "base/config.h"

static const struct config_option fairway_options[] = {
    /* database */
    {"DATABASE_URL", CONFIG_TEXT, NULL, "PostgreSQL, may lead through a transaction pooler", NULL, 0, 0},
    {"DATABASE_DIRECT_URL", CONFIG_TEXT, NULL, "PostgreSQL without a pooler (default: DATABASE_URL)", NULL, 0,
        0},
    {"DATABASE_FAILOVER", CONFIG_TEXT, "asynchronous",
        "\"synchronous\": a failover loses no commit, so that no grants are held back after it", NULL, 0, 0},
    /* network */
    {"RPC_URL", CONFIG_TEXT, NULL, "Stellar RPC", NULL, 0, 0},
    {"NETWORK_PASSPHRASE", CONFIG_TEXT, NULL,
        "the network's passphrase (default: the RPC's, once it is stored)", NULL, 0, 0},
    {"LEDGER_SECONDS", CONFIG_NUMBER, "6", "expected seconds between ledgers", NULL, 1, 60},
    /* keys */
    {"MASTER_KEY_FILE", CONFIG_SECRET, NULL, "file with the 32-byte master key (see keygen)", NULL, 0, 0},
    {"CHANNEL_ACCOUNT_ENCRYPTION_PASSPHRASE", CONFIG_SECRET, NULL, "passphrase instead of a key file", NULL,
        0, 0},
    {"DISTRIBUTION_ACCOUNT_PRIVATE_KEY", CONFIG_SECRET, NULL, "S... of the distribution account", NULL, 0, 0},
    {"DISTRIBUTION_ACCOUNT_PUBLIC_KEY", CONFIG_TEXT, NULL, "G... that the private key must belong to", NULL,
        0, 0},
    {"KEYD", CONFIG_TEXT, NULL, "path of fairway-keyd (default: beside fairway)", NULL, 0, 0},
    /* pool */
    {"NUM_CHANNEL_ACCOUNTS", CONFIG_NUMBER, "15", "accounts that ensure-accounts makes when no N is given",
        "NUMBER_CHANNEL_ACCOUNTS", 1, 100000},
    {"ENGINE_THREADS", CONFIG_NUMBER, "2", "threads that grant leases, one database connection each", NULL, 1,
        16},
    /* fees, in stroops */
    {"BASE_FEE", CONFIG_NUMBER, "100", "stroops an operation, of inner transactions", NULL, 100, 10000000},
    {"FEE_BUMP_BASE_FEE", CONFIG_NUMBER, "10000", "stroops an operation, that fee bumps offer", NULL, 100,
        100000000},
    {"MAX_FEE", CONFIG_NUMBER, "2000000",
        "stroops that a fee bump may cost at most, besides the resource fee", NULL, 200, 1000000000000},
    {"MAX_RESOURCE_FEE", CONFIG_NUMBER, "50000000",
        "stroops of resource fee that a Soroban transaction may declare", NULL, 0, 1000000000000},
    /* the distribution account's balance, in payments: what it can spend / (2 x FEE_BUMP_BASE_FEE) */
    {"LOW_BALANCE_PAYMENTS", CONFIG_NUMBER, "1000",
        "payments that the distribution account can still pay for, below which fairway warns", NULL, 0,
        1000000000},
    {"MIN_BALANCE_PAYMENTS", CONFIG_NUMBER, "100",
        "payments that the distribution account can still pay for, below which no lease is granted; 0: no "
        "limit",
        NULL, 0, 1000000000},
    /* http */
    {"PORT", CONFIG_NUMBER, "8001", "port of the API; 0: any free one", NULL, 0, 65535},
    {"LISTEN", CONFIG_TEXT, "0.0.0.0", "address of the API; a name: all of its addresses", NULL, 0, 0},
    {"AUTH", CONFIG_TEXT, NULL,
        "\"none\" says that nobody is authenticated (until JWT exists the only choice)", NULL, 0, 0},
    {"MAX_BODY", CONFIG_NUMBER, "262144", "bytes of a request body", NULL, 1024, 16777216},
    {"HTTP_THREADS", CONFIG_NUMBER, "2", "threads that read and write HTTP", NULL, 1, 64},
    {"MAX_CONNECTIONS", CONFIG_NUMBER, "1024",
        "connections to the API at a time; half of them may wait for a ledger, five eighths for a lease, "
        "three "
        "quarters for either",
        NULL, 1, 100000},
    {"MAX_CONNECTIONS_PER_ADDRESS", CONFIG_NUMBER, "0",
        "connections to the API of one client address (IPv6: one /64) at a time; 0: as many as there are, "
        "for "
        "services behind a proxy",
        NULL, 0, 100000},
    {"ADMIN_LISTEN", CONFIG_TEXT, "127.0.0.1",
        "address of the admin listener, which serves the probes whatever the API is busy with; \"off\": none",
        NULL, 0, 0},
    {"ADMIN_PORT", CONFIG_NUMBER, NULL,
        "port of the admin listener; 0: any free one (default: PORT + 1000, with PORT=0 any free one, above "
        "64535 PORT - 1000)",
        NULL, 0, 65535},
    /* ingestion */
    {"INGEST", CONFIG_TEXT, "on", "\"off\": serve does not ingest, another process does", NULL, 0, 0},
    {"INGEST_POLL_MS", CONFIG_NUMBER, "500", "milliseconds between looks for a ledger that is due", NULL, 20,
        10000},
    {"LEASE_RETENTION_DAYS", CONFIG_NUMBER, "7", "days that settled leases are kept", NULL, 1, 3650},
    /* of one command */
    {"STATE", CONFIG_FLAG, NULL,
        "accounts: only those that are idle, leased, creating, retiring, retired or quarantined", NULL, 0, 0},
    /* starting */
    {"START_TIMEOUT", CONFIG_NUMBER, "60", "seconds to wait for database and RPC at start", NULL, 1, 3600},
    {"LOG_LEVEL", CONFIG_TEXT, "info", "debug, info, warn or error", NULL, 0, 0},
};
#define FAIRWAY_OPTION_COUNT (sizeof fairway_options / sizeof fairway_options[0])

#endif
