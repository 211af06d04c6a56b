// Results of operations and transactions in their XDR form.

import { encode, schemas } from './xdr.mjs';

export const Tx = Object.freeze({
  FEE_BUMP_INNER_SUCCESS: 1,
  SUCCESS: 0,
  FAILED: -1,
  TOO_EARLY: -2,
  TOO_LATE: -3,
  MISSING_OPERATION: -4,
  BAD_SEQ: -5,
  BAD_AUTH: -6,
  INSUFFICIENT_BALANCE: -7,
  NO_ACCOUNT: -8,
  INSUFFICIENT_FEE: -9,
  BAD_AUTH_EXTRA: -10,
  INTERNAL_ERROR: -11,
  NOT_SUPPORTED: -12,
  FEE_BUMP_INNER_FAILED: -13,
  BAD_SPONSORSHIP: -14,
  BAD_MIN_SEQ_AGE_OR_GAP: -15,
  MALFORMED: -16,
  SOROBAN_INVALID: -17,
});

export const Op = Object.freeze({
  INNER: 0,
  BAD_AUTH: -1,
  NO_ACCOUNT: -2,
  NOT_SUPPORTED: -3,
  TOO_MANY_SUBENTRIES: -4,
  EXCEEDED_WORK_LIMIT: -5,
  TOO_MANY_SPONSORING: -6,
});

const resultArm = new Map(schemas.OperationResultTr.cases.map(({ discriminant, arm }) => [discriminant, arm.name]));

/** An operation's own result: `code` 0 is success; `fields` are those of its success. */
export const operationResult = (type, code, fields = {}) => ({ code: Op.INNER, tr: { type, [resultArm.get(type)]: { code, ...fields } } });

/** A result that any operation can have, one of Op. */
export const operationError = (code) => ({ code });

export const isSuccess = (result) => result.code === Op.INNER && result.tr[resultArm.get(result.tr.type)].code === 0;

/** The outcome of one transaction. For a fee bump, most rules set the inner transaction's code and operations. */
export class Outcome {
  #transaction;
  #outerError = null;

  constructor(transaction, feeCharged) {
    this.#transaction = transaction;
    this.feeCharged = feeCharged;
    this.code = Tx.SUCCESS;
    this.operations = transaction.operations.map((operation) => operation.defaultResult());
  }

  /** The innermost code: of the inner transaction if it is a fee bump. */
  fail(code) {
    this.code = code;
    return this;
  }

  /** For a fee bump that failed before its inner transaction was considered; for any other transaction the same as `fail`. */
  failOuter(code, feeCharged = this.feeCharged) {
    this.#outerError = code;
    this.feeCharged = feeCharged;
    return this;
  }

  get ok() {
    return this.code === Tx.SUCCESS && this.#outerError === null;
  }

  /** The code in the TransactionResult itself. */
  get outerCode() {
    if (this.#outerError !== null) return this.#outerError;
    if (!this.#transaction.isFeeBump) return this.code;
    return this.code === Tx.SUCCESS ? Tx.FEE_BUMP_INNER_SUCCESS : Tx.FEE_BUMP_INNER_FAILED;
  }

  #inside() {
    const hasOperations = this.code === Tx.SUCCESS || this.code === Tx.FAILED;
    return hasOperations ? { code: this.code, results: this.operations } : { code: this.code };
  }

  toWire() {
    const ext = { v: 0 };
    if (this.#outerError !== null) return { feeCharged: this.feeCharged, result: { code: this.#outerError }, ext };
    if (!this.#transaction.isFeeBump) return { feeCharged: this.feeCharged, result: this.#inside(), ext };
    const innerResultPair = {
      transactionHash: this.#transaction.inner.hash,
      // Since protocol 25 the inner fee is always reported as 0.
      result: { feeCharged: 0n, result: this.#inside(), ext },
    };
    return { feeCharged: this.feeCharged, result: { code: this.outerCode, innerResultPair }, ext };
  }

  toXdr() {
    return encode('TransactionResult', this.toWire());
  }
}
