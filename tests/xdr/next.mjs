// XDR of the next protocol that the SDK's release does not have yet, put into the SDK's schemas: importing this file is enough. When the
// SDK has a part, this file refuses to load until that part is deleted here.
import * as xdr from '@stellar/stellar-sdk/xdr';

/** For the heads of generated files. */
export const next = 'CAP-88';

// The SDK does not export the functions that make schemas, but a schema's class makes others of its kind.
const make = (kind, ...parts) => new kind.constructor(...parts);
const enumWith = (of, members) =>
  make(of, of.name, { ...Object.fromEntries([...of.nameByValue].map(([value, name]) => [name, value])), ...members });
const unionWith = (of, switchOn, cases) => make(of, of.name, switchOn, [...of.cases, ...cases], undefined, of.switchKey);
const fieldOf = (type, name) => type.schema.entries.find(([entry]) => entry === name);
const arm = (name, discriminant, field, schema) => ({ name, discriminant, arm: { kind: 'field', name: field, schema } });

// CAP-88, milliseconds in close times. Its status on 24 November 2026 is Accepted; its XDR is in stellar-xdr (pull requests 316 and 317)
// behind MS_CLOSE_TIME, and js-stellar-sdk (pull request 1697) has it for protocol 30, not released.
const { StellarValue, StellarValueExt, StellarValueProposedValue, StellarValueType } = xdr;
if (StellarValueType.schema.nameByValue.has(3)) throw new Error('the SDK has CAP-88: delete it from tests/xdr/next.mjs');
const closeTimeMs = fieldOf(StellarValue, 'closeTime')[1];
const proposed = StellarValueProposedValue.schema;
const signature = Object.fromEntries([fieldOf(StellarValueProposedValue, 'lcValueSignature')]);
const MsType = enumWith(StellarValueType.schema, { stellarValueSignedMs: 3, stellarValueEmptyTxSetMs: 4 });
const SignedMs = make(proposed, 'StellarValueSignedMsValue', { closeTimeMs, ...signature });
const ProposedMs = make(proposed, 'StellarValueProposedMsValue', { closeTimeMs, ...Object.fromEntries(proposed.entries) });
fieldOf(StellarValue, 'ext')[1] = unionWith(StellarValueExt.schema, MsType, [
  arm('stellarValueSignedMs', 3, 'signedMsValue', SignedMs),
  arm('stellarValueEmptyTxSetMs', 4, 'proposedMsValue', ProposedMs),
]);
