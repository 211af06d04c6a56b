/*
 * Every function that can fail returns enum err; ERR_OK is 0. Each line of the table has the name in C, the
 * code in the HTTP API, the HTTP status and a sentence for the client. There are three families: faults of
 * the caller (4xx), of the environment (503: a retry may help), and bugs (500).
 */
#pragma once

#include <stdbool.h>

#define ERR_TABLE(X)                                                                                         \
    X(OK, "OK", 200, "Done.")                                                                                \
    /* faults of the caller */                                                                               \
    X(INVALID_REQUEST, "INVALID_REQUEST", 400, "The request is not well formed.")                            \
    X(INVALID_JSON, "INVALID_JSON", 400, "The body is not the JSON object that this path expects.")          \
    X(INVALID_HASH, "INVALID_HASH", 400, "A transaction hash is 64 hexadecimal digits.")                     \
    X(INVALID_TRANSACTION_XDR, "INVALID_TRANSACTION_XDR", 400,                                               \
        "transactionXdr is not a base64 TransactionEnvelope.")                                               \
    X(INVALID_TRANSACTION, "INVALID_TRANSACTION", 400,                                                       \
        "The transaction's preconditions cannot be met or kept.")                                            \
    X(INVALID_OPERATION_STRUCTURE, "INVALID_OPERATION_STRUCTURE", 400,                                       \
        "The operations cannot be signed as they are.")                                                      \
    X(INVALID_SOROBAN_TRANSACTION, "INVALID_SOROBAN_TRANSACTION", 400,                                       \
        "The Soroban transaction cannot be signed.")                                                         \
    X(FORBIDDEN_SIGNER, "FORBIDDEN_SIGNER", 400,                                                             \
        "The transaction would use the authority of a channel account or of the distribution account.")      \
    X(SIGNATURE_MISSING, "SIGNATURE_MISSING", 400, "An authorization entry is not signed.")                  \
    X(SOURCE_CREDENTIALS_NOT_ALLOWED, "SOURCE_CREDENTIALS_NOT_ALLOWED", 400,                                 \
        "An authorization entry would use the authority of the channel account.")                            \
    X(AUTHORIZATION_EXPIRES, "AUTHORIZATION_EXPIRES", 400,                                                   \
        "An authorization entry has expired, or expires before the transaction could be included.")          \
    X(SIMULATION_FAILED, "SIMULATION_FAILED", 400, "The transaction fails when it is simulated.")            \
    X(NOTHING_TO_SUBMIT, "NOTHING_TO_SUBMIT", 400, "The call only reads; its value is in returnValue.")      \
    X(RESOURCES_OUTDATED, "RESOURCES_OUTDATED", 400,                                                         \
        "The ledger has changed since the transaction's resources were found: prepare it again.")            \
    X(FEE_BUMP_TX_NOT_ALLOWED, "FEE_BUMP_TX_NOT_ALLOWED", 400, "The transaction is a fee bump already.")     \
    X(FEE_EXCEEDS_MAXIMUM, "FEE_EXCEEDS_MAXIMUM", 400, "The fee is above the maximum.")                      \
    X(FEE_BELOW_MINIMUM, "FEE_BELOW_MINIMUM", 400, "The fee is below the minimum.")                          \
    X(NO_SIGNATURES_PROVIDED, "NO_SIGNATURES_PROVIDED", 400, "The transaction lacks the user's signature.")  \
    X(CLIENT_SIGNATURE_INVALID, "CLIENT_SIGNATURE_INVALID", 400,                                             \
        "No signature of the user is valid for this transaction on this network.")                           \
    X(CHANNEL_SIGNATURE_MISSING, "CHANNEL_SIGNATURE_MISSING", 400,                                           \
        "The transaction lacks the channel account's signature.")                                            \
    X(NOT_ELIGIBLE, "ACCOUNT_NOT_ELIGIBLE_FOR_BEING_SPONSORED", 400,                                         \
        "The source account is not a channel account.")                                                      \
    X(UNAUTHORIZED, "UNAUTHORIZED", 401, "The token is not signed with the key of a client.")                \
    X(FORBIDDEN, "FORBIDDEN", 403, "This client may not use this path.")                                     \
    X(NOT_FOUND, "NOT_FOUND", 404, "There is nothing at this path.")                                         \
    X(TRANSACTION_NOT_FOUND, "TRANSACTION_NOT_FOUND", 404, "No lease and no fee bump has this hash.")        \
    X(LEASE_NOT_FOUND, "LEASE_NOT_FOUND", 404, "No lease has this transaction's hash.")                      \
    X(METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", 405, "The path does not support this method.")               \
    X(AUTHORIZATION_LEASED, "AUTHORIZATION_LEASED", 409, "A transaction has this authorization already.")    \
    X(AUTHORIZATION_USED, "AUTHORIZATION_USED", 409, "The network has executed this authorization already.") \
    X(IDEMPOTENCY_CONFLICT, "IDEMPOTENCY_CONFLICT", 409, "The Idempotency-Key was used with another body.")  \
    X(TRANSACTION_CHANGED, "TRANSACTION_CHANGED", 409, "The transaction was changed after it was leased.")   \
    X(LEASE_EXPIRED, "LEASE_EXPIRED", 409,                                                                   \
        "The lease has expired: no ledger includes the transaction, and none can any more.")                 \
    X(LEASE_SETTLED, "LEASE_SETTLED", 409, "The lease has ended: the network has decided the transaction.")  \
    X(LIMIT_REACHED, "LIMIT_REACHED", 409, "A limit of this client is reached, and waiting does not help.")  \
    X(CURSOR_TOO_OLD, "CURSOR_TOO_OLD", 410, "The cursor is older than what is kept.")                       \
    X(LENGTH_REQUIRED, "LENGTH_REQUIRED", 411, "The request needs a Content-Length header.")                 \
    X(BODY_TOO_LARGE, "BODY_TOO_LARGE", 413, "The body is larger than this path allows.")                    \
    X(UNSUPPORTED_MEDIA_TYPE, "UNSUPPORTED_MEDIA_TYPE", 415, "The body must be application/json.")           \
    X(LIMIT_EXCEEDED, "LIMIT_EXCEEDED", 429, "A limit of this client is reached.")                           \
    /* faults of the environment */                                                                          \
    X(CHANNEL_ACCOUNT_UNAVAILABLE, "CHANNEL_ACCOUNT_UNAVAILABLE", 503, "Every channel account is leased.")   \
    X(GRANTS_SUSPENDED, "GRANTS_SUSPENDED", 503,                                                             \
        "No lease is granted until ledgers are verified, or an operator resumes.")                           \
    X(DISTRIBUTION_ACCOUNT_UNDERFUNDED, "DISTRIBUTION_ACCOUNT_UNDERFUNDED", 503,                             \
        "The distribution account cannot pay for more transactions: its operator has to fund it.")           \
    X(OVERLOADED, "OVERLOADED", 503, "Too many requests are waiting.")                                       \
    X(SHUTTING_DOWN, "SHUTTING_DOWN", 503, "This replica is stopping.")                                      \
    X(OUTCOME_UNKNOWN, "OUTCOME_UNKNOWN", 503,                                                               \
        "The request may have been carried out; repeat it, with the same Idempotency-Key if it had one.")    \
    X(NOT_REPLICATED, "NOT_REPLICATED", 503,                                                                 \
        "The request was carried out, but the standby may not have it yet; repeat it, with the same "        \
        "Idempotency-Key if it had one.")                                                                    \
    X(DATABASE_UNAVAILABLE, "DATABASE_UNAVAILABLE", 503, "The database is unavailable.")                     \
    X(RPC_UNAVAILABLE, "RPC_UNAVAILABLE", 503, "Stellar RPC is unavailable.")                                \
    X(KEYD_UNAVAILABLE, "SIGNER_UNAVAILABLE", 503, "The key process does not answer.")                       \
    X(KEYD_CLOCK, "SIGNER_CLOCK_WRONG", 503,                                                                 \
        "The clocks of the database and of the key process are too far apart.")                              \
    X(KEYD_BUDGET, "SIGNER_BUDGET_EXCEEDED", 503,                                                            \
        "The signing budget of the key process is used up for now.")                                         \
    X(RPC_REFUSED, "RPC_REFUSED", 503, "Stellar RPC refused the request.")                                   \
    X(LEDGER_AHEAD, "LEDGER_AHEAD", 503, "The ledger has not closed yet.")                                   \
    X(LEDGER_GAP, "LEDGER_GAP", 503, "Stellar RPC no longer has the next ledger.")                           \
    X(LEDGER_MISMATCH, "LEDGER_MISMATCH", 503, "The ledger does not follow from the last one committed.")    \
    X(NOT_LEADER, "NOT_LEADER", 503, "Another replica ingests.")                                             \
    /* bad data; the caller of the function that returns these decides whose fault it is */                  \
    X(XDR_TRUNCATED, "XDR_TRUNCATED", 500, "XDR ends early.")                                                \
    X(XDR_TRAILING, "XDR_TRAILING", 500, "Bytes follow the XDR value.")                                      \
    X(XDR_INVALID, "XDR_INVALID", 500, "The XDR does not match its type.")                                   \
    X(XDR_UNKNOWN_ARM, "XDR_UNKNOWN_ARM", 500,                                                               \
        "XDR has an unknown union arm or enum value, perhaps of a newer protocol.")                          \
    X(XDR_TOO_DEEP, "XDR_TOO_DEEP", 500, "XDR is nested too deeply.")                                        \
    X(MALFORMED, "MALFORMED", 500, "A value is malformed.")                                                  \
    X(SEAL_BROKEN, "SEAL_BROKEN", 500, "A sealed seed does not open.")                                       \
    X(CONFIG, "CONFIG", 500, "The configuration is wrong.")                                                  \
    X(REFUSED, "REFUSED", 500, "The command is refused.")                                                    \
    X(NOT_YET, "NOT_YET", 503, "Not now; repeat it later.")                                                  \
    /* an SQL constraint or a trigger's RAISE EXCEPTION rejected the statement */                            \
    X(CONSTRAINT, "CONFLICT", 500, "A row is not in the state that this statement needs.")                   \
    /* the server rolled the transaction back; running the same transaction again may succeed */             \
    X(SERIALIZATION, "TRY_AGAIN", 503, "The transaction was rolled back and may be tried again.")            \
    X(CANCELLED, "CANCELLED", 503, "The caller went away.")                                                  \
    /* bugs */                                                                                               \
    X(INTERNAL, "INTERNAL", 500, "Internal error.")

enum err {
#define X(name, code, status, text) ERR_##name,
    ERR_TABLE(X)
#undef X
};

#define ERR_COUNT (ERR_INTERNAL + 1)

#define MUST_CHECK __attribute__((warn_unused_result))

/* The code that the HTTP API and the log use. Never NULL. */
const char *err_code(enum err e);

/* The HTTP status: 200 for ERR_OK, else 4xx, 500 or 503. */
int err_status(enum err e);

/* One English sentence that clients may read. Never NULL. */
const char *err_text(enum err e);

/* Whether a start or a background task tries again later: something is unavailable, or not so far yet. */
bool err_is_transient(enum err e);

/*
 * Which item is wrong and why. The function that returns the error writes it; it is cut to fit and never has
 * a secret. Clients see it only when the error is a fault of the caller.
 */
struct detail {
    char text[200];
};

/* Writes the formatted sentence to *detail (may be NULL). */
void detail_write(struct detail *detail, const char *format, ...) __attribute__((format(printf, 2, 3)));

static inline enum err detail_result(enum err e)
{
    return e;
}

/* detail_write, and returns e. A macro, so that an analyzer sees which error it returns. */
#define detail_set(detail, e, ...) (detail_write((detail), __VA_ARGS__), detail_result(e))
