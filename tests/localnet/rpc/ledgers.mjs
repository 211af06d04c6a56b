// getLedgers: closed ledgers with their metadata.

import { base64 } from '../xdr.mjs';
import { invalidParams, invalidRequest } from './error.mjs';
import { object, requireBase64, text, uint32 } from './params.mjs';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;

const pageLimit = (pagination) => {
  const limit = uint32(pagination, 'limit');
  if (limit > MAX_LIMIT) throw invalidRequest(`limit must not exceed ${MAX_LIMIT}`);
  return limit === 0 ? DEFAULT_LIMIT : limit;
};

const rangeText = ({ oldest, latest }) =>
  `must be between the oldest ledger: ${oldest} and the latest ledger: ${latest} for this rpc instance`;

const isOutside = (sequence, { oldest, latest }) => sequence < oldest || sequence > latest;

/** The first ledger, by `startLedger` or after a cursor; the two range errors differ in code and text. */
const pageStart = (params, cursor, history) => {
  const startLedger = uint32(params, 'startLedger');
  if (cursor === '') {
    if (isOutside(startLedger, history)) throw invalidRequest(`start ledger (${startLedger}) ${rangeText(history)}`);
    return startLedger;
  }
  if (startLedger !== 0) throw invalidRequest('startLedger and cursor cannot both be set');
  if (!/^\d{1,10}$/.test(cursor)) throw invalidParams(`invalid cursor: ${cursor}`);
  const start = Number(cursor) + 1;
  if (isOutside(start, history)) throw invalidParams(`cursor ('${cursor}') ${rangeText(history)}`);
  return start;
};

const describe = ({ sequence, hash, closeTime, headerXdr, metadataXdr }) => ({
  hash,
  sequence,
  ledgerCloseTime: String(closeTime),
  headerXdr: base64(headerXdr),
  metadataXdr: base64(metadataXdr),
});

export const ledgerMethods = ({ chain }) => ({
  getLedgers(params) {
    const { history } = chain;
    requireBase64(params, invalidRequest);
    const pagination = object(params, 'pagination');
    const start = pageStart(params, text(pagination, 'cursor'), history);
    const end = Math.min(start + pageLimit(pagination) - 1, history.latest);
    const ledgers = [];
    for (let sequence = start; sequence <= end; sequence++) ledgers.push(describe(history.ledger(sequence)));
    return {
      ledgers,
      latestLedger: history.latest,
      latestLedgerCloseTime: Number(history.summary(history.latest).closeTime),
      oldestLedger: history.oldest,
      oldestLedgerCloseTime: Number(history.summary(history.oldest).closeTime),
      cursor: String(end),
    };
  },
});
