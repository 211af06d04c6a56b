// Whether a transaction may be in a ledger. (core: TransactionFrame::commonValid, FeeBumpTransactionFrame::checkValid)
//
// Checked twice: when it is submitted or nominated, for the whole envelope, and when it is applied, because an earlier transaction
// of the same ledger may have changed the state.

import { accountKey } from './entries.mjs';
import { availableBalance } from './reserves.mjs';
import { Op, Outcome, Tx, operationError } from './results.mjs';
import { isBadSequence, isTooEarlyForAccount } from './sequence.mjs';
import { ED25519, SignatureChecker } from './signatures.mjs';
import { sorobanError } from './soroban-validity.mjs';
import { encode } from './xdr.mjs';

const thresholdIndex = { low: 1, medium: 2, high: 3 };

/** How far a transaction got. From CONSUMES on, it consumes its sequence number in a ledger. */
export const Standing = Object.freeze({ INVALID: 0, CONSUMES: 1, VALID: 2 });

/** The minimum fee for inclusion. */
export const minFee = (ledger, { operationCount }) => ledger.baseFee * BigInt(Math.max(1, operationCount));

const hasBadExtraSigners = ({ extraSigners }) =>
  extraSigners.length === 2 && encode('SignerKey', extraSigners[0]).equals(encode('SignerKey', extraSigners[1]));

/** The rules that do not depend on the source account. `late` seconds are added to the close time for the check of max time. */
const formError = (transaction, view, ledger, { chargeFee, late }) => {
  const { operations, minTime, maxTime, minLedger, maxLedger } = transaction;
  if (hasBadExtraSigners(transaction)) return Tx.MALFORMED;
  if (transaction.extraSigners.some(({ type }) => type !== ED25519)) return Tx.NOT_SUPPORTED;
  if (operations.length === 0) return Tx.MISSING_OPERATION;
  const contractError = transaction.isSoroban ? sorobanError(transaction, chargeFee) : null;
  if (contractError !== null) return contractError;
  if (!transaction.isSoroban && transaction.sorobanData) return Tx.MALFORMED;
  if (minTime > ledger.closeTime || minLedger > ledger.sequence) return Tx.TOO_EARLY;
  if (maxTime !== 0n && maxTime < ledger.closeTime + late) return Tx.TOO_LATE;
  if (maxLedger !== 0 && maxLedger <= ledger.sequence) return Tx.TOO_LATE;
  if (chargeFee && transaction.inclusionFee < minFee(ledger, transaction)) return Tx.INSUFFICIENT_FEE;
  if (!view.peek(accountKey(transaction.source))) return Tx.NO_ACCOUNT;
  return null;
};

/**
 * Sets the outcome of an invalid transaction, and returns how far it got. A fee bump's inner transaction is not charged; while
 * applying, the fee is already paid.
 */
export const assess = (transaction, view, ledger, checker, outcome, { chargeFee, applying = false, late = 0n }) => {
  const error = formError(transaction, view, ledger, { chargeFee, late });
  if (error !== null) {
    outcome.fail(error);
    return Standing.INVALID;
  }
  const source = view.peek(accountKey(transaction.source));
  if (isBadSequence(ledger, source, transaction)) {
    outcome.fail(Tx.BAD_SEQ);
    return Standing.INVALID;
  }
  if (isTooEarlyForAccount(ledger, source, transaction)) outcome.fail(Tx.BAD_MIN_SEQ_AGE_OR_GAP);
  else if (!checker.accountMeets(source, source.thresholds[thresholdIndex.low])) outcome.fail(Tx.BAD_AUTH);
  else if (!checker.extraSignersMeet(transaction.extraSigners)) outcome.fail(Tx.BAD_AUTH);
  else if (chargeFee && availableBalance(ledger, source) < (applying ? 0n : transaction.fee))
    outcome.fail(Tx.INSUFFICIENT_BALANCE);
  return outcome.ok ? Standing.VALID : Standing.CONSUMES;
};

/** The error of an operation whose source's signers do not meet its threshold, or null. */
export const authorizationError = (operation, view, checker) => {
  const account = view.peek(accountKey(operation.source));
  if (account) {
    return checker.accountMeets(account, account.thresholds[thresholdIndex[operation.level]])
      ? null
      : operationError(Op.BAD_AUTH);
  }
  if (!operation.hasOwnSource) return operationError(Op.NO_ACCOUNT);
  return checker.masterSigned(operation.source) ? null : operationError(Op.BAD_AUTH);
};

const checkOperations = (operations, view, checker, outcome) => {
  for (const [index, operation] of operations.entries()) {
    const error =
      (operation.isSupported ? null : operationError(Op.NOT_SUPPORTED)) ??
      authorizationError(operation, view, checker) ??
      operation.validate();
    if (!error) continue;
    outcome.operations[index] = error;
    outcome.fail(Tx.FAILED);
    return;
  }
};

const checkInnermost = (transaction, view, ledger, verifier, outcome, options) => {
  const checker = new SignatureChecker(transaction, verifier);
  if (assess(transaction, view, ledger, checker, outcome, options) !== Standing.VALID) return;
  checkOperations(transaction.operations, view, checker, outcome);
  if (outcome.ok && !checker.allUsed()) outcome.fail(Tx.BAD_AUTH_EXTRA);
};

/** A fee bump must pay at least the rate of its inner transaction. Null, or the required fee. */
const neededFee = (feeBump, ledger) => {
  const own = minFee(ledger, feeBump);
  const inner = minFee(ledger, feeBump.inner);
  const bid = feeBump.inner.inclusionFee * own;
  return feeBump.inclusionFee * inner >= bid ? null : (bid + inner - 1n) / inner + feeBump.resourceFee;
};

const checkFeeBump = (feeBump, view, ledger, verifier, outcome) => {
  const checker = new SignatureChecker(feeBump, verifier);
  if (feeBump.inclusionFee < minFee(ledger, feeBump)) return outcome.failOuter(Tx.INSUFFICIENT_FEE);
  const needed = neededFee(feeBump, ledger);
  if (needed !== null) return outcome.failOuter(Tx.INSUFFICIENT_FEE, needed);
  const payer = view.peek(accountKey(feeBump.feeSource));
  if (!payer) return outcome.failOuter(Tx.NO_ACCOUNT);
  if (!checker.accountMeets(payer, payer.thresholds[thresholdIndex.low])) return outcome.failOuter(Tx.BAD_AUTH);
  if (availableBalance(ledger, payer) < feeBump.fee) return outcome.failOuter(Tx.INSUFFICIENT_BALANCE);
  if (!checker.allUsed()) return outcome.failOuter(Tx.BAD_AUTH_EXTRA);
  return outcome;
};

/** The outcome that a submitted envelope would have in a ledger, as far as it can be known before it is applied. */
export const checkValid = (transaction, view, ledger, verifier, late = 0n) => {
  const outcome = new Outcome(transaction, minFee(ledger, transaction) + transaction.resourceFee);
  if (transaction.fee < 0n) return outcome.failOuter(Tx.MALFORMED, 0n);
  if (transaction.isFeeBump && !checkFeeBump(transaction, view, ledger, verifier, outcome).ok) return outcome;
  checkInnermost(transaction.innermost, view, ledger, verifier, outcome, { chargeFee: !transaction.isFeeBump, late });
  return outcome;
};
