import { accountKey } from '../entries.mjs';
import { recordSequence } from '../sequence.mjs';

const BAD_SEQ = -1;

export const bumpSequence = {
  type: 11,
  level: 'low',
  body: (wire) => wire.bumpSequenceOp,

  validate: ({ bumpTo }) => (bumpTo < 0n ? BAD_SEQ : 0),

  apply({ body, source, layer, succeed }) {
    const account = layer.load(accountKey(source));
    recordSequence(layer.ledger, account, body.bumpTo > account.sequence ? body.bumpTo : account.sequence);
    return succeed();
  },
};
