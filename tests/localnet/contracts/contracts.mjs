// The contracts of this network: where they are, creating one, and calling one.

import { sha256 } from '../network.mjs';
import { encode } from '../xdr.mjs';
import { assetContract, storageOf } from './asset.mjs';
import { HostError } from './host.mjs';
import * as values from './values.mjs';

const PREIMAGE_CONTRACT_ID = 8;
const FROM_ASSET = 1;
const STELLAR_ASSET = 1;

/** Derived from the network and the preimage, so that everybody can compute it. */
const contractIdOf = (network, contractIdPreimage) =>
  sha256(encode('HashIdPreimage', { type: PREIMAGE_CONTRACT_ID, contractId: { networkId: network.id, contractIdPreimage } }));

/** The id of the contract of an asset. */
export const assetContractId = (network, fromAsset) => contractIdOf(network, { type: FROM_ASSET, fromAsset });

export const isKnown = ({ contractIdPreimage, executable }) =>
  contractIdPreimage.type === FROM_ASSET && executable.type === STELLAR_ASSET;

/** Creates a contract and returns its address. */
export const createContract = (host, { contractIdPreimage, executable }) => {
  const contract = values.contractAddress(contractIdOf(host.network, contractIdPreimage));
  if (host.read(values.instanceOf(contract))) throw new HostError('Storage, ExistingValue', 'contract already exists');
  const instance = { executable, storage: storageOf(contractIdPreimage.fromAsset) };
  host.write(values.instanceOf(contract), { type: values.Type.INSTANCE, instance });
  return values.address(contract);
};

/** `call` is `{contract, functionName, args}`; returns an SCVal or throws HostError. */
export const callContract = (host, call) => {
  const instance = host.read(values.instanceOf(call.contract));
  if (!instance) throw new HostError('Storage, MissingValue', 'trying to get non-existing value for contract instance');
  const called = assetContract.get(values.textOf(call.functionName));
  if (!called) throw new HostError('WasmVm, MissingValue', 'this local network does not implement that function of the contract');
  const { takes, run } = called;
  if (call.args.length !== takes.length) throw new HostError('Context, UnexpectedSize', 'wrong number of arguments');
  const args = call.args.map((value, index) => takes[index](value));
  if (args.includes(null)) throw new HostError('Value, UnexpectedType', 'an argument is not of the type that it should be');
  return run(host, { ...call, instance }, args);
};
