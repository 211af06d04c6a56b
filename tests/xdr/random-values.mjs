// Random values of any type that the SDK describes, as the plain objects that schema.encode() takes.
import { parts, unwrap } from './closure.mjs';

/** A small seeded generator (mulberry32), so that a failure can be repeated. */
export function randomFrom(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return { below: (n) => Math.floor(next() * n), chance: (p) => next() < p };
}

// The minimum nesting depth of a type's values. A depth beyond every budget means infinite recursion.
const heights = new Map();
function height(schema) {
  const s = unwrap(schema);
  if (heights.has(s)) return heights.get(s);
  heights.set(s, Infinity);
  const below =
    s.kind === 'union'
      ? Math.min(...s.cases.map(armHeight))
      : s.kind === 'struct' || s.kind === 'fixedArray'
        ? Math.max(...parts(s).map(height))
        : 0; // an array or option can be empty
  heights.set(s, below + 1);
  return below + 1;
}
const armHeight = ({ arm }) => (arm.kind === 'void' ? 0 : height(arm.schema));

/**
 * Generates values from random numbers. used: "Union.arm" and "Enum.value" of everything in the last value. arms: the
 * number of values that had each. After about `budget` parts a value is completed as quickly as possible.
 */
export class Values {
  constructor(random, budget = 200) {
    this.random = random;
    this.budget = budget;
    this.arms = new Map();
  }

  /** A value of the type; for a union or enum of the given case, or of any. */
  make(schema, chosen) {
    this.left = this.budget;
    this.used = new Set();
    const value = this.#value(unwrap(schema), chosen);
    for (const name of this.used) this.arms.set(name, (this.arms.get(name) ?? 0) + 1);
    return value;
  }

  #value(s, chosen) {
    this.left--;
    switch (s.kind) {
      case 'bool':
        return this.random.chance(0.5);
      case 'int32':
        return this.#bits(32) | 0;
      case 'uint32':
        return Number(BigInt.asUintN(32, this.#bits64()));
      case 'int64':
        return BigInt.asIntN(64, this.#bits64());
      case 'uint64':
        return BigInt.asUintN(64, this.#bits64());
      case 'opaque':
        return this.#bytes(s.length);
      case 'varOpaque':
      case 'string':
        return this.#bytes(this.#length(s.maxLength, 40));
      case 'fixedArray':
        return Array.from({ length: s.length }, () => this.#value(unwrap(s.element)));
      case 'array':
        return Array.from({ length: this.left > 0 ? this.#length(s.maxLength, 4) : 0 }, () => this.#value(unwrap(s.element)));
      case 'option':
        return this.left > 0 && this.random.chance(0.6) ? this.#value(unwrap(s.element)) : null;
      case 'struct':
        return this.#struct(s);
      case 'enum':
        return this.#enum(s, chosen);
      case 'union':
        return this.#union(s, chosen);
      default:
        throw new Error(`no values of kind ${s.kind}`);
    }
  }

  #struct(s) {
    return Object.fromEntries(s.entries.map(([name, field]) => [name, this.#value(unwrap(field))]));
  }

  #enum(s, chosen) {
    const values = [...s.nameByValue.keys()];
    const value = chosen ?? values[this.random.below(values.length)];
    this.used.add(`${s.name}.${s.nameByValue.get(value)}`);
    return value;
  }

  #union(s, chosen) {
    let cases = s.cases;
    if (this.left <= 0) {
      const least = Math.min(...cases.map(armHeight));
      cases = cases.filter((c) => armHeight(c) === least);
    }
    const { name, discriminant, arm } = chosen ?? cases[this.random.below(cases.length)];
    this.used.add(`${s.name}.${name}`);
    const value = { [s.switchKey]: discriminant };
    if (arm.kind !== 'void') value[arm.name] = this.#value(unwrap(arm.schema));
    return value;
  }

  #bits(n) {
    return this.random.below(2 ** n);
  }

  // Mostly any number, often one of the limits.
  #bits64() {
    const edges = [0n, 1n, -1n, 2n ** 31n, 2n ** 31n - 1n, 2n ** 32n, 2n ** 63n, 2n ** 63n - 1n];
    if (this.random.chance(0.3)) return edges[this.random.below(edges.length)];
    return (BigInt(this.#bits(32)) << 32n) | BigInt(this.#bits(32));
  }

  #bytes(length) {
    return Uint8Array.from({ length }, () => this.random.below(256));
  }

  #length(max, usual) {
    if (max <= 100 && this.random.chance(0.1)) return max;
    return this.random.below(Math.min(max, usual) + 1);
  }
}
