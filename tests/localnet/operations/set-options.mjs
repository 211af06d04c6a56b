import { accountKey, newSigner } from '../entries.mjs';
import { hex } from '../network.mjs';
import { Op } from '../results.mjs';
import { ED25519 } from '../signatures.mjs';
import { Reserve, chargeSigner, removeSigner } from '../sponsorship.mjs';

const LOW_RESERVE = -1;
const TOO_MANY_SIGNERS = -2;
const INVALID_INFLATION = -4;
const THRESHOLD_OUT_OF_RANGE = -7;
const BAD_SIGNER = -8;
const INVALID_HOME_DOMAIN = -9;

const MAX_SIGNERS = 20;
const UINT8_MAX = 255;

const thresholdFields = ['masterWeight', 'lowThreshold', 'medThreshold', 'highThreshold'];

/** Core accepts plain ASCII without control characters. (isStringValid) */
const isPrintable = (bytes) => bytes.every((byte) => byte >= 0x20 && byte < 0x7f);

const isBadSigner = ({ key, weight }, source) => hex(key.ed25519) === source || weight > UINT8_MAX;

/** Returns the result code, or a result of any operation wrapped in an object. */
const setSigner = (layer, account, { key, weight }) => {
  const wanted = newSigner(key, weight);
  const existing = account.signers.find((signer) => signer.key === wanted.key);
  if (weight === 0) {
    if (existing) removeSigner(layer, existing, account);
    return 0;
  }
  if (existing) {
    existing.weight = weight;
    return 0;
  }
  if (account.signers.length === MAX_SIGNERS) return TOO_MANY_SIGNERS;
  const position = account.signers.findIndex((signer) => signer.key > wanted.key);
  account.signers.splice(position < 0 ? account.signers.length : position, 0, wanted);
  const reserve = chargeSigner(layer, wanted, account);
  if (reserve === Reserve.LOW) return LOW_RESERVE;
  if (reserve === Reserve.TOO_MANY_SUBENTRIES) return { any: Op.TOO_MANY_SUBENTRIES };
  if (reserve === Reserve.TOO_MANY_SPONSORING) return { any: Op.TOO_MANY_SPONSORING };
  return 0;
};

export const setOptions = {
  type: 5,
  level: (body) => (body.signer || thresholdFields.some((field) => body[field] !== null) ? 'high' : 'medium'),
  body: (wire) => wire.setOptionsOp,

  missing: ({ setFlags, clearFlags, signer }) =>
    setFlags || clearFlags ? 'flags of an account' : signer && signer.key.type !== ED25519 ? 'signers that are no keys' : null,

  validate(body, source) {
    if (thresholdFields.some((field) => body[field] > UINT8_MAX)) return THRESHOLD_OUT_OF_RANGE;
    if (body.signer && isBadSigner(body.signer, source)) return BAD_SIGNER;
    if (body.homeDomain && !isPrintable(body.homeDomain.bytes)) return INVALID_HOME_DOMAIN;
    return 0;
  },

  apply({ body, source, layer, fail, failAny, succeed }) {
    const account = layer.load(accountKey(source));
    if (body.inflationDest) {
      const destination = hex(body.inflationDest.ed25519);
      if (!layer.peek(accountKey(destination))) return fail(INVALID_INFLATION);
      account.inflationDestination = destination;
    }
    if (body.homeDomain) account.homeDomain = body.homeDomain.bytes;
    thresholdFields.forEach((field, index) => {
      if (body[field] !== null) account.thresholds[index] = body[field];
    });
    const signer = body.signer ? setSigner(layer, account, body.signer) : 0;
    if (signer.any) return failAny(signer.any);
    return signer === 0 ? succeed() : fail(signer);
  },
};
