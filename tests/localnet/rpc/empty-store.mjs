// An RPC that has just started with an empty store: the response of each method that reads until the first ledger is stored. Measured on
// stellar-rpc 28, except for those marked "read", which are from its source.

import { internalError } from './error.mjs';

const EMPTY = 'DB is empty';

const errors = new Map([
  ['getHealth', `[-32603] data stores are not initialized: ${EMPTY}`],
  ['getNetwork', EMPTY],
  ['getLedgers', EMPTY],
  ['getLatestLedger', 'could not get latest ledger sequence'],
  ['getLedgerEntries', `could not get latest ledger: ${EMPTY}`],
  ['getTransaction', `unable to get ledger range: ${EMPTY}`],
]);

const substitute = (name) => {
  if (name === 'simulateTransaction') return () => ({ error: EMPTY, latestLedger: 0 }); // read
  if (!errors.has(name)) return null;
  return () => {
    throw internalError(errors.get(name));
  };
};

/** Wraps a method so that it responds as on an empty store while the store is empty. */
export const unlessEmpty = (name, method, context) => {
  const empty = substitute(name);
  if (!empty) return method;
  return (params) => (context.faults.storeIsEmpty() ? empty(params) : method(params));
};
