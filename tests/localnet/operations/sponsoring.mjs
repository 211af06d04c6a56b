import { hex } from '../network.mjs';
import * as sponsorship from '../sponsorship.mjs';

const MALFORMED = -1;
const ALREADY_SPONSORED = -2;
const RECURSIVE = -3;
const NOT_SPONSORED = -1;

export const beginSponsoring = {
  type: 16,
  level: 'medium',
  body: (wire) => wire.beginSponsoringFutureReservesOp,

  validate: ({ sponsoredId }, source) => (hex(sponsoredId.ed25519) === source ? MALFORMED : 0),

  apply({ body, source, layer, fail, succeed }) {
    const sponsored = hex(body.sponsoredId.ed25519);
    if (sponsorship.sponsorOf(layer, sponsored)) return fail(ALREADY_SPONSORED);
    if (sponsorship.sponsorOf(layer, source) || sponsorship.isSponsoring(layer, sponsored)) return fail(RECURSIVE);
    sponsorship.beginSponsoring(layer, source, sponsored);
    return succeed();
  },
};

export const endSponsoring = {
  type: 17,
  level: 'medium',
  body: (wire) => wire,

  validate: () => 0,

  apply({ source, layer, fail, succeed }) {
    if (!sponsorship.sponsorOf(layer, source)) return fail(NOT_SPONSORED);
    sponsorship.endSponsoring(layer, source);
    return succeed();
  },
};
