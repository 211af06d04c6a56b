import { isNative, isValidAsset } from '../assets.mjs';
import { accountOf } from '../entries.mjs';
import { Obstacle, credit, debit, missingDestination } from '../transfer.mjs';

const MALFORMED = -1;
const codes = {
  [Obstacle.UNDERFUNDED]: -2,
  [Obstacle.SRC_NO_TRUST]: -3,
  [Obstacle.SRC_NOT_AUTHORIZED]: -4,
  [Obstacle.NO_DESTINATION]: -5,
  [Obstacle.NO_TRUST]: -6,
  [Obstacle.NOT_AUTHORIZED]: -7,
  [Obstacle.LINE_FULL]: -8,
};

/** Core treats it as a path payment without a path: the destination first, then the source. */
export const payment = {
  type: 1,
  level: 'medium',
  body: (wire) => wire.paymentOp,

  validate: ({ amount, asset }) => (amount <= 0n || !isValidAsset(asset) ? MALFORMED : 0),

  apply({ body, source, layer, fail, succeed }) {
    const { asset, amount } = body;
    const destination = accountOf(body.destination);
    if (destination === source && isNative(asset)) return succeed();
    const obstacle =
      missingDestination(layer, destination, { sendAsset: asset, destAsset: asset, path: [] }) ??
      credit(layer, destination, asset, amount) ??
      debit(layer, source, asset, amount);
    return obstacle ? fail(codes[obstacle]) : succeed();
  },
};
