import { accountKey, dataKey, newData } from '../entries.mjs';
import { Op } from '../results.mjs';
import { Reserve, chargeEntry, refundEntry } from '../sponsorship.mjs';
import { isPrintable } from './text.mjs';

const NAME_NOT_FOUND = -2;
const LOW_RESERVE = -3;
const INVALID_NAME = -4;

export const manageData = {
  type: 10,
  level: 'medium',
  body: (wire) => wire.manageDataOp,

  validate: ({ dataName }) => (dataName.length < 1 || !isPrintable(dataName.bytes) ? INVALID_NAME : 0),

  apply({ body, source, layer, fail, failAny, succeed }) {
    const name = body.dataName.bytes;
    const key = dataKey(source, name);
    if (body.dataValue === null) {
      const entry = layer.load(key);
      if (!entry) return fail(NAME_NOT_FOUND);
      refundEntry(layer, entry, layer.load(accountKey(source)));
      layer.erase(key);
      return succeed();
    }
    const existing = layer.load(key);
    if (existing) {
      existing.value = body.dataValue;
      return succeed();
    }
    const entry = newData({ id: source, name, value: body.dataValue });
    const reserve = chargeEntry(layer, entry, layer.load(accountKey(source)));
    if (reserve === Reserve.LOW) return fail(LOW_RESERVE);
    if (reserve === Reserve.TOO_MANY_SUBENTRIES) return failAny(Op.TOO_MANY_SUBENTRIES);
    if (reserve === Reserve.TOO_MANY_SPONSORING) return failAny(Op.TOO_MANY_SPONSORING);
    layer.create(entry);
    return succeed();
  },
};
