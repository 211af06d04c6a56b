// Who pays the reserve of an entry: its owner, or the account that sponsors the owner's future reserves at that moment
// (CAP-33; core: SponsorshipUtils.cpp). Between begin and end a sponsorship is an entry of the transaction's layer only.

import { accountKey, extendAccount } from './entries.mjs';
import { availableBalance, minBalance } from './reserves.mjs';

export const MAX_SUBENTRIES = 1000;
const UINT32_MAX = 0xffffffff;

export const Reserve = Object.freeze({ OK: 0, LOW: 1, TOO_MANY_SUBENTRIES: 2, TOO_MANY_SPONSORING: 3 });

const SPONSORSHIP = 'sponsorship';
const beingSponsoredKey = (id) => `sponsored ${id}`;
const beingSponsorKey = (id) => `sponsoring ${id}`;

/** The id of the account that sponsors `id`'s future reserves now, or null. */
export const sponsorOf = (layer, id) => layer.peek(beingSponsoredKey(id))?.sponsor ?? null;
export const isSponsoring = (layer, id) => layer.peek(beingSponsorKey(id)) !== null;

export const beginSponsoring = (layer, sponsor, sponsored) => {
  layer.create({ kind: SPONSORSHIP, key: beingSponsoredKey(sponsored), sponsor });
  const counter = layer.load(beingSponsorKey(sponsor));
  if (counter) counter.count += 1;
  else layer.create({ kind: SPONSORSHIP, key: beingSponsorKey(sponsor), count: 1 });
};

export const endSponsoring = (layer, sponsored) => {
  const counter = layer.load(beingSponsorKey(sponsorOf(layer, sponsored)));
  counter.count -= 1;
  if (counter.count === 0) layer.erase(counter.key);
  layer.erase(beingSponsoredKey(sponsored));
};

/** A transaction must not leave a sponsorship open (txBAD_SPONSORSHIP). */
export const hasOpenSponsorship = (layer) => !layer.remaining(SPONSORSHIP).next().done;

const weight = (entry) => (entry.kind === 'account' ? 2 : 1);

const tooManySubentries = (account) =>
  account.subEntries > MAX_SUBENTRIES - 1 || account.sponsoring + account.subEntries + 1 > UINT32_MAX;

const canSponsor = (ledger, sponsor, reserves) => {
  if (availableBalance(ledger, sponsor) < BigInt(reserves) * ledger.baseReserve) return Reserve.LOW;
  if (sponsor.sponsoring + sponsor.subEntries + reserves > UINT32_MAX) return Reserve.TOO_MANY_SPONSORING;
  return Reserve.OK;
};

const establish = (sponsor, sponsored, reserves) => {
  extendAccount(sponsor, 2).sponsoring += reserves;
  extendAccount(sponsored, 2).sponsored += reserves;
};

const dissolve = (sponsor, sponsored, reserves) => {
  sponsor.sponsoring -= reserves;
  sponsored.sponsored -= reserves;
};

/**
 * Charges the reserve of a new entry to its sponsor or to `owner`; the owner of an account is the account itself. Returns a
 * Reserve; if it is not OK, the layer must be discarded.
 */
export const chargeEntry = (layer, entry, owner) => {
  const { ledger } = layer;
  const reserves = weight(entry);
  const sponsorId = sponsorOf(layer, owner.id);
  const isSubentry = entry !== owner;
  if (isSubentry && tooManySubentries(owner)) return Reserve.TOO_MANY_SUBENTRIES;
  if (sponsorId) {
    const sponsor = layer.load(accountKey(sponsorId));
    const result = canSponsor(ledger, sponsor, reserves);
    if (result !== Reserve.OK) return result;
    entry.sponsor = sponsorId;
    establish(sponsor, owner, reserves);
  } else if (isSubentry) {
    if (availableBalance(ledger, owner) < BigInt(reserves) * ledger.baseReserve) return Reserve.LOW;
  } else if (owner.balance < minBalance(ledger, owner)) return Reserve.LOW;
  if (isSubentry) owner.subEntries += reserves;
  return Reserve.OK;
};

/** Returns the reserve of an entry that is about to be removed to the account that paid it. */
export const refundEntry = (layer, entry, owner) => {
  const reserves = weight(entry);
  if (entry.sponsor) dissolve(layer.load(accountKey(entry.sponsor)), owner, reserves);
  if (entry !== owner) owner.subEntries -= reserves;
};

/** The same for a signer, which is part of its account but has its own reserve. */
export const chargeSigner = (layer, signer, owner) => {
  const { ledger } = layer;
  if (tooManySubentries(owner)) return Reserve.TOO_MANY_SUBENTRIES;
  const sponsorId = sponsorOf(layer, owner.id);
  if (sponsorId) {
    const sponsor = layer.load(accountKey(sponsorId));
    const result = canSponsor(ledger, sponsor, 1);
    if (result !== Reserve.OK) return result;
    signer.sponsor = sponsorId;
    establish(sponsor, owner, 1);
  } else if (availableBalance(ledger, owner) < ledger.baseReserve) return Reserve.LOW;
  owner.subEntries += 1;
  return Reserve.OK;
};

/** Removes a signer from its account, and releases its reserve. */
export const removeSigner = (layer, signer, owner) => {
  if (signer.sponsor) dissolve(layer.load(accountKey(signer.sponsor)), owner, 1);
  owner.subEntries -= 1;
  owner.signers.splice(owner.signers.indexOf(signer), 1);
};
