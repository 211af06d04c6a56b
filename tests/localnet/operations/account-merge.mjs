import { accountKey, accountOf } from '../entries.mjs';
import { addBalance } from '../reserves.mjs';
import { startingSequence } from '../sequence.mjs';
import { isSponsoring, refundEntry, removeSigner } from '../sponsorship.mjs';

const MALFORMED = -1;
const NO_ACCOUNT = -2;
const HAS_SUB_ENTRIES = -4;
const SEQNUM_TOO_FAR = -5;
const DEST_FULL = -6;
const IS_SPONSOR = -7;

export const accountMerge = {
  type: 8,
  level: 'high',
  success: { sourceAccountBalance: 0n },
  body: (wire) => wire,

  validate: ({ destination }, source) => (accountOf(destination) === source ? MALFORMED : 0),

  apply({ body, source, layer, fail, succeed }) {
    const { ledger } = layer;
    const receiver = layer.load(accountKey(accountOf(body.destination)));
    if (!receiver) return fail(NO_ACCOUNT);
    const account = layer.load(accountKey(source));
    if (account.subEntries !== account.signers.length) return fail(HAS_SUB_ENTRIES);
    // If it is created again in this ledger, the account must not start below a sequence number that it has used.
    if (account.sequence >= startingSequence(ledger.sequence)) return fail(SEQNUM_TOO_FAR);
    if (isSponsoring(layer, source) || account.sponsoring > 0) return fail(IS_SPONSOR);

    while (account.signers.length > 0) removeSigner(layer, account.signers[0], account);
    const { balance } = account;
    if (!addBalance(ledger, receiver, balance)) return fail(DEST_FULL);
    refundEntry(layer, account, account);
    layer.erase(accountKey(source));
    return succeed({ sourceAccountBalance: balance });
  },
};
