// The contracts of this network: where they are, creating one, and calling one.

import { sha256 } from '../network.mjs';
import { encode } from '../xdr.mjs';
import * as account from './account.mjs';
import { ACCOUNT_CODE } from './account.mjs';
import * as asset from './asset.mjs';
import { HostError } from './host.mjs';
import * as values from './values.mjs';

const PREIMAGE_CONTRACT_ID = 8;
const FROM_ASSET = 1;
const WASM = 0;
const STELLAR_ASSET = 1;

/** Derived from the network and the preimage, so that everybody can compute it. */
const contractIdOf = (network, contractIdPreimage) =>
  sha256(encode('HashIdPreimage', { type: PREIMAGE_CONTRACT_ID, contractId: { networkId: network.id, contractIdPreimage } }));

/** The id of the contract of an asset. */
export const assetContractId = (network, fromAsset) => contractIdOf(network, { type: FROM_ASSET, fromAsset });

export const isKnown = ({ contractIdPreimage, executable }) =>
  contractIdPreimage.type === FROM_ASSET
    ? executable.type === STELLAR_ASSET
    : executable.type === WASM && ACCOUNT_CODE.equals(executable.wasmHash);

/** Creates a contract and returns its address. Whoever deploys one authorizes `fn`. */
export const createContract = (host, { contractIdPreimage, executable, constructorArgs = [] }, fn) =>
  host.within({ contract: null, fn }, () => {
    const { fromAddress, fromAsset } = contractIdPreimage;
    const contract = values.contractAddress(contractIdOf(host.network, contractIdPreimage));
    if (fromAddress) host.requireAuth(fromAddress.address);
    if (host.read(values.instanceOf(contract))) throw new HostError('Storage, ExistingValue', 'contract already exists');
    const storage = fromAsset ? asset.storageOf(fromAsset) : account.storageOf(constructorArgs);
    host.write(values.instanceOf(contract), { type: values.Type.INSTANCE, instance: { executable, storage } });
    return values.address(contract);
  });

/** `call` is `{contract, functionName, args}`; returns an SCVal or throws HostError. */
export const callContract = (host, call) => {
  const { contract, functionName, args } = call;
  return host.within({ contract, fn: { type: 0, contractFn: { contractAddress: contract, functionName, args } } }, () => {
    const instance = host.read(values.instanceOf(contract));
    if (!instance) throw new HostError('Storage, MissingValue', 'trying to get non-existing value for contract instance');
    const functions = instance.instance.executable.type === WASM ? accountFunctions : asset.assetContract;
    const called = functions.get(values.textOf(functionName));
    if (!called) throw new HostError('WasmVm, MissingValue', 'this local network does not implement that function of the contract');
    const { takes, run } = called;
    if (args.length !== takes.length) throw new HostError('Context, UnexpectedSize', 'wrong number of arguments');
    const parsed = args.map((value, index) => takes[index](value));
    if (parsed.includes(null)) throw new HostError('Value, UnexpectedType', 'an argument is not of the type that it should be');
    return run(host, { ...call, instance }, parsed);
  });
};

const accountFunctions = account.accountContract(callContract);
