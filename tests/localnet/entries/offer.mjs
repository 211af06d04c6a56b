// Offers: an account sells one asset for another at a price. `pair` is the side of the order book.

import { assetName } from '../assets.mjs';
import { hex } from '../network.mjs';
import { publicKey } from '../xdr.mjs';

const OFFER = 2;
export const PASSIVE = 1;

export const offerKey = (id, offerId) => `offer ${id} ${offerId}`;

export const pairName = (selling, buying) => `${assetName(selling)} for ${assetName(buying)}`;

export const newOffer = ({ id, offerId, selling, buying, amount, price, flags = 0, sponsor }) => ({
  kind: 'offer',
  id,
  offerId,
  selling,
  buying,
  amount,
  price,
  flags,
  pair: pairName(selling, buying),
  sponsor,
  modified: 0,
});

/** The OfferEntry, which is also part of results. */
export const offerToWire = ({ id, offerId, selling, buying, amount, price, flags }) => ({
  sellerId: publicKey(id),
  offerId,
  selling,
  buying,
  amount,
  price,
  flags,
  ext: { v: 0 },
});

export const offer = {
  kind: 'offer',
  type: OFFER,
  keyOf: ({ id, offerId }) => offerKey(id, offerId),
  keyToWire: ({ id, offerId }) => ({ type: OFFER, offer: { sellerId: publicKey(id), offerId } }),
  keyFromWire: ({ offer: { sellerId, offerId } }) => offerKey(hex(sellerId.ed25519), offerId),
  toWire: (entry) => ({ type: OFFER, offer: offerToWire(entry) }),
  fromWire: ({ offer: { sellerId, ext, ...fields } }) => newOffer({ id: hex(sellerId.ed25519), ...fields }),
};
