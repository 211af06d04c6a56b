import { liabilities } from '../exchange.mjs';
import { applyOffer, emptySuccess, validateOffer } from './manage-offer.mjs';

export const manageBuyOffer = {
  type: 12,
  level: 'medium',
  success: emptySuccess,

  /** In the book it is an offer to sell, so at the inverse price. */
  body({ manageBuyOfferOp: wire }) {
    const { selling, buying, offerId, buyAmount, price } = wire;
    return {
      selling,
      buying,
      offerId,
      price: { n: price.d, d: price.n },
      isPassive: false,
      isDeletion: buyAmount === 0n,
      hasValidAmount: buyAmount >= 0n,
      limits: { maxSheepReceive: buyAmount },
    };
  },

  validate: validateOffer,
  apply: (context) => applyOffer(context.body, liabilities(context.body.price, context.body.limits), context),
};
