// Applying the transactions of a ledger: first all pay their fees, then each consumes its sequence number and runs its
// operations, all of them or none. (core: LedgerManagerImpl::processFeesSeqNums, TransactionFrame::apply)

import { nonRefundableFee } from './contracts/fees.mjs';
import { accountKey } from './entries.mjs';
import { addBalance } from './reserves.mjs';
import { Op, Outcome, Tx, isSuccess, operationError } from './results.mjs';
import { recordSequence } from './sequence.mjs';
import { SignatureChecker } from './signatures.mjs';
import { hasOpenSponsorship } from './sponsorship.mjs';
import { Layer } from './state.mjs';
import { Standing, assess, authorizationError } from './validity.mjs';

/** Charges the fee: at most what the set's base fee requires, and at most the balance. */
export const chargeFee = (transaction, ledgerLayer, baseFee) => {
  const layer = new Layer(ledgerLayer);
  const payer = layer.load(accountKey(transaction.feeSource));
  const asked = baseFee * BigInt(Math.max(1, transaction.operationCount)) + transaction.resourceFee;
  const bid = transaction.fee < asked ? transaction.fee : asked;
  const fee = bid < payer.balance ? bid : payer.balance;
  payer.balance -= fee;
  const changes = layer.changes();
  layer.commit();
  return { outcome: new Outcome(transaction, fee), changes };
};

/** Core touches the fee source once more before the inner transaction, in case its signer was a one-time one. */
const beforeFeeBump = (feeBump, ledgerLayer) => {
  const layer = new Layer(ledgerLayer);
  layer.load(accountKey(feeBump.feeSource));
  const changes = layer.changes();
  layer.commit();
  return changes;
};

const checkAuthorization = (transaction, layer, checker, outcome) => {
  transaction.operations.forEach((operation, index) => {
    const error = authorizationError(operation, layer, checker);
    if (!error) return;
    outcome.operations[index] = error;
    outcome.fail(Tx.FAILED);
  });
};

/** Consumes the sequence number if the transaction gets that far. The outcome says whether its operations may run. */
const begin = (transaction, ledgerLayer, verifier, outcome, isFeeBump) => {
  const layer = new Layer(ledgerLayer);
  const { ledger } = layer;
  const checker = new SignatureChecker(transaction, verifier);
  const standing = assess(transaction, layer, ledger, checker, outcome, { chargeFee: !isFeeBump, applying: true });
  if (standing >= Standing.CONSUMES)
    recordSequence(ledger, layer.load(accountKey(transaction.source)), transaction.sequence);
  if (standing === Standing.VALID) checkAuthorization(transaction, layer, checker, outcome);
  if (outcome.ok && !checker.allUsed()) outcome.fail(Tx.BAD_AUTH_EXTRA);
  const changes = layer.changes();
  layer.commit();
  return changes;
};

const applyOperation = (operation, layer, context) => {
  if (!layer.peek(accountKey(operation.source))) return operationError(Op.NO_ACCOUNT);
  return operation.validate() ?? operation.apply(layer, context);
};

/** Runs the operations. Returns the changes of each, or none at all if one failed. */
const runOperations = (transaction, ledgerLayer, verifier, outcome, effects) => {
  const transactionLayer = new Layer(ledgerLayer);
  const changes = [];
  transaction.operations.forEach((operation, index) => {
    const layer = new Layer(transactionLayer);
    const result = applyOperation(operation, layer, { transaction, verifier, effects });
    outcome.operations[index] = result;
    if (!isSuccess(result)) {
      outcome.fail(Tx.FAILED);
      return;
    }
    changes.push(layer.changes());
    layer.commit();
  });
  if (!outcome.ok) return [];
  if (hasOpenSponsorship(transactionLayer)) {
    outcome.fail(Tx.BAD_SPONSORSHIP);
    return [];
  }
  transactionLayer.commit();
  return changes;
};

/**
 * Refunds the part of a contract call's resource fee that was not used, after all transactions of the ledger are applied.
 * Returns the changes. (core: refundSorobanFee)
 */
export const refundFee = (transaction, ledgerLayer, outcome, effects) => {
  if (!transaction.isSoroban) return [];
  const layer = new Layer(ledgerLayer);
  const payer = layer.load(accountKey(transaction.feeSource));
  const { sorobanData, xdr } = transaction.innermost;
  const refund = transaction.resourceFee - nonRefundableFee(sorobanData.resources, xdr.length) - (effects.refundable ?? 0n);
  if (!payer || refund <= 0n || !addBalance(layer.ledger, payer, refund)) return [];
  outcome.feeCharged -= refund;
  const changes = layer.changes();
  layer.commit();
  return changes;
};

/**
 * Applies a transaction whose fee is paid. Sets its outcome and returns what changed before and by its operations, and the
 * effects of a contract call: `events`, `returnValue` and `refundable` (the used part of its refundable fee), or `diagnostics`
 * (the reason as events).
 */
export const applyTransaction = (transaction, ledgerLayer, verifier, outcome) => {
  const { isFeeBump, innermost } = transaction;
  const before = isFeeBump ? beforeFeeBump(transaction, ledgerLayer) : [];
  before.push(...begin(innermost, ledgerLayer, verifier, outcome, isFeeBump));
  const effects = {};
  const operations = outcome.ok ? runOperations(innermost, ledgerLayer, verifier, outcome, effects) : [];
  return { before, operations, effects: outcome.ok ? effects : { diagnostics: effects.diagnostics } };
};
