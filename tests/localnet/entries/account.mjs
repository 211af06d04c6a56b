// Accounts. Their extensions appear on the wire once something needed them (`extension`: 0 none, 1 liabilities, which are 0 here, 2 sponsorship
// counters, 3 time of the last sequence change), and stay.

import { hex } from '../network.mjs';
import { XdrString, encode, publicKey } from '../xdr.mjs';

const ACCOUNT = 0;

/** The account of a MuxedAccount, whether its address is G... or M.... */
export const accountOf = (muxed) => hex(muxed.type === 0 ? muxed.ed25519 : muxed.med25519.ed25519);

export const accountKey = (id) => id;

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
  sponsored: 0,
  sponsoring: 0,
  sequenceLedger: 0,
  sequenceTime: 0n,
  sponsor: undefined,
  modified: 0,
});

/** Adds the extensions up to `level` to the entry, as core does when it first writes one of their fields. */
export const extendAccount = (account, level) => {
  account.extension = Math.max(account.extension, level);
  return account;
};

/** A signer has its wire form, and its XDR in hex, by which signers are ordered and found. */
export const newSigner = (wire, weight, sponsor = null) => ({ key: encode('SignerKey', wire).toString('hex'), wire, weight, sponsor });

const extToWire = (account) => {
  if (account.extension === 0) return { v: 0 };
  const v3 = { ext: { v: 0 }, seqLedger: account.sequenceLedger, seqTime: account.sequenceTime };
  const v2 = {
    numSponsored: account.sponsored,
    numSponsoring: account.sponsoring,
    signerSponsoringIDs: account.signers.map(({ sponsor }) => (sponsor ? publicKey(sponsor) : null)),
    ext: account.extension >= 3 ? { v: 3, v3 } : { v: 0 },
  };
  return { v: 1, v1: { liabilities: { buying: 0n, selling: 0n }, ext: account.extension >= 2 ? { v: 2, v2 } : { v: 0 } } };
};

const toWire = (account) => ({
  accountId: publicKey(account.id),
  balance: account.balance,
  seqNum: account.sequence,
  numSubEntries: account.subEntries,
  inflationDest: account.inflationDestination ? publicKey(account.inflationDestination) : null,
  flags: account.flags,
  homeDomain: new XdrString(account.homeDomain),
  thresholds: Uint8Array.from(account.thresholds),
  signers: account.signers.map(({ wire, weight }) => ({ key: wire, weight })),
  ext: extToWire(account),
});

const fromWire = ({ account: wire }) => {
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
    sponsored: v2?.numSponsored ?? 0,
    sponsoring: v2?.numSponsoring ?? 0,
    sequenceLedger: v3?.seqLedger ?? 0,
    sequenceTime: v3?.seqTime ?? 0n,
  });
};

export const account = {
  kind: 'account',
  type: ACCOUNT,
  keyOf: ({ id }) => accountKey(id),
  keyToWire: ({ id }) => ({ type: ACCOUNT, account: { accountId: publicKey(id) } }),
  keyFromWire: ({ account: key }) => accountKey(hex(key.accountId.ed25519)),
  toWire: (entry) => ({ type: ACCOUNT, account: toWire(entry) }),
  fromWire,
  copy: (entry) => ({ ...entry, thresholds: [...entry.thresholds], signers: entry.signers.map((signer) => ({ ...signer })) }),
};
