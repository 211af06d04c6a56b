// The common part of the two kinds of path payments, and both of them. (core: PathPaymentStrictReceiveOpFrame.cpp,
// PathPaymentStrictSendOpFrame.cpp)

import { isValidAsset, sameAsset } from '../assets.mjs';
import { accountOf } from '../entries.mjs';
import { Rounding } from '../exchange.mjs';
import { INT64_MAX } from '../network.mjs';
import { Crossing, MAX_OFFERS_TO_CROSS, convert } from '../order-book.mjs';
import { Op } from '../results.mjs';
import { Obstacle, credit, debit, missingDestination } from '../transfer.mjs';
import { publicKey } from '../xdr.mjs';

const MALFORMED = -1;
const TOO_FEW_OFFERS = -10;
const OFFER_CROSS_SELF = -11;
/** OVER_SENDMAX for strict receive, UNDER_DESTMIN for strict send. */
const CONSTRAINT_NOT_MET = -12;
const codes = {
  [Obstacle.UNDERFUNDED]: -2,
  [Obstacle.SRC_NO_TRUST]: -3,
  [Obstacle.SRC_NOT_AUTHORIZED]: -4,
  [Obstacle.NO_DESTINATION]: -5,
  [Obstacle.NO_TRUST]: -6,
  [Obstacle.NOT_AUTHORIZED]: -7,
  [Obstacle.LINE_FULL]: -8,
};

const payout = (destination, asset, amount) => ({ destination: publicKey(destination), asset, amount });

const success = { success: { offers: [], last: payout('00'.repeat(32), { type: 0 }, 0n) } };

const validate = (amounts, { sendAsset, destAsset, path }) =>
  amounts.some((amount) => amount <= 0n) || ![sendAsset, destAsset, ...path].every(isValidAsset) ? MALFORMED : 0;

/** Ends an operation with a failure from within its steps. */
class Failed extends Error {
  constructor(result) {
    super('the operation failed');
    this.result = result;
  }
}

/** The steps of a payment; each throws Failed when it is not possible. */
const steps = ({ source, layer, fail, failAny }) => {
  const stop = (result) => {
    throw new Failed(result);
  };
  const overcome = (obstacle) => obstacle && stop(fail(codes[obstacle]));
  return {
    requireDestination: (destination, body) => overcome(missingDestination(layer, destination, body)),
    give: (destination, asset, amount) => overcome(credit(layer, destination, asset, amount)),
    take: (asset, amount) => overcome(debit(layer, source, asset, amount)),
    require: (isMet) => isMet || stop(fail(CONSTRAINT_NOT_MET)),

    /** One hop over the book. `isExact` tells whether the exchanged amount is the required one. */
    hop(limits, rounding, crossed, isExact) {
      const result = convert(layer, {
        ...limits,
        rounding,
        filter: ({ id }) => (id === source ? OFFER_CROSS_SELF : null),
        maxOffers: MAX_OFFERS_TO_CROSS - crossed,
      });
      if (result.crossing === Crossing.STOPPED) stop(fail(result.stop));
      if (result.crossing === Crossing.TOO_MANY) stop(failAny(Op.EXCEEDED_WORK_LIMIT));
      if (result.crossing === Crossing.PARTIAL || !isExact(result)) stop(fail(TOO_FEW_OFFERS));
      return result;
    },
  };
};

const attempt = (pay) => (context) => {
  try {
    return pay(context, steps(context));
  } catch (error) {
    if (error instanceof Failed) return error.result;
    throw error;
  }
};

/** From the destination back to the source: how much must be sent for exactly `destAmount`? */
const payStrictReceive = ({ body, succeed }, { requireDestination, give, hop, require, take }) => {
  const { sendAsset, sendMax, destAsset, destAmount, path } = body;
  const destination = accountOf(body.destination);
  requireDestination(destination, body);
  give(destination, destAsset, destAmount);
  let offers = [];
  let wheat = destAsset;
  let amount = destAmount;
  for (const sheep of [...path].reverse().concat([sendAsset])) {
    if (sameAsset(sheep, wheat)) continue;
    const limits = { sheep, maxSheepSend: INT64_MAX, wheat, maxWheatReceive: amount };
    const wanted = amount;
    const hopped = hop(limits, Rounding.STRICT_RECEIVE, offers.length, (result) => result.wheat === wanted);
    offers = [...hopped.claims, ...offers];
    amount = hopped.sheep;
    wheat = sheep;
  }
  require(amount <= sendMax);
  take(sendAsset, amount);
  return succeed({ success: { offers, last: payout(destination, destAsset, destAmount) } });
};

/** From the source on to the destination: how much arrives of exactly `sendAmount`? */
const payStrictSend = ({ body, succeed }, { requireDestination, take, hop, require, give }) => {
  const { sendAsset, sendAmount, destAsset, destMin, path } = body;
  const destination = accountOf(body.destination);
  requireDestination(destination, body);
  take(sendAsset, sendAmount);
  const offers = [];
  let sheep = sendAsset;
  let amount = sendAmount;
  for (const wheat of [...path, destAsset]) {
    if (sameAsset(sheep, wheat)) continue;
    const limits = { sheep, maxSheepSend: amount, wheat, maxWheatReceive: INT64_MAX };
    const given = amount;
    const hopped = hop(limits, Rounding.STRICT_SEND, offers.length, (result) => result.sheep === given);
    offers.push(...hopped.claims);
    amount = hopped.wheat;
    sheep = wheat;
  }
  require(amount >= destMin);
  give(destination, destAsset, amount);
  return succeed({ success: { offers, last: payout(destination, destAsset, amount) } });
};

export const pathPaymentStrictReceive = {
  type: 2,
  level: 'medium',
  success,
  body: (wire) => wire.pathPaymentStrictReceiveOp,
  validate: (body) => validate([body.destAmount, body.sendMax], body),
  apply: attempt(payStrictReceive),
};

export const pathPaymentStrictSend = {
  type: 13,
  level: 'medium',
  success,
  body: (wire) => wire.pathPaymentStrictSendOp,
  validate: (body) => validate([body.sendAmount, body.destMin], body),
  apply: attempt(payStrictSend),
};
