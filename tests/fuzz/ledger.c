/* The metadata of a ledger. The input is a LedgerCloseMeta. */
#include "fuzz/fuzz.h"
#include "fuzz/xdr_mutator.h"
#include "stellar/ledger.h"
#include "stellar/return_value.h"
#include "xdr/xdr.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    return xdr_mutate(XDR_LedgerCloseMeta, data, size, max, seed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct bytes xdr = {data, size};
    const struct network_id network = network_id_of("fuzz");
    struct ledger ledger;
    struct detail detail = {0};
    xdr_count_arms(XDR_LedgerCloseMeta, data, size);
    enum err e = ledger_decode(xdr, &network, &ledger, &detail);
    if (e != ERR_OK) {
        RULE(ledger.transactions == NULL && ledger.operations == NULL);
        return 0;
    }
    RULE(xdr_check(XDR_LedgerCloseMeta, xdr) == ERR_OK);
    for (size_t i = 0; i < ledger.transaction_count; i++) {
        const struct ledger_transaction *transaction = &ledger.transactions[i];
        RULE(ledger.set_proved || !transaction->consumed);
        RULE(xdr_check(XDR_TransactionResult, transaction->result) == ERR_OK);
        const struct bytes value = return_value(transaction->result, transaction->meta);
        RULE(value.len == 0 || xdr_check(XDR_ScVal, value) == ERR_OK);
    }
    for (size_t i = 0; i < ledger.operation_count; i++)
        RULE(ledger.operations[i].transaction < ledger.transaction_count);
    ledger_free(&ledger);
    return 0;
}
