// Writes include/xdr/types.h and src/xdr/schema.c from the type definitions that @stellar/stellar-sdk exposes at run
// time and those of the next protocol (next.mjs), closed over the types that fairway decodes.
//
//     node tests/xdr/generate-schema.mjs            writes both files
//     node tests/xdr/generate-schema.mjs --check    exit 1 when a committed file is not what would be written
//
// src/xdr/schema.h explains the steps.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { closure, typedefs, unwrap } from './closure.mjs';
import { next } from './next.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const sdk = JSON.parse(readFileSync(join(root, 'tests/node_modules/@stellar/stellar-sdk/package.json')));
const types = closure();

// Inline types of the SDK's definitions get a name when they are an element, because a step refers to its element by name.
const anonymousNames = new Map([...typedefs].map(([name, schema]) => [describe(schema), name]));

function describe(schema) {
  const s = unwrap(schema);
  if (s.name) return s.name;
  if (s.element) return `${s.kind}<${describe(s.element)}>{${s.maxLength ?? s.length ?? ''}}`;
  return `${s.kind}${s.maxLength ?? s.length ?? ''}`;
}

function typeName(schema) {
  const s = unwrap(schema);
  if (s.name) return s.name;
  const name = anonymousNames.get(describe(s));
  if (!name) throw new Error(`an anonymous element type needs a name in closure.mjs: ${describe(s)}`);
  return name;
}

// The size of a type whose values all have the same size and are valid with any bytes, else 0. Such bytes need no
// check.
function plainSize(schema) {
  const s = unwrap(schema);
  switch (s.kind) {
    case 'int32':
    case 'uint32':
      return 4;
    case 'int64':
    case 'uint64':
      return 8;
    case 'opaque':
      if (s.length % 4 !== 0) throw new Error(`${describe(s)}: fixed opaque with padding is not supported`);
      return s.length;
    case 'fixedArray':
      return s.length * plainSize(s.element);
    case 'struct': {
      const sizes = s.entries.map(([, field]) => plainSize(field));
      return sizes.includes(0) ? 0 : sizes.reduce((sum, size) => sum + size, 0);
    }
    default:
      return 0;
  }
}

const lengthText = (length) => (length === 4294967295 ? 'UINT32_MAX' : String(length));

function step(schema) {
  const s = unwrap(schema);
  const plain = plainSize(s);
  if (plain > 0) return `BYTES(${plain})`;
  switch (s.kind) {
    case 'bool':
      return 'BOOL';
    case 'varOpaque':
    case 'string':
      return `OPAQUE(${lengthText(s.maxLength)})`;
    case 'array':
      return `ARRAY(${typeName(s.element)}, ${lengthText(s.maxLength)})`;
    case 'option':
      return `OPTION(${typeName(s.element)})`;
    case 'struct':
      return `TYPE(${typeName(s)})`;
    case 'union':
    case 'enum':
      return `UNION(${typeName(s)})`;
    default:
      throw new Error(`${describe(s)}: kind ${s.kind} is not supported`);
  }
}

// The fields of a struct as steps; neighbouring fields that need no check become one step.
function structSteps(entries) {
  const steps = [];
  for (const [name, field] of entries) {
    const size = plainSize(field);
    const last = steps.at(-1);
    if (size > 0 && last?.size > 0) {
      last.size += size;
      last.text = `BYTES(${last.size})`;
      last.names.push(name);
    } else steps.push({ text: step(field), size, names: [name] });
  }
  return steps.map(({ text, names }) => [text, names.join(', ')]);
}

function arms(s) {
  const list =
    s.kind === 'enum'
      ? [...s.nameByValue].map(([value, name]) => ({ value, name, text: 'NOTHING' }))
      : s.cases.map(({ discriminant, name, arm }) => ({
          value: discriminant,
          name,
          text: arm.kind === 'void' ? 'NOTHING' : step(arm.schema),
        }));
  if (s.kind === 'union' && s.defaultArm) throw new Error(`${s.name}: a default arm is not supported`);
  return list.sort((a, b) => a.value - b.value);
}

// Results have the names of the .x files, which the SDK writes in camel case: paymentUnderfunded, opBadAuth.
const isResult = (name) => /^(?!.*Transaction).*Result(Tr)?$/.test(name);
function constant(name) {
  const [, op = '', rest] = /^(op(?=[A-Z]))?(.*)$/.exec(name);
  return op + rest.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase();
}
const names = (name, list) =>
  isResult(name)
    ? `static const char *const ${name}_names[] = {\n${list.map((arm) => `    "${constant(arm.name)}",\n`).join('')}};\n`
    : '';

// Every value has at least four bytes, so that the length of the input limits the work.
function checkNoEmptyType(name, s) {
  if (s.entries?.length === 0 || s.length === 0) throw new Error(`${name} is empty`);
}

function definition([name, schema]) {
  const s = unwrap(schema);
  checkNoEmptyType(name, s);
  const table = (type, rows) =>
    `static const struct ${type} ${name}[] = {\n${rows.map(([text, note]) => `    ${text},${note ? ` /* ${note} */` : ''}\n`).join('')}};\n`;
  if (s.kind === 'enum' || s.kind === 'union')
    return (
      table(
        'xdr_arm',
        arms(s).map(({ value, name: arm, text }) => [`{${value}, ${text}}`, arm]),
      ) + names(name, arms(s))
    );
  if (s.kind === 'struct' && plainSize(s) === 0) return table('xdr_step', [...structSteps(s.entries), ['END']]);
  return table('xdr_step', [[step(s)], ['END']]);
}

const isChoice = (schema) => ['enum', 'union'].includes(unwrap(schema).kind);
const row = ([name, schema]) => `    ${isChoice(schema) ? (isResult(name) ? 'RESULT' : 'CHOICE') : 'SEQUENCE'}(${name}, ${plainSize(schema)}),\n`;

const origin = `Generated by tests/xdr/generate-schema.mjs from @stellar/stellar-sdk ${sdk.version} and ${next}. Do not edit.`;

const header = `/*
 * ${origin}
 *
 * The XDR types that fairway decodes, under the names that the SDK gives them (SCVal is ScVal).
 */
#ifndef FAIRWAY_XDR_TYPES_H
#define FAIRWAY_XDR_TYPES_H

/* clang-format off */
enum xdr_type {
${types.map(([name]) => `    XDR_${name},\n`).join('')}    XDR_TYPE_COUNT
};
/* clang-format on */

#endif
`;

const source = `/*
 * ${origin}
 *
 * A struct is its steps, a union or enum its arms by discriminant. See schema.h.
 */
#include "schema.h"

/* clang-format off */
${types.map(definition).join('\n')}
const struct xdr_type_info xdr_types[XDR_TYPE_COUNT] = {
${types.map(row).join('')}};
`;

let stale = 0;
for (const [path, text] of [
  ['include/xdr/types.h', header],
  ['src/xdr/schema.c', source],
]) {
  const file = join(root, path);
  if (!process.argv.includes('--check')) writeFileSync(file, text);
  else if (readFileSync(file, 'utf8') !== text) {
    console.error(`${path} is not what @stellar/stellar-sdk ${sdk.version} with ${next} gives: run node tests/xdr/generate-schema.mjs`);
    stale++;
  }
}
process.exit(stale ? 1 : 0);
