// The XDR types that fairway decodes, from Stellar's own definitions: xdr.json of the crate stellar-xdr, at the version and digest of
// rust/Cargo.lock (tests/install.sh fetches it). They have the form of the SDK's schemas and the SDK's names: SCVal is ScVal.
import { readFileSync } from 'node:fs';

const read = (path) => readFileSync(new URL(path, import.meta.url), 'utf8');

export const version = /^stellar-xdr = .*"=([\d.]+)"/m.exec(read('rust/Cargo.toml'))[1];

/** What is decoded by its own name. Everything reachable from it is a type, too. */
export const roots = [
  'DiagnosticEvent',
  'LedgerCloseMeta',
  'LedgerEntry',
  'LedgerEntryChanges',
  'LedgerEntryData',
  'LedgerHeader',
  'LedgerHeaderHistoryEntry',
  'LedgerKey',
  'SorobanAuthorizationEntries',
  'SorobanAuthorizationEntry',
  'SorobanTransactionData',
  'TransactionEnvelope',
  'TransactionMeta',
  'TransactionResult',
  'TransactionResultPair',
  'TransactionResultSet',
  'TransactionSignaturePayload',
];

const words = (name) =>
  name.replace(/^UInt/, 'Uint').replace(/([A-Z]+)([A-Z][a-z])/g, '$1_$2').replace(/([a-z0-9])([A-Z])/g, '$1_$2').split('_');
const pascal = (name) => words(name).map((word) => word[0].toUpperCase() + word.slice(1).toLowerCase()).join('');
const camel = (name) => pascal(name).replace(/^./, (first) => first.toLowerCase());
/** In the SDK, Uint256 is a number of four parts. */
const typeName = (name) => (name === 'uint256' ? 'Uint256Bytes' : pascal(name));

const UNBOUNDED = 4294967295;
const makers = {
  array: ({ element, count }) => ({ kind: 'fixedArray', element: schemaOf(element), length: count }),
  bool: () => ({ kind: 'bool' }),
  hyper: () => ({ kind: 'int64' }),
  int: () => ({ kind: 'int32' }),
  opaque_fixed: ({ size }) => ({ kind: 'opaque', length: size }),
  opaque_var: ({ max_size: maxLength = UNBOUNDED }) => ({ kind: 'varOpaque', maxLength }),
  optional: ({ element }) => ({ kind: 'option', element: schemaOf(element) }),
  ref: ({ name }) => named(name),
  string: ({ max_size: maxLength = UNBOUNDED }) => ({ kind: 'string', maxLength }),
  unsigned_hyper: () => ({ kind: 'uint64' }),
  unsigned_int: () => ({ kind: 'uint32' }),
  var_array: ({ element, max_count: maxLength = UNBOUNDED }) => ({ kind: 'array', element: schemaOf(element), maxLength }),
};
const schemaOf = (type) => makers[type.kind](type);

const definitions = new Map(JSON.parse(read('../../build/packages/xdr.json')).definitions.map((each) => [each.name, each]));
const known = new Map();

/**
 * A typedef of opaque bytes is a type, as in the SDK. One of anything else is that, and has a name (alias) where a name is needed: as the
 * element of an array or option.
 */
function fromTypedef({ name, type }) {
  const { name: own, ...schema } = schemaOf(type);
  if (['opaque', 'varOpaque'].includes(schema.kind)) return { name: typeName(name), ...schema };
  return type.kind === 'ref' ? schemaOf(type) : { alias: typeName(name), ...schema };
}

function unionCases({ arms }) {
  return arms.flatMap(({ cases, name, type }) =>
    cases.map(({ name: constant, value }) => ({
      name: constant ? camel(constant) : type ? camel(name) : `v${value}`,
      constant,
      discriminant: value,
      arm: type ? { kind: 'field', name: camel(name), schema: schemaOf(type) } : { kind: 'void' },
    })),
  );
}

/** The schema of a type by its name in the .x files. A type may contain itself. */
function named(name) {
  const definition = definitions.get(name);
  if (known.has(name)) return known.get(name);
  if (definition.kind === 'typedef') {
    known.set(name, fromTypedef(definition));
    return known.get(name);
  }
  const schema = { name: typeName(name), kind: definition.kind };
  known.set(name, schema);
  if (schema.kind === 'struct') schema.entries = definition.fields.map(({ name: field, type }) => [camel(field), schemaOf(type)]);
  if (schema.kind === 'enum') schema.members = definition.members.map(({ name: constant, value }) => ({ name: camel(constant), constant, value }));
  if (schema.kind === 'union') {
    schema.switchKey = definition.discriminant.name;
    schema.switchOn = schemaOf(definition.discriminant.type);
    schema.cases = unionCases(definition);
  }
  return schema;
}

/** [name, schema] of every type, sorted by name. */
export function types() {
  const found = new Map();
  const visit = (schema, name = schema.name) => {
    if (name && found.has(name)) {
      if (found.get(name) !== schema) throw new Error(`two types are called ${name}`);
      return;
    }
    if (name) found.set(name, schema);
    if (schema.element) visit(schema.element, schema.element.name ?? schema.element.alias);
    // The discriminant of a union is not a separate part on the wire, but a type that an operator may ask for.
    if (schema.switchOn?.name) visit(schema.switchOn);
    for (const [, field] of schema.entries ?? []) visit(field);
    for (const { arm } of schema.cases ?? []) if (arm.schema) visit(arm.schema);
  };
  const byName = new Map([...definitions.keys()].map((name) => [typeName(name), name]));
  for (const root of roots) visit(named(byName.get(root)), root);
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
}
