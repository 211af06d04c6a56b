// The XDR types that fairway decodes: everything reachable from the roots, as run-time schemas of the SDK, with what newer.mjs adds to them.
import * as xdr from '@stellar/stellar-sdk/xdr';
import './newer.mjs';

const roots = [
  'DiagnosticEvent',
  'LedgerCloseMeta',
  'LedgerEntry',
  'LedgerEntryData',
  'LedgerHeader',
  'LedgerHeaderHistoryEntry',
  'LedgerKey',
  'SorobanAuthorizationEntry',
  'SorobanTransactionData',
  'TransactionEnvelope',
  'TransactionMeta',
  'TransactionResult',
  'TransactionResultPair',
  'TransactionResultSet',
  'TransactionSignaturePayload',
];

/** A recursive type refers to itself through a lazy schema. */
export function unwrap(schema) {
  while (schema.kind === 'lazy') schema = schema.getSchema();
  return schema;
}

const field = (type, name) => unwrap(xdr[type].schema.entries.find(([entry]) => entry === name)[1]);
const arm = (type, name) => unwrap(xdr[type].schema.cases.find((entry) => entry.name === name).arm.schema);
const element = (schema) => unwrap(schema.element);

/**
 * Types without a name in the SDK: typedefs of the protocol that we want to name, and element types of arrays and
 * options.
 */
const stages = field('ParallelTxsComponent', 'executionStages');
export const typedefs = new Map([
  ['DependentTxCluster', element(element(stages))],
  ['Int64', element(field('PreconditionsV2', 'minSeqNum'))],
  ['LedgerEntryChanges', field('UpgradeEntryMeta', 'changes')],
  ['ParallelTxExecutionStage', element(stages)],
  ['ScMap', element(arm('ScVal', 'scvMap'))],
  ['ScVec', element(arm('ScVal', 'scvVec'))],
  ['SorobanAuthorizationEntries', field('InvokeHostFunctionOp', 'auth')],
  ['SponsorshipDescriptor', element(field('AccountEntryExtensionV2', 'signerSponsoringIDs'))],
  ['String32', element(field('SetOptionsOp', 'homeDomain'))],
  ['Uint32', element(field('SetOptionsOp', 'setFlags'))],
  ['Uint64', element(arm('ConfigSettingEntry', 'configSettingLiveSorobanStateSizeWindow'))],
]);

/** The schemas that a schema refers to. */
export function parts(schema) {
  const s = unwrap(schema);
  if (s.element) return [s.element];
  if (s.entries) return s.entries.map(([, entry]) => entry);
  if (s.cases) return s.cases.flatMap(({ arm: { schema: of } }) => of ?? []);
  return [];
}

/** [name, schema] of every type, sorted by name. */
export function closure() {
  const found = new Map(typedefs);
  const visit = (schema) => {
    const s = unwrap(schema);
    if (s.name) {
      if (found.has(s.name)) {
        if (found.get(s.name) !== s) throw new Error(`two types are called ${s.name}`);
        return;
      }
      found.set(s.name, s);
    }
    // The discriminant of a union is not a separate part on the wire, but a type that an operator may ask for.
    if (s.kind === 'union' && unwrap(s.switchOn).name) visit(s.switchOn);
    parts(s).forEach(visit);
  };
  for (const name of roots) visit(xdr[name].schema);
  for (const schema of typedefs.values()) parts(schema).forEach(visit);
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
}
