/*
 * How long things may take: every time limit of the service, and what waits for it. Those that an operator
 * sets are in cmd/fairway/options.c. Pauses and intervals that only pace a loop stand where the loop is.
 */
#pragma once

/* ---- a client's connection and request */
#define HTTP_HEAD_S 5             /* a request's head, from its first line */
#define HTTP_IDLE_S 30            /* a body; a reply; the next request */
#define HTTP_HEAD_GRACE_MS 250    /* a head, before its connection may be closed to make room for others */
#define HTTP_BODY_GRACE_MS 1000   /* the same for a body */
#define HTTP_REPLY_GRACE_MS 5000  /* the same for a reply to be read */
#define HTTP_LINGER_MS 2000       /* a refused client, to read the reply and to stop sending */
#define HTTP_FLUSH_MS 500         /* the last replies, when the server stops */
#define DB_ENDPOINT_REPLY_MS 2000 /* a read: an answer from the database, with the wait for a worker */
/* A query that has less time left is not begun: one that does not end in time costs its connection, and under
 * overload, when all are late, little would be answered. */
#define DB_WORKERS_BEGIN_MS 300
#define DB_WORKERS_SILENCE_MS 1500 /* no work has ended for so long: the database counts as unavailable */
#define ENGINE_WAIT_MS 6000      /* a lease, in the queue: for an idle account. Its client may ask for more */
#define ENGINE_BUMP_WAIT_MS 4500 /* the same for fee bumps, which wait for no account */
#define ENGINE_BATCH_MS 400      /* either, after its wait: the batch that has taken it */
#define ENGINE_LONG_BATCH_MS 900 /* the same after a wait that its client has asked for */
#define ENGINE_ANSWER_MS (ENGINE_WAIT_MS + ENGINE_BATCH_MS)
#define ENGINE_BUMP_ANSWER_MS (ENGINE_BUMP_WAIT_MS + ENGINE_BATCH_MS)
#define ENGINE_CONNECT_MS 2000 /* a batch, for a connection; an attempt goes on for the next batch */
#define ENGINE_SILENCE_MS 2000 /* no reply to a batch for so long: the database counts as unavailable */
/* A batch that fails earlier, and with more time left than this before its deadline, fails at once. */
#define ENGINE_AT_ONCE_MS 1000
#define ENGINE_RETRY_LEFT_MS 300
/* What a batch needs after its transactions are signed, to record them or to roll back, and by how much a
 * call of keyd may miss its deadline. */
#define SIGNING_SPARE_MS 300
/* The outcome of a lost COMMIT, when the connection has no deadline. When it has one: a third of the time
 * that is left when COMMIT is sent, and at most OUTCOME_SHARE_MS. */
#define OUTCOME_WAIT_MS 3000
#define OUTCOME_SHARE_MS 1500
#define WATCH_READ_MS 1800        /* a status, for the database, after the request's own deadline */
#define WATCH_FRESH_MS 2000       /* a status that was read earlier is not reported: it may have ended */
#define WATCH_CALL_MS 2000        /* a call of the database by the watch */
#define API_RPC_WAIT_MS 1000      /* a simulation or a read of signers, for others at the RPC */
#define API_RPC_CALL_MS 2000      /* its call of an RPC */
#define API_ANSWER_MS 2000        /* the answer, for a thread that reads it */
#define SUBMIT_CALL_MS 3000       /* sendTransaction, by an address of RPC_URL */
#define SUBMIT_QUEUE_MS 5000      /* its bytes, for others at the RPC; then they are due again */
#define SUBMIT_DATABASE_MS 2000   /* a call of the database by the submitter */
#define TRANSACTION_WAIT_MAX_S 60 /* ?wait= */
#define OUTCOME_COUNTS_MS 10000   /* what the last batch came to says nothing when it is older */
#define REPORT_FRESH_MS 100       /* no newer report of /readyz or /v1/pool is made */
#define REPORT_AGE_MS 5000        /* a report of /readyz or /v1/pool is not shown again when it is older */

/* ---- tokens */
#define AUTH_WINDOW_MAX_S 15 /* between a token's iat and its exp */
#define AUTH_SKEW_S 2        /* a client's clock from this host's */

