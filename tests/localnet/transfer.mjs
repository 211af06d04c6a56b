// Moves an amount of an asset from one account to another, for all kinds of payments.
// (core: PathPaymentOpFrameBase.cpp)

import { isNative, issuerOf, sameAsset } from './assets.mjs';
import { accountKey } from './entries.mjs';
import { loadHolding } from './holdings.mjs';

/** Why a payment is impossible; each kind of payment has result codes for these reasons. */
export const Obstacle = Object.freeze({
  UNDERFUNDED: 'UNDERFUNDED',
  SRC_NO_TRUST: 'SRC_NO_TRUST',
  SRC_NOT_AUTHORIZED: 'SRC_NOT_AUTHORIZED',
  NO_DESTINATION: 'NO_DESTINATION',
  NO_TRUST: 'NO_TRUST',
  NOT_AUTHORIZED: 'NOT_AUTHORIZED',
  LINE_FULL: 'LINE_FULL',
});

/** Null, or the reason; then the layer must be discarded. */
export const credit = (layer, id, asset, amount) => {
  const holding = loadHolding(layer, id, asset);
  if (!holding) return Obstacle.NO_TRUST;
  if (!holding.isAuthorized) return Obstacle.NOT_AUTHORIZED;
  return holding.add(amount) ? null : Obstacle.LINE_FULL;
};

export const debit = (layer, id, asset, amount) => {
  const holding = loadHolding(layer, id, asset);
  if (!holding) return Obstacle.SRC_NO_TRUST;
  if (!holding.isAuthorized) return Obstacle.SRC_NOT_AUTHORIZED;
  return holding.add(-amount) ? null : Obstacle.UNDERFUNDED;
};

/** The destination must exist, unless it is the issuer and its own asset is paid directly. */
export const missingDestination = (layer, destination, { sendAsset, destAsset, path }) => {
  const goesBack =
    !isNative(destAsset) &&
    path.length === 0 &&
    sameAsset(sendAsset, destAsset) &&
    issuerOf(destAsset) === destination;
  return goesBack || layer.peek(accountKey(destination)) ? null : Obstacle.NO_DESTINATION;
};
