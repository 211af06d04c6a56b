// What an RPC may say instead of the truth. Each is a function of the true answer and the call, for a proxy in front of an honest RPC.
import crypto from 'node:crypto';
import { StrKey } from '@stellar/stellar-sdk';
import { decode, encode } from '../localnet/xdr.mjs';

/** A JSON-RPC error. */
export const refuse = (code, message) => answer => ({ jsonrpc: '2.0', id: answer.id, error: { code, message } });

/** The error of getLedgers for a ledger that this node has dropped, or does not have yet. */
export const outside = (oldest, latest) => refuse(-32600,
  `start ledger must be between the oldest ledger: ${oldest} and the latest ledger: ${latest} for this rpc instance.`);

/** Sets members of the result. */
export const setResult = values => answer => Object.assign(answer, { result: { ...answer.result, ...values } });

/** Changes each ledger of getLedgers. */
export const eachLedger = change => answer => {
  answer.result?.ledgers?.forEach(change);
  return answer;
};

/** Changes the decoded metadata of each ledger. */
export const eachMeta = change => eachLedger(ledger => {
  const meta = decode('LedgerCloseMeta', Buffer.from(ledger.metadataXdr, 'base64'));
  change(meta.v2, ledger);
  ledger.metadataXdr = encode('LedgerCloseMeta', meta).toString('base64');
});

/** Changes one bit that the hash of each ledger covers: many bytes of a transaction's metadata are covered by none. */
export const flip = eachMeta(meta => { meta.ledgerHeader.header.totalCoins ^= 1n; });

/** Changes the decoded first ledger of each answer, the only one that is told then, so that the hashes of header and ledger fit. */
export const forged = change => answer => eachMeta((meta, ledger) => {
  const { header } = meta.ledgerHeader;
  change(meta, header, ledger);
  meta.ledgerHeader.hash = crypto.createHash('sha256').update(encode('LedgerHeader', header)).digest();
  ledger.hash = meta.ledgerHeader.hash.toString('hex');
})(eachLedger((ledger, i, all) => all.splice(1))(answer));

const ACCOUNT = 0, UPDATED = 1, REMOVED = 2; // LedgerEntryType, LedgerEntryChangeType
const keyOf = address => ({ type: 0, ed25519: StrKey.decodeEd25519PublicKey(address) });

/** Adds changes of entries to each ledger's metadata, as those of an upgrade. No hash covers them. */
const addChanges = changes => eachMeta(meta => meta.upgradesProcessing.push({ upgrade: { type: 1, newLedgerVersion: 28 }, changes }));

/** The metadata claims that these accounts were removed. */
export const claimRemoved = (...addresses) =>
  addChanges(addresses.map(address => ({ type: REMOVED, removed: { type: ACCOUNT, account: { accountId: keyOf(address) } } })));

/** Changes the accounts of getLedgerEntries, decoded; null removes one. */
export const eachAccount = change => answer => {
  const entries = answer.result?.entries?.map(entry => {
    const data = decode('LedgerEntryData', Buffer.from(entry.xdr, 'base64'));
    if (data.type !== ACCOUNT)
      return entry;
    const account = change(data.account, StrKey.encodeEd25519PublicKey(Buffer.from(data.account.accountId.ed25519)));
    return account === null ? null : { ...entry, xdr: encode('LedgerEntryData', { ...data, account }).toString('base64') };
  });
  if (entries !== undefined)
    answer.result.entries = entries.filter(entry => entry !== null);
  return answer;
};

/** getLedgerEntries returns none of these accounts. */
export const missing = (...addresses) => eachAccount((account, address) => addresses.includes(address) ? null : account);

/** getLedgers as of an RPC that has dropped the ledgers up to `last`. */
export const dropped = last => (answer, call) => call.params.startLedger <= last ? outside(last + 1, last + 100)(answer) : answer;

/** getLedgers as of an RPC that has no ledger after `last`. */
export const stoppedAt = last => (answer, call) => call.params.startLedger > last ? outside(2, last)(answer)
  : eachOf(answer, ledgers => ledgers.filter(({ sequence }) => sequence <= last), last);

function eachOf(answer, filter, latestLedger) {
  if (answer.result?.ledgers)
    Object.assign(answer.result, { ledgers: filter(answer.result.ledgers), latestLedger });
  return answer;
}

/** resultXdr of a transaction that failed, without operations. */
export const failedResult = Buffer.from('0000000000000064ffffffff0000000000000000', 'hex').toString('base64');
