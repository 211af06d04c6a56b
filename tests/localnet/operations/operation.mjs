// One operation of a transaction, and the kinds of operations that this network implements.

import { accountOf } from '../entries.mjs';
import { Op, operationError, operationResult } from '../results.mjs';
import { schemas } from '../xdr.mjs';
import { accountMerge } from './account-merge.mjs';
import { bumpSequence } from './bump-sequence.mjs';
import { changeTrust } from './change-trust.mjs';
import { createAccount } from './create-account.mjs';
import { invokeHostFunction } from './invoke-host-function.mjs';
import { payment } from './payment.mjs';
import { setOptions } from './set-options.mjs';
import { beginSponsoring, endSponsoring } from './sponsoring.mjs';

/**
 * A kind of operation:
 *   type         its OperationType
 *   level        'low', 'medium' or 'high', or a function from body to one: the threshold that its source's signers must meet
 *   missing      optional, (body) -> the part of it that this network does not implement, as text, or null
 *   validate     (body, source) -> result code; 0 is valid. Looks at nothing but the operation.
 *   success      optional, the initial value of a success
 *   apply        ({body, source, layer, fail, failAny, succeed, ...}) -> OperationResult; the other members of the context are
 *                `network` and the parameters of `Operation.apply`
 */
const kinds = new Map(
  [
    createAccount,
    payment,
    setOptions,
    changeTrust,
    accountMerge,
    bumpSequence,
    beginSponsoring,
    endSponsoring,
    invokeHostFunction,
  ].map((kind) => [kind.type, kind]),
);

const SOROBAN = new Set([24, 25, 26]);

export class Operation {
  #kind;
  #network;

  constructor(wire, transactionSource, network) {
    this.wire = wire;
    this.type = wire.body.type;
    this.hasOwnSource = wire.sourceAccount !== null;
    this.source = this.hasOwnSource ? accountOf(wire.sourceAccount) : transactionSource;
    this.#kind = kinds.get(this.type);
    this.#network = network;
  }

  get name() {
    return schemas.OperationType.nameByValue.get(this.type);
  }

  get hasMuxedSource() {
    return this.hasOwnSource && this.wire.sourceAccount.type !== 0;
  }

  get isSoroban() {
    return SOROBAN.has(this.type);
  }

  /** The part that this network does not implement, as text; null when it implements the operation. */
  get missing() {
    return this.#kind ? (this.#kind.missing?.(this.#body) ?? null) : this.name;
  }

  get isSupported() {
    return this.missing === null;
  }

  get #body() {
    return this.#kind.body(this.wire.body);
  }

  get level() {
    if (!this.#kind) return 'medium';
    const { level } = this.#kind;
    return typeof level === 'function' ? level(this.#body) : level;
  }

  /** What core initializes the result with, before anything was checked. */
  defaultResult() {
    return this.#kind ? operationResult(this.type, 0, this.#kind.success) : operationError(Op.NOT_SUPPORTED);
  }

  /** The result of an operation that can never succeed, or null. */
  validate() {
    if (!this.isSupported) return operationError(Op.NOT_SUPPORTED);
    const code = this.#kind.validate(this.#body, this.source);
    return code === 0 ? null : operationResult(this.type, code);
  }

  /**
   * Changes `layer`, which must be discarded unless the result is a success. `context` has `transaction`, `verifier`, and
   * `effects`, to which the operation adds what else it leaves in the metadata.
   */
  apply(layer, context) {
    return this.#kind.apply({
      ...context,
      network: this.#network,
      body: this.#body,
      source: this.source,
      layer,
      fail: (code) => operationResult(this.type, code),
      failAny: operationError,
      succeed: (fields) => operationResult(this.type, 0, fields),
    });
  }
}