/* ---- database sessions */
#define DB_CONNECT_S 5              /* each host of the URL */
#define DB_STATEMENT_MS 5000        /* statement_timeout */
#define DB_LOCK_MS 2000             /* lock_timeout */
#define DB_IDLE_TRANSACTION_MS 5000 /* idle_in_transaction_session_timeout */
/* An answer, after the server's own timeout; then the connection is lost. */
#define DB_ANSWER_MARGIN_MS 1000
/* A connection. libpq gives up earlier, after DB_CONNECT_S for each host, unless the resolver takes long. */
#define DB_CONNECT_MAX_MS 600000

/* ---- start, stop, commands */
#define START_RPC_MAX_MS 15000 /* an answer of the RPC at the start */
#define SERVE_RPC_MS 2000   /* the same for serve, which starts without it then; and of one RPC of several */
#define SERVE_DRAIN_MS 7000 /* open requests, at SIGTERM; waits for a ledger end at once */
#define HEALTH_TIMEOUT_MS 4000 /* fairway health; /readyz answers within 2.5 s */
#define MIGRATE_FILE_MS 600000 /* one file of the schema */
#define MIGRATE_RETRY_MS 60000 /* while another process migrates or holds a table lock */

/* ---- the key process */
#define KEYD_CALL_MS 4000   /* an answer. A batch takes milliseconds */
#define KEYD_LOAD_MS 30000  /* the answer to the secrets, which may derive a key for each row */
#define KEYD_SEEDS_MS 60000 /* its start, when it reads seeds to the end of standard input */
#define KEYD_END_MS 1000    /* its end, after it has closed its socket */
/* Every wait lasts so much longer than its deadline: this process may have been stopped, and the answer may
 * already be there. */
#define KEYD_GRACE_MS 100

/* ---- Stellar RPC */
#define RPC_TIMEOUT_MS 15000        /* a call, unless its caller has less time */
#define RPC_CONNECT_TIMEOUT_MS 5000 /* of it, to connect */
#define RPC_ENTRIES_RETRIES_MS 2000 /* retries of getLedgerEntries while the RPC publishes a ledger */
/* With several addresses in RPC_URL. An answer to a read is waited for as long as a ledger takes
 * (LEDGER_SECONDS). */
#define RPCS_AGAIN_MS 1000 /* one that has failed, until it is asked again */
/* What one RPC alone says, and no signature proves, is believed after so long. Below GRANTS_CLOCK_SLACK_S,
 * and not above INGEST_STALE_SLACK_S: grants go on, under the same leader. */
#define RPCS_ALONE_MS 20000

/* ---- ingestion */
/* With several addresses: one that does not answer is not waited for; nor is any, once another has answered
 * that the ledger has not closed. What comes later counts in the next call. */
#define FOLLOW_HANGS_MS 1000
#define FOLLOW_TIP_MS 100
/* One that was late, or served what is not the network's, is not waited for so long; doubled each time. */
#define FOLLOW_AWAY_S 5
#define FOLLOW_AWAY_MAX_S 60
/* A leader that commits nothing for so long, and LEDGER_SECONDS, although a ledger is due, is replaced. Above
 * RPC_TIMEOUT_MS, and below GRANTS_CLOCK_SLACK_S: grants go on. */
#define INGEST_STALE_SLACK_S 20
/* The lock of a session that a new leader has ended. The server's host may be busy. */
#define LEAD_LOCK_WAIT_MS 1000
#define GAP_LEASES_MS 20000  /* what became of the leases of a gap, one request each; the rest is consumed */
#define FUNDS_REREAD_MS 5000 /* the distribution account: each ledger's fees change its balance */
#define SETTLE_SEARCH_SECONDS 10 /* the next search of the pool for leases that may have expired */

/* ---- housekeeping */
/* Below deadlock_timeout, so that in a deadlock the janitor fails and not a ledger; and short, because grants
 * queue behind a step that waits to drop a table. */
#define JANITOR_LOCK_MS 200
#define JANITOR_STATEMENT_MS 1000 /* below DB_LOCK_MS: others may wait for the step */
#define JANITOR_CONNECT_S 2
#define SNAPSHOT_OLD_S 300 /* a snapshot that is older is warned of. No transaction of fairway takes 10 s */

/* ---- provisioning */
/* A few ledgers; also how long a transaction that is not included stays pending. */
#define PROVISIONING_VALID_S 60

/* ---- clocks */
#define GRANTS_CLOCK_SLACK_S 30 /* and LEDGER_SECONDS: the database's clock from the last close time */
/* keyd's clock behind what fairway counts from. Grants accept a database whose clock is up to 90 s off, with
 * the longest LEDGER_SECONDS; 30 s more for the clock of keyd's host. */
#define OWN_CLOCK_AHEAD_S 120
