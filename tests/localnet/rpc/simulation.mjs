// simulateTransaction: what a contract call would do, access and cost, and what has to be signed for it.

import { randomBytes } from 'node:crypto';
import { Credentials, Enforced, Recorded } from '../contracts/authorization.mjs';
import { diskEntries, nonRefundableFee, refundableFee } from '../contracts/fees.mjs';
import { Host, HostError } from '../contracts/host.mjs';
import { entryKey, entryToWire } from '../entries.mjs';
import { bytesUsed, runHostFunction } from '../operations/invoke-host-function.mjs';
import { Layer } from '../state.mjs';
import { base64, encode } from '../xdr.mjs';
import { text } from './params.mjs';

/** Margins for signatures, for a fee bump envelope, and for changes until the transaction is applied. */
const ENVELOPE_SLACK_BYTES = 700;
const LEEWAY_PERCENT = 15n;
/** An account's entry grows by its extensions when its first transaction is applied. */
const ACCOUNT_GROWTH_BYTES = 100;
const AUTH_MODES = ['enforce', 'record', 'record_allow_nonroot'];

/** The error of the mode, or null. */
const badAuthMode = (mode, auth) => {
  if (mode !== '' && !AUTH_MODES.includes(mode))
    return `optional 'authMode' must be one of ${AUTH_MODES.join(',')} when included`;
  if (auth.length > 0 && mode.startsWith('record')) return `cannot set authMode to '${mode}' with an auth footprint`;
  return null;
};

const randomNonce = () => randomBytes(8).readBigInt64BE();

const authorizationFor = (authMode, useUpgradedAuth, auth) => {
  if (auth.length > 0 || authMode === 'enforce') return new Enforced(auth);
  return new Recorded({ credentialsType: useUpgradedAuth ? Credentials.ADDRESS_V2 : Credentials.ADDRESS, randomNonce });
};

/** The changes of the call; `before` and `after` are null for created and removed entries. */
const describeChange = ({ before, after }) => {
  const xdr = (entry) => entry && base64(encode('LedgerEntry', entryToWire(entry)));
  return {
    type: before && after ? 'updated' : after ? 'created' : 'deleted',
    key: base64(encode('LedgerKey', entryKey(before ?? after))),
    before: xdr(before),
    after: xdr(after),
  };
};

const withLeeway = (fee) => (fee * (100n + LEEWAY_PERCENT)) / 100n;

const withGrowth = ({ diskReadBytes, writeBytes }, accounts) => ({
  diskReadBytes: diskReadBytes + accounts * ACCOUNT_GROWTH_BYTES,
  writeBytes: writeBytes + accounts * ACCOUNT_GROWTH_BYTES,
});

/** `operation` is an invokeHostFunction that this network implements; `node` simulates it. */
export const simulate = ({ transaction, operation, params, node, network, verifier }) => {
  const { hostFunction, auth } = operation.wire.body.invokeHostFunctionOp;
  const authMode = text(params, 'authMode');
  const wrong = badAuthMode(authMode, auth);
  if (wrong) return { error: wrong, latestLedger: 0 };
  const latestLedger = node.history.latest;
  const { baseFee, baseReserve } = node.head.header;
  const prices = { baseFee: BigInt(baseFee), baseReserve: BigInt(baseReserve) };
  const ledger = { sequence: latestLedger, closeTime: node.closeTime, ...prices };
  const layer = new Layer(node.state, ledger);
  const authorization = authorizationFor(authMode, params.useUpgradedAuth, auth);
  const host = new Host({ layer, footprint: null, source: operation.source, network, verifier, authorization });
  let value;
  try {
    value = runHostFunction(host, hostFunction);
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    return { error: error.message, events: error.events.map((event) => base64(encode('DiagnosticEvent', event))), latestLedger };
  }
  const { footprint, events, rents } = host;
  const recorded = (authorization.entries ?? []).map((entry) => encode('SorobanAuthorizationEntry', entry));
  const leeway = params.resourceConfig?.instructionLeeway ?? 0;
  const resources = {
    footprint,
    instructions: host.instructions + leeway,
    ...withGrowth(bytesUsed(node.state, layer, footprint), diskEntries(footprint)),
  };
  const bytes =
    transaction.xdr.length +
    encode('SorobanTransactionData', { ext: { v: 0 }, resources, resourceFee: 0n }).length +
    recorded.reduce((sum, entry) => sum + entry.length, 0) +
    ENVELOPE_SLACK_BYTES;
  const refundable = refundableFee({ events, rents, returned: encode('ScVal', value).length });
  const resourceFee = withLeeway(nonRefundableFee(resources, bytes) + refundable);
  return {
    transactionData: base64(encode('SorobanTransactionData', { ext: { v: 0 }, resources, resourceFee })),
    minResourceFee: String(resourceFee),
    events: events.map((event) => base64(encode('DiagnosticEvent', { inSuccessfulContractCall: true, event }))),
    results: [{ auth: recorded.map(base64), xdr: base64(encode('ScVal', value)) }],
    stateChanges: layer.differences().map(describeChange),
    latestLedger,
  };
};
