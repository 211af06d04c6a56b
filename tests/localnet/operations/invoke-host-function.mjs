// invokeHostFunction: creating and calling contracts. (core: InvokeHostFunctionOpFrame.cpp)

import { Enforced } from '../contracts/authorization.mjs';
import { nonRefundableFee, refundableFee, eventBytes } from '../contracts/fees.mjs';
import { Host, HostError } from '../contracts/host.mjs';
import { LIMITS } from '../contracts/config.mjs';
import { callContract, createContract, isKnown } from '../contracts/contracts.mjs';
import { diagnosticWords } from '../diagnostics.mjs';
import { entryToWire, keyFromWire } from '../entries.mjs';
import { sha256 } from '../network.mjs';
import { encode } from '../xdr.mjs';

const TRAPPED = -2;
const RESOURCE_LIMIT_EXCEEDED = -3;
const INSUFFICIENT_REFUNDABLE_FEE = -5;

const INVOKE = 0;
const CREATE = 1;
const UPLOAD = 2;
const CLASSIC_TYPES = new Set([0, 1]);

const creation = ({ type, createContract, createContractV2 }) => (type === CREATE ? createContract : createContractV2);

const missingFunction = (wire) => {
  if (wire.type === UPLOAD) return 'uploading contract code';
  return wire.type === INVOKE || isKnown(creation(wire)) ? null : "contracts other than assets' and the built-in account";
};

/** Runs the host function; returns its value or throws HostError. */
export const runHostFunction = (host, wire) => {
  host.charge('call');
  if (wire.type === CREATE) return createContract(host, creation(wire), { type: 1, createContractHostFn: wire.createContract });
  if (wire.type !== INVOKE) return createContract(host, creation(wire), { type: 2, createContractV2HostFn: wire.createContractV2 });
  const { contractAddress: contract, functionName, args } = wire.invokeContract;
  return callContract(host, { contract, functionName, args });
};

const sizeIn = (layer, keys) =>
  keys.reduce((sum, key) => {
    const entry = layer.peek(keyFromWire(key));
    return sum + (entry ? encode('LedgerEntry', entryToWire(entry)).length : 0);
  }, 0);

/** The bytes that the call read from disk and wrote. */
export const bytesUsed = (before, after, { readOnly, readWrite }) => ({
  diskReadBytes: sizeIn(before, [...readOnly, ...readWrite].filter(({ type }) => CLASSIC_TYPES.has(type))),
  writeBytes: sizeIn(after, readWrite),
});

const exceeds = (host, used, { instructions, diskReadBytes, writeBytes }) =>
  host.instructions > instructions ||
  used.diskReadBytes > diskReadBytes ||
  used.writeBytes > writeBytes ||
  eventBytes(host.events) > LIMITS.eventBytes;

export const invokeHostFunction = {
  type: 24,
  level: 'medium',
  success: { success: Buffer.alloc(32) },
  body: (wire) => wire.invokeHostFunctionOp,

  missing: ({ hostFunction }) => missingFunction(hostFunction),

  validate: () => 0,

  apply({ body, source, layer, fail, succeed, network, verifier, transaction, effects }) {
    const { resources, resourceFee } = transaction.sorobanData;
    const { footprint } = resources;
    const host = new Host({ layer, footprint, source, network, verifier, authorization: new Enforced(body.auth) });
    const diskRead = bytesUsed(layer, layer, footprint);
    let value;
    try {
      value = runHostFunction(host, body.hostFunction);
    } catch (error) {
      if (!(error instanceof HostError)) throw error;
      effects.diagnostics = error.events;
      return fail(TRAPPED);
    }
    const used = { ...bytesUsed(layer, layer, footprint), diskReadBytes: diskRead.diskReadBytes };
    if (exceeds(host, used, resources)) {
      effects.diagnostics = [diagnosticWords('operation resources exceed the amount specified')];
      return fail(RESOURCE_LIMIT_EXCEEDED);
    }
    const { events, rents } = host;
    const refundable = refundableFee({ events, rents, returned: encode('ScVal', value).length });
    if (refundable > resourceFee - nonRefundableFee(resources, transaction.xdr.length))
      return fail(INSUFFICIENT_REFUNDABLE_FEE);
    for (const key of footprint.readWrite) layer.load(keyFromWire(key));
    Object.assign(effects, { events, returnValue: value, refundable });
    return succeed({ success: sha256(encode('InvokeHostFunctionSuccessPreImage', { returnValue: value, events })) });
  },
};
