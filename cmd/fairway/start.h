/* The steps in which a command starts, each in the file that is named. pool_access.c has their order. */
#pragma once

#include "base/log.h"
#include "pool_access.h"

/* ---- retry.c */

typedef enum err (*retry_step)(void *context, struct detail *detail);

/*
 * Runs step, and repeats it with growing pauses while the database or the RPC is unavailable or another
 * process has a lock, until deadline_ms (clock_ms) has passed. Logs the reason every 5 s. Returns the last
 * result; any other error, such as a wrong configuration, ends the retries.
 */
MUST_CHECK enum err retry_until(retry_step step, void *context, int64_t deadline_ms, struct detail *detail);

/* ---- confinement.c */

/* To be called before the command opens a connection or starts a thread, and after it has started the key
 * process of keyd_pidfd (-1: none). Logs what is restricted, at level info or, for a command that ends by
 * itself, debug. Errors: confine_enter. */
MUST_CHECK enum err confinement_enter(
    const struct config *config, int keyd_pidfd, enum log_level level, struct detail *detail);

/* ---- database.c */

/*
 * Connects to DATABASE_URL; the url of settings is not read. While the database is unavailable, retries until
 * deadline_ms (clock_ms). ERR_CONFIG: no URL is set, it leads through a pooler, or the server refuses user,
 * password or database. *out may be set after an error too; db_free it.
 */
MUST_CHECK enum err database_open(const struct config *config, const struct db_settings *settings,
    int64_t deadline_ms, struct db **out, struct detail *detail);

/* The same, and checks the schema, which is retried too. */
MUST_CHECK enum err database_open_pool(const struct config *config, const char *name, int64_t deadline_ms,
    struct db **out, struct detail *detail);

typedef enum err (*database_fn)(const struct config *config, struct db *db, struct detail *detail);
/* Runs a command that needs the database alone: confines the process, waits for the database for
 * START_TIMEOUT, checks the schema, and calls run. Returns the exit code; failed: the log's message. */
int database_run(const struct config *config, const char *name, database_fn run, const char *failed);

/* ---- key_process.c */

/* Starts fairway-keyd with out->limits. Call it before this process opens a socket. ERR_CONFIG: a secret is
 * missing or malformed. */
MUST_CHECK enum err key_process_start(
    const struct config *config, enum keyd_mode mode, struct pool_access *out, struct detail *detail);
/* Has it load its keys, and binds the database to the network and the distribution account. Retries until
 * deadline_ms (clock_ms). */
MUST_CHECK enum err key_process_load(
    enum keyd_mode mode, struct pool_access *out, int64_t deadline_ms, struct detail *detail);

/* ---- rpcs.c */

/*
 * Checks the URL, and that each RPC is of the network with this passphrase; ERR_CONFIG if one is not. Retries
 * until deadline_ms (clock_ms) while none of them answers. One that does not answer is only logged while
 * another does: ingestion compares what it says later (rpc/rpcs.h).
 */
MUST_CHECK enum err rpcs_check(
    const char *url, const char *passphrase, int64_t deadline_ms, struct detail *detail);
/* The same in one try, for a service that has started without an answer. */
MUST_CHECK enum err rpcs_check_once(
    const char *url, const char *passphrase, int64_t deadline_ms, struct detail *detail);
