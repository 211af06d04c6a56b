// The common part of the three kinds of operations that put offers into the book. (core: ManageOfferOpFrameBase.cpp)

import { isNative, isValidAsset, sameAsset } from '../assets.mjs';
import { accountKey, newOffer, offerKey } from '../entries.mjs';
import { PASSIVE, offerToWire } from '../entries/offer.mjs';
import { Rounding, adjustedAmount, least } from '../exchange.mjs';
import { peekHolding } from '../holdings.mjs';
import { nextId } from '../ids.mjs';
import { Crossing, MAX_OFFERS_TO_CROSS, acquireLiabilities, convert, releaseLiabilities } from '../order-book.mjs';
import { Op } from '../results.mjs';
import { Reserve, chargeEntry, refundEntry } from '../sponsorship.mjs';
import { credit, debit } from '../transfer.mjs';

const MALFORMED = -1;
const SELL_NO_TRUST = -2;
const BUY_NO_TRUST = -3;
const SELL_NOT_AUTHORIZED = -4;
const BUY_NOT_AUTHORIZED = -5;
const LINE_FULL = -6;
const UNDERFUNDED = -7;
const CROSS_SELF = -8;
const NOT_FOUND = -11;
const LOW_RESERVE = -12;

const CREATED = 0;
const UPDATED = 1;
const DELETED = 2;
const BAD_PRICE = Symbol('bad price');

/** What core initializes the result with. */
export const emptySuccess = {
  success: {
    offersClaimed: [],
    offer: {
      effect: CREATED,
      offer: offerToWire({
        id: '00'.repeat(32),
        offerId: 0n,
        selling: { type: 0 },
        buying: { type: 0 },
        amount: 0n,
        price: { n: 0, d: 0 },
        flags: 0,
      }),
    },
  },
};

/**
 * An offer as the operation requests it: `{selling, buying, price, offerId, isPassive, isDeletion, hasValidAmount, limits}`, with
 * `limits` as in exchange.mjs: `maxWheatSend` of what is sold, or `maxSheepReceive` of what is bought.
 */
export const validateOffer = ({ selling, buying, price, offerId, isDeletion, hasValidAmount }) => {
  if (!isValidAsset(selling) || !isValidAsset(buying) || sameAsset(selling, buying)) return MALFORMED;
  if (!hasValidAmount || price.n <= 0 || price.d <= 0) return MALFORMED;
  return offerId < 0n || (offerId === 0n && isDeletion) ? MALFORMED : 0;
};

const missingLines = (layer, id, { selling, buying }) => {
  const sold = peekHolding(layer, id, selling);
  if (!sold) return SELL_NO_TRUST;
  if (!isNative(selling) && sold.balance === 0n) return UNDERFUNDED;
  if (!sold.isAuthorized) return SELL_NOT_AUTHORIZED;
  const bought = peekHolding(layer, id, buying);
  if (!bought) return BUY_NO_TRUST;
  return bought.isAuthorized ? 0 : BUY_NOT_AUTHORIZED;
};

/** How much may be sold and bought now, of what the operation wants and does not have (`has`) yet. */
const currentLimits = (layer, id, { selling, buying, limits }, has = { sheep: 0n, wheat: 0n }) => {
  const positive = (value) => (value > 0n ? value : 0n);
  let maxSheepSend = positive(peekHolding(layer, id, selling).available);
  let maxWheatReceive = positive(peekHolding(layer, id, buying).room);
  if (limits.maxWheatSend !== undefined) maxSheepSend = least(maxSheepSend, limits.maxWheatSend - has.sheep);
  if (limits.maxSheepReceive !== undefined)
    maxWheatReceive = least(maxWheatReceive, limits.maxSheepReceive - has.wheat);
  return { maxSheepSend, maxWheatReceive };
};

/** Stops at offers that cost more than `price`, which is in wheat for one sheep, and at the account's own. */
const stopAt = (id, { price, isPassive }) => {
  const [n, d] = [BigInt(price.d), BigInt(price.n)];
  return (offer) => {
    const difference = BigInt(offer.price.n) * d - BigInt(offer.price.d) * n;
    if (difference > 0n || (isPassive && difference === 0n)) return BAD_PRICE;
    return offer.id === id ? CROSS_SELF : null;
  };
};

