import { liabilities } from '../exchange.mjs';
import { applyOffer, emptySuccess, validateOffer } from './manage-offer.mjs';

/** The offer that the operation requests. A passive offer does not take offers at exactly its price. */
const wantedOffer = (body, isPassive) => ({
  ...body,
  offerId: body.offerId ?? 0n,
  isPassive,
  isDeletion: body.amount === 0n,
  hasValidAmount: body.amount >= 0n,
  limits: { maxWheatSend: body.amount },
});

const SELL_OFFER = 3;

/** Core runs both as the same operation, so the results of both have its type. */
const sellOffer = ({ type, arm, isPassive }) => ({
  type,
  resultType: SELL_OFFER,
  level: 'medium',
  success: emptySuccess,
  body: (wire) => wantedOffer(wire[arm], isPassive),
  validate: validateOffer,
  apply: (context) => applyOffer(context.body, liabilities(context.body.price, context.body.limits), context),
});

export const manageSellOffer = sellOffer({ type: SELL_OFFER, arm: 'manageSellOfferOp', isPassive: false });

export const createPassiveSellOffer = sellOffer({ type: 4, arm: 'createPassiveSellOfferOp', isPassive: true });
