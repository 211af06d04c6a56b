// The order book: the liabilities of its offers, and crossing them. (core: OfferExchange.cpp, TransactionUtils.cpp)

import { accountKey, keyOf } from './entries.mjs';
import { pairName } from './entries/offer.mjs';
import { adjustedAmount, exchange, least, liabilities } from './exchange.mjs';
import { loadHolding } from './holdings.mjs';
import { refundEntry } from './sponsorship.mjs';
import { Layer } from './state.mjs';
import { publicKey } from './xdr.mjs';

/** The maximum number of offers that one operation crosses. */
export const MAX_OFFERS_TO_CROSS = 1000;
const CLAIM_ORDER_BOOK = 1;

/** How crossing ended. */
export const Crossing = Object.freeze({
  DONE: 'DONE', // a limit was reached
  PARTIAL: 'PARTIAL', // the book was exhausted first
  STOPPED: 'STOPPED', // the caller's filter stopped it
  TOO_MANY: 'TOO_MANY',
});

const must = (worked, what) => {
  if (!worked) throw new Error(`the order book does not add up: ${what}`);
};

const changeLiabilities = (layer, offer, sign) => {
  const { buying, selling } = liabilities(offer.price, { maxWheatSend: offer.amount });
  must(loadHolding(layer, offer.id, offer.buying).addBuying(sign * buying), 'buying liabilities');
  must(loadHolding(layer, offer.id, offer.selling).addSelling(sign * selling), 'selling liabilities');
};

/** An offer in the book reserves what it may sell, and room for what it may buy. */
export const acquireLiabilities = (layer, offer) => changeLiabilities(layer, offer, 1n);
export const releaseLiabilities = (layer, offer) => changeLiabilities(layer, offer, -1n);

/** Takes an offer out of the book and returns its reserve; its liabilities are released already. */
const removeOffer = (layer, offer) => {
  refundEntry(layer, offer, layer.load(accountKey(offer.id)));
  layer.erase(keyOf(offer));
};

/** Takes the offers of an account that sell or buy an asset out of the book. */
export const removeOffersOf = (layer, id, isOfAsset) => {
  const offers = [...layer.offers()].filter((offer) => offer.id === id && isOfAsset(offer));
  for (const { id: seller, offerId } of offers) {
    const offer = layer.load(keyOf({ kind: 'offer', id: seller, offerId }));
    releaseLiabilities(layer, offer);
    removeOffer(layer, offer);
  }
};

const priceOf = ({ price }) => price.n / price.d;

/** The cheapest offer, and among equals the oldest. Core compares prices as doubles. */
const bestOffer = (layer, selling, buying) => {
  let best = null;
  for (const offer of layer.offers(pairName(selling, buying))) {
    const order = best === null ? -1 : priceOf(offer) - priceOf(best) || Number(offer.offerId - best.offerId);
    if (order < 0) best = offer;
  }
  return best;
};

const positive = (value) => (value > 0n ? value : 0n);

/** Lets `taker` take what it wants of one offer; `{wheat, sheep, wheatStays, isTaken}`. */
const cross = (layer, key, taker, rounding) => {
  const offer = layer.load(key);
  releaseLiabilities(layer, offer);
  const wheatHolding = loadHolding(layer, offer.id, offer.selling);
  const sheepHolding = loadHolding(layer, offer.id, offer.buying);
  const limits = () => [least(offer.amount, positive(wheatHolding.available)), positive(sheepHolding.room)];
  offer.amount = adjustedAmount(offer.price, ...limits());
  const [maxWheatSend, maxSheepReceive] = limits();
  const result = exchange(offer.price, { ...taker, maxWheatSend, maxSheepReceive }, rounding);
  must(sheepHolding.add(result.sheep), 'what the offer gets');
  must(wheatHolding.add(-result.wheat), 'what the offer gives');
  offer.amount = result.wheatStays ? offer.amount - result.wheat : 0n;
  if (result.wheatStays) offer.amount = adjustedAmount(offer.price, ...limits());
  const isTaken = offer.amount === 0n;
  if (isTaken) removeOffer(layer, offer);
  else acquireLiabilities(layer, offer);
  return { ...result, isTaken };
};

const claimAtom = (offer, { wheat, sheep }) => ({
  type: CLAIM_ORDER_BOOK,
  orderBook: {
    sellerId: publicKey(offer.id),
    offerId: offer.offerId,
    assetSold: offer.selling,
    amountSold: wheat,
    assetBought: offer.buying,
    amountBought: sheep,
  },
});

/**
 * Exchanges sheep for wheat, best offer first, until a limit is reached. `filter` sees each offer before it is crossed and stops
 * there by returning anything but null. Returns `{crossing, stop?, wheat, sheep, claims}`.
 */
export const convert = (layer, { sheep, maxSheepSend, wheat, maxWheatReceive, rounding, filter, maxOffers }) => {
  const total = { wheat: 0n, sheep: 0n, claims: [] };
  let needsMore = maxWheatReceive > 0n && maxSheepSend > 0n;
  if (needsMore && maxOffers === 0) return { ...total, crossing: Crossing.TOO_MANY };
  while (needsMore) {
    const offer = bestOffer(layer, wheat, sheep);
    if (!offer) return { ...total, crossing: Crossing.PARTIAL };
    const stop = filter(offer);
    if (stop !== null) return { ...total, crossing: Crossing.STOPPED, stop };
    if (total.claims.length >= maxOffers) return { ...total, crossing: Crossing.TOO_MANY };
    const inner = new Layer(layer);
    const taker = { maxWheatReceive: maxWheatReceive - total.wheat, maxSheepSend: maxSheepSend - total.sheep };
    const result = cross(inner, keyOf(offer), taker, rounding);
    inner.commit();
    total.claims.push(claimAtom(offer, result));
    total.wheat += result.wheat;
    total.sheep += result.sheep;
    needsMore = !result.wheatStays && total.wheat < maxWheatReceive && total.sheep < maxSheepSend;
    if (needsMore && !result.isTaken) return { ...total, crossing: Crossing.PARTIAL };
  }
  return { ...total, crossing: Crossing.DONE };
};

