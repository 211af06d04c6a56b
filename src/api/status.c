/* Writes the status of a lease. Nothing is looked up: a member that is not known is left out. */
#include "status.h"

#include <string.h>

#include "reply.h"
#include "stellar/result.h"
#include "stellar/return_value.h"
#include "xdr/xdr.h"

static void write_bids(struct json_write *out, const struct lease_status *status)
{
    json_write_open(out, "bids", '[');
    for (size_t i = 0; i < status->bid_count; i++) {
        json_write_open(out, NULL, '{');
        api_write_hash(out, "hash", &status->bids[i].hash);
        json_write_decimal(out, "fee", status->bids[i].fee_stroops);
        json_write_close(out, '}');
    }
    json_write_close(out, ']');
}

static enum err write_operation(struct bytes result, void *context)
{
    json_write_text(context, NULL, xdr_result_name(result));
    return ERR_OK;
}

/* The database has what ledger_decode or the RPC's client has validated. */
static void write_result(struct json_write *out, struct bytes result)
{
    struct xdr_reader in = xdr_reader(result);
    json_write_decimal(out, "feeCharged", result_fee_charged(result));
    json_write_open(out, "operationResults", '[');
    (void)!xdr_each(&in, XDR_TransactionResult, XDR_OperationResult, write_operation, out);
    json_write_close(out, ']');
    json_write_base64(out, "resultXdr", result);
}

/* As the node that has rejected it says. */
static void write_rejected(struct json_write *out, struct bytes result)
{
    json_write_open(out, "rejected", '{');
    json_write_text(out, "resultCode", result_code_name(result_code(result)));
    write_result(out, result);
    json_write_close(out, '}');
}

/* The word of the RPC that has told the ledger. What says that a nonce was used may have been cut off. */
static void write_failure(struct json_write *out, struct bytes events)
{
    struct xdr_reader in = xdr_reader(events);
    struct bytes event;
    if (return_value_nonce_used(events))
        json_write_bool(out, "authorizationUsed", true);
    json_write_open(out, "failure", '[');
    while (in.at < in.end && (event = xdr_take(&in, XDR_DiagnosticEvent)).len > 0)
        json_write_base64(out, NULL, event);
    json_write_close(out, ']');
}

void api_begin_status(struct json_write *out, const struct lease_status *status)
{
    json_write_begin(
        out, STATUS_ROOM + (status->result.len + status->return_value.len + status->envelope.len) * 3 / 2);
    api_write_status(out, status);
}

void api_write_status(struct json_write *out, const struct lease_status *status)
{
    api_write_hash(out, "hash", &status->hash);
    json_write_text(out, "status", status->status);
    json_write_text(out, "channelAccount", status->account);
    json_write_decimal(out, "sequence", status->sequence);
    json_write_decimal(out, "maxTime", status->max_time_s);
    if (status->reference != NULL)
        json_write_text(out, "reference", status->reference);
    if (status->envelope.len > 0)
        json_write_base64(out, "transactionXdr", buf_bytes(&status->envelope));
    if (status->rejected.len > 0)
        write_rejected(out, buf_bytes(&status->rejected));
    if (status->ledger == 0)
        write_bids(out, status);
    else
        json_write_number(out, "ledger", status->ledger);
    if (status->closed_at_s > 0)
        json_write_decimal(out, "closedAt", status->closed_at_s);
    if (status->has_ledger_hash)
        api_write_hash(out, "ledgerHash", &status->ledger_hash);
    if (status->result_code[0] != '\0')
        json_write_text(out, "resultCode", status->result_code);
    if (status->result.len > 0)
        write_result(out, buf_bytes(&status->result));
    if (status->return_value.len > 0 && strcmp(status->status, "failed") == 0)
        write_failure(out, buf_bytes(&status->return_value));
    else if (status->return_value.len > 0)
        json_write_base64(out, "returnValue", buf_bytes(&status->return_value));
}
