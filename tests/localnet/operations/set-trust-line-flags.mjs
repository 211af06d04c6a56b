import { isNative, isValidAsset, issuerOf, sameAsset } from '../assets.mjs';
import { accountKey, trustLineKey } from '../entries.mjs';
import { AUTHORIZED, CLAWBACK_ENABLED, MAINTAIN_LIABILITIES, maintainsLiabilities } from '../holdings.mjs';
import { hex } from '../network.mjs';
import { removeOffersOf } from '../order-book.mjs';
import { AUTH_REVOCABLE } from './set-options.mjs';

const MALFORMED = -1;
const NO_TRUST_LINE = -2;
const CANT_REVOKE = -3;
const INVALID_STATE = -4;

const BOTH = AUTHORIZED | MAINTAIN_LIABILITIES;
const ALL = BOTH | CLAWBACK_ENABLED;

/** A line is authorized, or may only keep its liabilities, or neither; never both. */
const isContradictory = (flags) => (flags & BOTH) === BOTH;

const areFlagsMalformed = ({ setFlags, clearFlags }) =>
  (setFlags & clearFlags) !== 0 ||
  (setFlags & ~BOTH) !== 0 ||
  isContradictory(setFlags) ||
  (clearFlags & ~ALL) !== 0;

export const setTrustLineFlags = {
  type: 21,
  level: 'low',
  body: (wire) => wire.setTrustLineFlagsOp,

  validate(body, source) {
    const { asset, trustor } = body;
    if (isNative(asset) || !isValidAsset(asset) || issuerOf(asset) !== source) return MALFORMED;
    return hex(trustor.ed25519) === source || areFlagsMalformed(body) ? MALFORMED : 0;
  },

  apply({ body, source, layer, fail, succeed }) {
    const { asset, setFlags, clearFlags } = body;
    const trustor = hex(body.trustor.ed25519);
    const revokes = (clearFlags & BOTH) !== 0 && (setFlags & AUTHORIZED) === 0;
    if (revokes && !(layer.peek(accountKey(source)).flags & AUTH_REVOCABLE)) return fail(CANT_REVOKE);

    const line = layer.load(trustLineKey(trustor, asset));
    if (!line) return fail(NO_TRUST_LINE);
    const flags = (line.flags & ~clearFlags) | setFlags;
    if (isContradictory(flags)) return fail(INVALID_STATE);
    if (maintainsLiabilities(line) && !maintainsLiabilities({ flags }))
      removeOffersOf(layer, trustor, ({ selling, buying }) => sameAsset(selling, asset) || sameAsset(buying, asset));
    line.flags = flags;
    return succeed();
  },
};
