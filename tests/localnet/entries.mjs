// Ledger entries as the network works on them: flat objects, account ids as hex of the ed25519 key, and back to XDR.
//
// Two kinds exist on the ledger: accounts and data entries. An account's extensions appear on the wire once something
// needed them (`extension`: 0 none, 1 liabilities, 2 sponsorship counters, 3 time of the last sequence change) and stay.
// `sponsor` is undefined while the entry never had a sponsor, an id while it has one, and null afterwards.

import { XdrString, encode, publicKey } from './xdr.mjs';
import { hex } from './network.mjs';

const ACCOUNT = 0;
const DATA = 3;

/** The account behind a MuxedAccount, whether it is a G... or an M... address. */
export const accountOf = (muxed) => hex(muxed.type === 0 ? muxed.ed25519 : muxed.med25519.ed25519);

export const accountKey = (id) => id;
export const dataKey = (id, name) => `${id}:${hex(name)}`;
export const keyOf = (entry) =>
  entry.kind === 'data' ? dataKey(entry.id, entry.name) : (entry.key ?? accountKey(entry.id));

export const newAccount = ({ id, balance, sequence }) => ({
  kind: 'account',
  id,
  balance,
  sequence,
  subEntries: 0,
  inflationDestination: null,
  flags: 0,
  homeDomain: new Uint8Array(0),
  thresholds: [1, 0, 0, 0],
  signers: [],
  extension: 0,
  buying: 0n,
  selling: 0n,
  sponsored: 0,
  sponsoring: 0,
  sequenceLedger: 0,
  sequenceTime: 0n,
  sponsor: undefined,
  modified: 0,
});

export const newData = ({ id, name, value }) => ({ kind: 'data', id, name, value, sponsor: undefined, modified: 0 });

export const copyEntry = (entry) =>
  entry.kind === 'account'
    ? { ...entry, thresholds: [...entry.thresholds], signers: entry.signers.map((signer) => ({ ...signer })) }
    : { ...entry };

/** Makes the extensions up to `level` part of the account, as core does when it first writes one of their fields. */
export const extendAccount = (account, level) => {
  account.extension = Math.max(account.extension, level);
  return account;
};

export const entryKey = (entry) =>
  entry.kind === 'data'
    ? { type: DATA, data: { accountId: publicKey(entry.id), dataName: new XdrString(entry.name) } }
    : { type: ACCOUNT, account: { accountId: publicKey(entry.id) } };

const accountExt = (account) => {
  if (account.extension === 0) return { v: 0 };
  const v3 = { ext: { v: 0 }, seqLedger: account.sequenceLedger, seqTime: account.sequenceTime };
  const v2 = {
    numSponsored: account.sponsored,
    numSponsoring: account.sponsoring,
    signerSponsoringIDs: account.signers.map(({ sponsor }) => (sponsor ? publicKey(sponsor) : null)),
    ext: account.extension >= 3 ? { v: 3, v3 } : { v: 0 },
  };
  const liabilities = { buying: account.buying, selling: account.selling };
  return { v: 1, v1: { liabilities, ext: account.extension >= 2 ? { v: 2, v2 } : { v: 0 } } };
};

const accountToWire = (account) => ({
  accountId: publicKey(account.id),
  balance: account.balance,
  seqNum: account.sequence,
  numSubEntries: account.subEntries,
  inflationDest: account.inflationDestination ? publicKey(account.inflationDestination) : null,
  flags: account.flags,
  homeDomain: new XdrString(account.homeDomain),
  thresholds: Uint8Array.from(account.thresholds),
  signers: account.signers.map(({ wire, weight }) => ({ key: wire, weight })),
  ext: accountExt(account),
});

const dataToWire = (entry) => ({
  accountId: publicKey(entry.id),
  dataName: new XdrString(entry.name),
  dataValue: entry.value,
  ext: { v: 0 },
});

export const entryToWire = (entry) => ({
  lastModifiedLedgerSeq: entry.modified,
  data:
    entry.kind === 'data' ? { type: DATA, data: dataToWire(entry) } : { type: ACCOUNT, account: accountToWire(entry) },
  ext:
    entry.sponsor === undefined
      ? { v: 0 }
      : { v: 1, v1: { sponsoringId: entry.sponsor ? publicKey(entry.sponsor) : null, ext: { v: 0 } } },
});

/** A signer knows its own wire form, and its XDR in hex, by which signers are ordered and found. */
export const newSigner = (wire, weight, sponsor = null) => ({
  key: encode('SignerKey', wire).toString('hex'),
  wire,
  weight,
  sponsor,
});

const accountFromWire = (wire) => {
  const account = newAccount({ id: hex(wire.accountId.ed25519), balance: wire.balance, sequence: wire.seqNum });
  const v1 = wire.ext.v1;
  const v2 = v1?.ext.v2;
  const v3 = v2?.ext.v3;
  return Object.assign(account, {
    subEntries: wire.numSubEntries,
    inflationDestination: wire.inflationDest ? hex(wire.inflationDest.ed25519) : null,
    flags: wire.flags,
    homeDomain: wire.homeDomain.bytes,
    thresholds: [...wire.thresholds],
    signers: wire.signers.map((signer, index) => {
      const sponsor = v2?.signerSponsoringIDs[index];
      return newSigner(signer.key, signer.weight, sponsor ? hex(sponsor.ed25519) : null);
    }),
    extension: v3 ? 3 : v2 ? 2 : v1 ? 1 : 0,
    buying: v1?.liabilities.buying ?? 0n,
    selling: v1?.liabilities.selling ?? 0n,
    sponsored: v2?.numSponsored ?? 0,
    sponsoring: v2?.numSponsoring ?? 0,
    sequenceLedger: v3?.seqLedger ?? 0,
    sequenceTime: v3?.seqTime ?? 0n,
  });
};

export const entryFromWire = ({ lastModifiedLedgerSeq, data, ext }) => {
  let entry;
  if (data.type === ACCOUNT) entry = accountFromWire(data.account);
  else if (data.type === DATA) {
    entry = newData({
      id: hex(data.data.accountId.ed25519),
      name: data.data.dataName.bytes,
      value: data.data.dataValue,
    });
  } else throw new Error(`ledger entries of type ${data.type} do not exist on this network`);
  entry.modified = lastModifiedLedgerSeq;
  if (ext.v === 1) entry.sponsor = ext.v1.sponsoringId ? hex(ext.v1.sponsoringId.ed25519) : null;
  return entry;
};

/** The key of a LedgerKey, or null for kinds of entries that this network does not have. */
export const keyFromWire = (wire) => {
  if (wire.type === ACCOUNT) return accountKey(hex(wire.account.accountId.ed25519));
  if (wire.type === DATA) return dataKey(hex(wire.data.accountId.ed25519), wire.data.dataName.bytes);
  return null;
};
