// sendTransaction and simulateTransaction.

import { base64, encode } from '../xdr.mjs';
import { Status } from '../queue.mjs';
import { decodeTransaction } from '../transaction.mjs';
import { invalidParams } from './error.mjs';
import { diagnosticWords } from '../diagnostics.mjs';
import { base64Bytes, requireBase64, text } from './params.mjs';
import { simulate } from './simulation.mjs';

/** Returns null unless the text is the base64 of exactly one envelope. */
const parse = (params, network) => {
  const bytes = base64Bytes(text(params, 'transaction'));
  if (!bytes) return null;
  try {
    return decodeTransaction(bytes, network);
  } catch (error) {
    if (error.name !== 'XdrError') throw error;
    return null;
  }
};

/** The envelope of a sendTransaction. */
const readSubmission = (params, network) => {
  requireBase64(params);
  const transaction = parse(params, network);
  if (!transaction) throw invalidParams('invalid_xdr');
  return transaction;
};

/** Returns the result of a submission. What this network does not implement is named in a diagnostic event and in the log. */
const describeRefusal = (transaction, outcome, log) => {
  const missing = transaction.operations.map((operation) => operation.missing).filter((words) => words !== null);
  const words = missing.length > 0 ? `not implemented by this local network: ${[...new Set(missing)].join(', ')}` : '';
  log(`refused ${transaction.hashHex}: code ${outcome.outerCode}, innermost ${outcome.code}${words && `, ${words}`}`);
  const errorResultXdr = base64(outcome.toXdr());
  return words ? { errorResultXdr, diagnosticEventsXdr: [base64(encode('DiagnosticEvent', diagnosticWords(words)))] } : { errorResultXdr };
};

export const submissionMethods = ({ network, chain, verifier, faults, log }) => ({
  sendTransaction(params) {
    const transaction = readSubmission(params, network);
    const { status, outcome } = faults.happens('tryAgainLater')
      ? { status: Status.TRY_AGAIN_LATER }
      : chain.submit(transaction);
    const refusal = status === Status.ERROR ? describeRefusal(transaction, outcome, log) : {};
    return {
      ...refusal,
      status,
      hash: transaction.hashHex,
      latestLedger: chain.history.latest,
      latestLedgerCloseTime: String(chain.closeTime),
    };
  },

  simulateTransaction(params) {
    requireBase64(params);
    const failure = (error) => ({ error, latestLedger: chain.history.latest });
    const transaction = parse(params, network);
    if (!transaction) return failure('Could not unmarshal transaction');
    const { operations } = transaction;
    if (operations.length !== 1) return failure('Transaction contains more than one operation');
    if (!operations[0].isSoroban)
      return failure(`Transaction contains unsupported operation type: ${operations[0].name}`);
    const { missing } = operations[0];
    if (missing !== null) return failure(`not implemented by this local network: ${missing}`);
    if (transaction.isFeeBump) return failure('Transaction is a fee bump: simulate the inner transaction');
    return simulate({ transaction, operation: operations[0], params, node: chain, network, verifier });
  },
});
