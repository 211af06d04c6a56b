// What happens when two offers cross: the amounts exchanged, and whom the rounding favours. The seller of wheat has an offer in
// the book; the seller of sheep takes from it. A price is sheep for one wheat, `n` over `d`.
// (core: OfferExchange.cpp, exchangeV10)

import { INT64_MAX } from './network.mjs';

export const Rounding = Object.freeze({ NORMAL: 0, STRICT_RECEIVE: 1, STRICT_SEND: 2 });

export const least = (...values) => values.reduce((a, b) => (b < a ? b : a));
const floor = (dividend, divisor) => dividend / divisor;
const ceiling = (dividend, divisor) => (dividend + divisor - 1n) / divisor;

/** The price in wire form, with the numbers for the arithmetic. */
const numbers = ({ n, d }) => ({ n: BigInt(n), d: BigInt(d) });

/** `{wheat, sheep, wheatStays}`: the larger of the two offers stays in the book, and the rounding favours it. */
export const exchangeUnbounded = (price, { maxWheatSend, maxWheatReceive, maxSheepSend, maxSheepReceive }, rounding) => {
  const { n, d } = numbers(price);
  const wheatValue = least(maxWheatSend * n, maxSheepReceive * d);
  const sheepValue = least(maxSheepSend * d, maxWheatReceive * n);
  if (wheatValue > sheepValue) {
    if (rounding === Rounding.STRICT_SEND)
      return { wheat: floor(sheepValue, n), sheep: least(maxSheepSend, maxSheepReceive), wheatStays: true };
    if (n > d || rounding === Rounding.STRICT_RECEIVE) {
      const wheat = floor(sheepValue, n);
      return { wheat, sheep: ceiling(wheat * n, d), wheatStays: true };
    }
    const sheep = floor(sheepValue, d);
    return { wheat: floor(sheep * d, n), sheep, wheatStays: true };
  }
  if (n > d) {
    const wheat = floor(wheatValue, n);
    return { wheat, sheep: floor(wheat * n, d), wheatStays: false };
  }
  const sheep = floor(wheatValue, d);
  return { wheat: ceiling(sheep * d, n), sheep, wheatStays: false };
};

/** Whether the amounts are within 1 % of the price. */
const isNearPrice = (price, wheat, sheep) => {
  const { n, d } = numbers(price);
  const difference = 100n * n * wheat - 100n * d * sheep;
  return (difference < 0n ? -difference : difference) <= n * wheat;
};

/**
 * The same, but nothing is exchanged at a price that is more than 1 % off. A path payment has its own limits for that, and one
 * that must send an exact amount may get nothing for the last of it.
 */
export const exchange = (price, limits, rounding) => {
  const result = exchangeUnbounded(price, limits, rounding);
  const { wheat, sheep } = result;
  const nothing = { ...result, wheat: 0n, sheep: 0n };
  if (wheat > 0n && sheep > 0n)
    return rounding === Rounding.NORMAL && !isNearPrice(price, wheat, sheep) ? nothing : result;
  return rounding === Rounding.STRICT_SEND ? result : nothing;
};

const NO_LIMITS = {
  maxWheatSend: INT64_MAX,
  maxWheatReceive: INT64_MAX,
  maxSheepSend: INT64_MAX,
  maxSheepReceive: INT64_MAX,
};

/** How much of an offer could be taken without limits; a rest smaller than that does not stay in the book. */
export const adjustedAmount = (price, maxWheatSend, maxSheepReceive) =>
  exchange(price, { ...NO_LIMITS, maxWheatSend, maxSheepReceive }, Rounding.NORMAL).wheat;

/** What an offer that sells up to `maxWheatSend` for up to `maxSheepReceive` may still sell and buy. */
export const liabilities = (price, { maxWheatSend = INT64_MAX, maxSheepReceive = INT64_MAX }) => {
  const { wheat, sheep } = exchangeUnbounded(price, { ...NO_LIMITS, maxWheatSend, maxSheepReceive }, Rounding.NORMAL);
  return { selling: wheat, buying: sheep };
};
