import { accountKey, accountOf } from '../entries.mjs';
import { addBalance, availableBalance } from '../reserves.mjs';

const MALFORMED = -1;
const UNDERFUNDED = -2;
const NO_DESTINATION = -5;
const LINE_FULL = -8;

const NATIVE = 0;

export const payment = {
  type: 1,
  level: 'medium',
  body: (wire) => wire.paymentOp,

  /** There are no trust lines on this network, so nothing but the native asset can be paid. */
  supports: ({ asset }) => asset.type === NATIVE,

  validate: ({ amount }) => (amount <= 0n ? MALFORMED : 0),

  apply({ body, source, layer, fail, succeed }) {
    const destination = accountOf(body.destination);
    if (destination === source) return succeed();
    const receiver = layer.load(accountKey(destination));
    if (!receiver) return fail(NO_DESTINATION);
    if (!addBalance(layer.ledger, receiver, body.amount)) return fail(LINE_FULL);
    const sender = layer.load(accountKey(source));
    if (availableBalance(layer.ledger, sender) < body.amount) return fail(UNDERFUNDED);
    addBalance(layer.ledger, sender, -body.amount);
    return succeed();
  },
};
