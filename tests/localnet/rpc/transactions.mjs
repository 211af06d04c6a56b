// getTransaction.

import { base64, encode } from '../xdr.mjs';
import { invalidParams } from './error.mjs';
import { requireBase64, text } from './params.mjs';

/** The events of a contract call; classic operations have none here. */
const eventsOf = (meta) => {
  const { operations } = meta.v4;
  if (!operations.some(({ events }) => events.length > 0)) return {};
  const xdr = ({ events }) => events.map((event) => base64(encode('ContractEvent', event)));
  return { contractEventsXdr: operations.map(xdr) };
};

/** The reason why a contract call failed. */
const diagnosticsOf = ({ v4: { diagnosticEvents } }) =>
  diagnosticEvents.length > 0
    ? { diagnosticEventsXdr: diagnosticEvents.map((event) => base64(encode('DiagnosticEvent', event))) }
    : {};

const describe = (transaction) => ({
  status: transaction.isSuccessful ? 'SUCCESS' : 'FAILED',
  txHash: transaction.hash,
  applicationOrder: transaction.order,
  feeBump: transaction.isFeeBump,
  envelopeXdr: transaction.envelopeXdr,
  resultXdr: transaction.resultXdr,
  resultMetaXdr: transaction.metaXdr,
  ...diagnosticsOf(transaction.meta),
  events: eventsOf(transaction.meta),
});

export const transactionMethods = ({ chain }) => ({
  getTransaction(params) {
    const { history } = chain;
    requireBase64(params);
    const hash = text(params, 'hash');
    if (hash.length !== 64) throw invalidParams(`unexpected hash length (${hash.length})`);
    if (!/^[0-9a-fA-F]{64}$/.test(hash)) throw invalidParams(`incorrect hash: ${hash}`);
    const window = {
      latestLedger: history.latest,
      latestLedgerCloseTime: String(history.summary(history.latest).closeTime),
      oldestLedger: history.oldest,
      oldestLedgerCloseTime: String(history.summary(history.oldest).closeTime),
    };
    const found = history.find(hash.toLowerCase());
    if (!found) {
      const nothing = { applicationOrder: 0, feeBump: false, events: {}, ledger: 0, createdAt: '0' };
      return { ...window, status: 'NOT_FOUND', txHash: hash, ...nothing };
    }
    const createdAt = String(history.summary(found.ledger).closeTime);
    return { ...window, ...describe(found), txHash: hash, ledger: found.ledger, createdAt };
  },
});
