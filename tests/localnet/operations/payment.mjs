import { isNative, isValidAsset, issuerOf } from '../assets.mjs';
import { accountKey, accountOf, keyOf } from '../entries.mjs';
import { addHolding } from '../holdings.mjs';

const MALFORMED = -1;
const UNDERFUNDED = -2;
const SRC_NO_TRUST = -3;
const NO_DESTINATION = -5;
const NO_TRUST = -6;
const LINE_FULL = -8;

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
    const add = (id, delta) => addHolding((like) => layer.load(keyOf(like)), layer.ledger, id, asset, delta);
    if (issuerOf(asset) !== destination && !layer.peek(accountKey(destination))) return fail(NO_DESTINATION);
    const credited = add(destination, amount);
    if (!credited) return fail(credited === null ? NO_TRUST : LINE_FULL);
    const debited = add(source, -amount);
    if (!debited) return fail(debited === null ? SRC_NO_TRUST : UNDERFUNDED);
    return succeed();
  },
};