/** Crosses offers in the book. Returns `{error}` or `{any}`, or `{claims, amount}` with the amount that stays in the book. */
const trade = (layer, id, wanted, liabilities) => {
  if (peekHolding(layer, id, wanted.buying).room < liabilities.buying) return { error: LINE_FULL };
  if (peekHolding(layer, id, wanted.selling).available < liabilities.selling) return { error: UNDERFUNDED };
  const limits = currentLimits(layer, id, wanted);
  if (limits.maxWheatReceive === 0n) return { error: LINE_FULL };
  const result = convert(layer, {
    sheep: wanted.selling,
    wheat: wanted.buying,
    ...limits,
    rounding: Rounding.NORMAL,
    filter: stopAt(id, wanted),
    maxOffers: MAX_OFFERS_TO_CROSS,
  });
  const { crossing, stop, claims } = result;
  if (crossing === Crossing.TOO_MANY) return { any: Op.EXCEEDED_WORK_LIMIT };
  if (stop === CROSS_SELF) return { error: CROSS_SELF };
  if (result.wheat > 0n) {
    const obstacle = credit(layer, id, wanted.buying, result.wheat) ?? debit(layer, id, wanted.selling, result.sheep);
    if (obstacle) throw new Error(`an offer was crossed beyond a limit: ${obstacle}`);
  }
  if (crossing === Crossing.DONE) return { claims, amount: 0n };
  const left = currentLimits(layer, id, wanted, result);
  return { claims, amount: adjustedAmount(wanted.price, left.maxSheepSend, left.maxWheatReceive) };
};

/** Takes the old offer out of the book for now; null if there is none. */
const takeOut = (layer, id, offerId) => {
  const old = layer.load(offerKey(id, offerId));
  if (!old) return null;
  releaseLiabilities(layer, old);
  layer.erase(offerKey(id, offerId));
  return { flags: old.flags, sponsor: old.sponsor };
};

const reserveErrors = new Map([
  [Reserve.LOW, { error: LOW_RESERVE }],
  [Reserve.TOO_MANY_SUBENTRIES, { any: Op.TOO_MANY_SUBENTRIES }],
  [Reserve.TOO_MANY_SPONSORING, { any: Op.TOO_MANY_SPONSORING }],
]);

/** `liabilities` are those of the offer if nothing of it is taken. */
export const applyOffer = (wanted, liabilities, { source, layer, fail, failAny, succeed }) => {
  const isNew = wanted.offerId === 0n;
  const missing = wanted.isDeletion ? 0 : missingLines(layer, source, wanted);
  if (missing !== 0) return fail(missing);

  const flags = isNew && wanted.isPassive ? PASSIVE : 0;
  const draft = newOffer({ ...wanted, id: source, amount: 0n, flags });
  if (isNew) {
    const refusal = reserveErrors.get(chargeEntry(layer, draft, layer.load(accountKey(source))));
    if (refusal) return refusal.any ? failAny(refusal.any) : fail(refusal.error);
  } else {
    const old = takeOut(layer, source, wanted.offerId);
    if (!old) return fail(NOT_FOUND);
    Object.assign(draft, old);
  }

  const isPassive = (draft.flags & PASSIVE) !== 0;
  const traded = wanted.isDeletion
    ? { claims: [], amount: 0n }
    : trade(layer, source, { ...wanted, isPassive }, liabilities);
  if (traded.any) return failAny(traded.any);
  if (traded.error) return fail(traded.error);

  let outcome = { effect: DELETED };
  if (traded.amount > 0n) {
    if (isNew) draft.offerId = nextId(layer);
    draft.amount = traded.amount;
    layer.create(draft);
    acquireLiabilities(layer, draft);
    outcome = { effect: isNew ? CREATED : UPDATED, offer: offerToWire(draft) };
  } else refundEntry(layer, draft, layer.load(accountKey(source)));
  return succeed({ success: { offersClaimed: traded.claims, offer: outcome } });
};

