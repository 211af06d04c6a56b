import { isNative, isPoolShare, isValidAsset, issuerOf } from '../assets.mjs';
import { accountKey, newTrustLine, trustLineKey } from '../entries.mjs';
import { Op } from '../results.mjs';
import { Reserve, chargeEntry, refundEntry } from '../sponsorship.mjs';

const MALFORMED = -1;
const NO_ISSUER = -2;
const INVALID_LIMIT = -3;
const LOW_RESERVE = -4;

const create = ({ body, source, layer, fail, failAny, succeed }) => {
  if (body.limit === 0n) return fail(INVALID_LIMIT);
  if (!layer.peek(accountKey(issuerOf(body.line)))) return fail(NO_ISSUER);
  const line = newTrustLine({ id: source, asset: body.line, limit: body.limit });
  const reserve = chargeEntry(layer, line, layer.load(accountKey(source)));
  if (reserve === Reserve.LOW) return fail(LOW_RESERVE);
  if (reserve === Reserve.TOO_MANY_SUBENTRIES) return failAny(Op.TOO_MANY_SUBENTRIES);
  if (reserve === Reserve.TOO_MANY_SPONSORING) return failAny(Op.TOO_MANY_SPONSORING);
  layer.create(line);
  return succeed();
};

export const changeTrust = {
  type: 6,
  level: 'medium',
  body: (wire) => wire.changeTrustOp,

  missing: ({ line }) => (isPoolShare(line) ? 'changeTrust for shares of a liquidity pool' : null),

  validate: ({ line, limit }, source) =>
    limit < 0n || isNative(line) || !isValidAsset(line) || issuerOf(line) === source ? MALFORMED : 0,

  apply(context) {
    const { body, source, layer, fail, succeed } = context;
    const key = trustLineKey(source, body.line);
    const line = layer.load(key);
    if (!line) return create(context);
    if (body.limit < line.balance) return fail(INVALID_LIMIT);
    if (body.limit === 0n) {
      refundEntry(layer, line, layer.load(accountKey(source)));
      layer.erase(key);
      return succeed();
    }
    if (!layer.peek(accountKey(issuerOf(body.line)))) return fail(NO_ISSUER);
    line.limit = body.limit;
    return succeed();
  },
};
