// The SDK's XDR schemas, with what newer.mjs adds to them. The network works on plain wire objects (`schema.decode` and `schema.encode`), not on the SDK's
// classes, because it decodes and encodes thousands of them a second.

import * as xdr from '@stellar/stellar-sdk/xdr';
import '../xdr/newer.mjs';

export const { XdrString } = xdr;

const schema = (name) => {
  const found = xdr[name]?.schema;
  if (!found) throw new Error(`the SDK has no XDR type ${name}`);
  return found;
};

export const schemas = Object.fromEntries(
  [
    'DiagnosticEvent',
    'ContractEvent',
    'FeeBumpTransaction',
    'GeneralizedTransactionSet',
    'HashIdPreimage',
    'HostFunction',
    'InvokeHostFunctionSuccessPreImage',
    'LedgerCloseMeta',
    'LedgerEntry',
    'LedgerEntryData',
    'LedgerEntryExt',
    'LedgerHeader',
    'LedgerHeaderHistoryEntry',
    'LedgerKey',
    'LedgerUpgrade',
    'ScVal',
    'SorobanAuthorizationEntry',
    'SorobanAuthorizedInvocation',
    'SorobanTransactionData',
    'OperationResultTr',
    'OperationType',
    'SignerKey',
    'Transaction',
    'TransactionEnvelope',
    'TransactionMeta',
    'TransactionResult',
    'TransactionResultSet',
  ].map((name) => [name, schema(name)]),
);

/** `encode('LedgerHeader', wire)` -> Buffer */
export const encode = (name, wire) => {
  const bytes = schemas[name].encode(wire);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
};

export const decode = (name, bytes) => schemas[name].decode(bytes);

export const base64 = (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');

export const publicKey = (id) => ({ type: 0, ed25519: Buffer.from(id, 'hex') });
