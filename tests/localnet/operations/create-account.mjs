import { accountKey, newAccount } from '../entries.mjs';
import { hex } from '../network.mjs';
import { addBalance, availableBalance } from '../reserves.mjs';
import { Op } from '../results.mjs';
import { startingSequence } from '../sequence.mjs';
import { Reserve, chargeEntry } from '../sponsorship.mjs';

const MALFORMED = -1;
const UNDERFUNDED = -2;
const LOW_RESERVE = -3;
const ALREADY_EXIST = -4;

export const createAccount = {
  type: 0,
  level: 'medium',
  body: (wire) => wire.createAccountOp,

  validate: ({ destination, startingBalance }, source) =>
    startingBalance < 0n || hex(destination.ed25519) === source ? MALFORMED : 0,

  apply({ body, source, layer, fail, failAny, succeed }) {
    const id = hex(body.destination.ed25519);
    const { ledger } = layer;
    if (layer.peek(accountKey(id))) return fail(ALREADY_EXIST);

    const account = newAccount({ id, balance: body.startingBalance, sequence: startingSequence(ledger.sequence) });
    const reserve = chargeEntry(layer, account, account);
    if (reserve === Reserve.LOW) return fail(LOW_RESERVE);
    if (reserve === Reserve.TOO_MANY_SPONSORING) return failAny(Op.TOO_MANY_SPONSORING);

    const payer = layer.load(accountKey(source));
    if (availableBalance(ledger, payer) < body.startingBalance) return fail(UNDERFUNDED);
    addBalance(ledger, payer, -body.startingBalance);
    layer.create(account);
    return succeed();
  },
};
