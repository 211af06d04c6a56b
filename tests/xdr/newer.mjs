// Puts what the SDK's release lacks of the protocol (newer.json, which generate-schema.mjs writes) into the SDK's schemas: importing this
// file is enough. When the SDK lacks nothing, both files go.
import { readFileSync } from 'node:fs';
import * as xdr from '@stellar/stellar-sdk/xdr';

const newer = JSON.parse(readFileSync(new URL('newer.json', import.meta.url)));

// The SDK does not export the functions that make schemas, but a schema's class makes others of its kind.
const make = (like, ...parts) => new like.constructor(...parts);
const fieldOf = (type, name) => xdr[type].schema.entries.find(([entry]) => entry === name)[1];
const integers = { Uint32: fieldOf('LedgerHeader', 'ledgerSeq'), Uint64: fieldOf('StellarValue', 'closeTime') };
const added = new Map();

/** Schemas refer to each other, so one that gets more arms stays the same object and reads and writes as its replacement. */
function replace(schema, by) {
  const [_read, _write] = [by._read.bind(by), by._write.bind(by)];
  return Object.assign(schema, by, { _read, _write });
}

function schemaOf(name) {
  const schema = integers[name] ?? added.get(name) ?? xdr[name]?.schema;
  if (schema && (added.has(name) || !newer[name])) return schema;
  added.set(name, schema); // also while its arms are read
  added.set(name, extended(name, schema, newer[name]));
  return added.get(name);
}

function extended(name, schema, more) {
  if (!schema) return make(xdr.StellarValue.schema, name, Object.fromEntries(Object.entries(more).map(([field, type]) => [field, schemaOf(type)])));
  if (schema.kind === 'enum') {
    const members = [...schema.nameByValue].map(([value, member]) => [member, value]);
    return replace(schema, make(schema, name, Object.fromEntries([...members, ...more.map((each) => [each.name, each.value])])));
  }
  const arms = more.map(({ name: arm, value, field, type }) => ({
    name: arm,
    discriminant: value,
    arm: type ? { kind: 'field', name: field, schema: schemaOf(type) } : { kind: 'void' },
  }));
  return replace(schema, make(schema, name, schemaOf(schema.switchOn.name), [...schema.cases, ...arms], undefined, schema.switchKey));
}

for (const name of Object.keys(newer)) schemaOf(name);
