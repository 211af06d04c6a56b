// The contract of the native asset, the only one on this network. Accounts hold lumens as usual; contracts hold them as
// contract data. (soroban-env-host: stellar_asset_contract)

import { newAccount } from '../entries.mjs';
import { Durability } from '../entries/contract-data.mjs';
import { INT64_MAX, sha256 } from '../network.mjs';
import { addBalance, minBalance } from '../reserves.mjs';
import { encode } from '../xdr.mjs';
import { BALANCE_EXTENSION, INSTANCE_EXTENSION } from './config.mjs';
import { HostError } from './host.mjs';
import * as values from './values.mjs';
import { Address, Type } from './values.mjs';

const PREIMAGE_CONTRACT_ID = 8;
const FROM_ASSET = 1;
const EXECUTABLE_STELLAR_ASSET = 1;
const CONTRACT_EVENT = 1;
const I128_MAX = (1n << 127n) - 1n;
const NAME = values.string('native');
const DECIMALS = values.u32(7);

const contractError = (code, words) => new HostError(`Contract, #${code}`, words);
const ACCOUNT_MISSING = 6;
const NEGATIVE_AMOUNT = 8;
const BALANCE = 10;
const OVERFLOW = 12;

/** Derived from the network, so that everybody can compute it. */
export const nativeContractId = (network) =>
  sha256(
    encode('HashIdPreimage', {
      type: PREIMAGE_CONTRACT_ID,
      contractId: { networkId: network.id, contractIdPreimage: { type: FROM_ASSET, fromAsset: { type: 0 } } },
    }),
  );

const instanceOf = (contract) => ({ contract, key: values.INSTANCE_KEY, durability: Durability.PERSISTENT });

const INSTANCE = {
  type: Type.INSTANCE,
  instance: {
    executable: { type: EXECUTABLE_STELLAR_ASSET },
    storage: [
      { key: values.symbol('METADATA'), val: values.map({ decimal: DECIMALS, name: NAME, symbol: NAME }) },
      { key: values.vec(values.symbol('AssetInfo')), val: values.vec(values.symbol('Native')) },
    ],
  },
};

/** Creates the contract and returns its address. */
export const createNativeContract = (host) => {
  const contract = values.contractAddress(nativeContractId(host.network));
  if (host.read(instanceOf(contract)))
    throw new HostError('Storage, ExistingValue', 'contract already exists');
  host.write(instanceOf(contract), INSTANCE);
  return values.address(contract);
};

const balanceOf = (contract, holder) => ({
  contract,
  key: values.vec(values.symbol('Balance'), values.address(holder)),
  durability: Durability.PERSISTENT,
});

const accountOf = (id) => newAccount({ id });

const readBalance = (host, contract, holder) => {
  const id = values.accountIdOf(holder);
  if (id === null) {
    const stored = host.read(balanceOf(contract, holder));
    if (!stored) return 0n;
    host.extend(balanceOf(contract, holder), BALANCE_EXTENSION);
    return values.i128Of(stored.map[0].val);
  }
  const account = host.peek(accountOf(id));
  if (!account) throw contractError(ACCOUNT_MISSING, 'account entry is missing');
  return account.balance;
};

const changeAccount = (host, id, delta) => {
  if (delta > INT64_MAX || -delta > INT64_MAX) throw contractError(OVERFLOW, 'amount is too large for an i64');
  const account = host.load(accountOf(id));
  if (!account) throw contractError(ACCOUNT_MISSING, 'account entry is missing');
  const min = minBalance(host.ledger, account);
  const balance = account.balance + delta;
  if (balance < min || !addBalance(host.ledger, account, delta))
    throw contractError(BALANCE, `resulting balance is not within the allowed range, ${min}, ${balance}`);
};

/** The balance of a contract: amount, authorized, clawback. */
const changeContract = (host, contract, holder, delta) => {
  const fields = balanceOf(contract, holder);
  const before = readBalance(host, contract, holder);
  const amount = before + delta;
  if (amount < 0n) throw contractError(BALANCE, 'balance is not sufficient to spend');
  if (amount > I128_MAX) throw contractError(OVERFLOW, 'balance overflow in receive_balance');
  const value = { amount: values.i128(amount), authorized: values.bool(true), clawback: values.bool(false) };
  host.write(fields, values.map(value));
  host.extend(fields, BALANCE_EXTENSION);
};

const change = (host, contract, holder, delta) => {
  const id = values.accountIdOf(holder);
  return id === null ? changeContract(host, contract, holder, delta) : changeAccount(host, id, delta);
};

/** The account or contract of a muxed address, and its number. */
const demux = ({ muxedAccount, muxedContract, ...to }) => {
  if (muxedAccount)
    return { holder: values.accountAddress(Buffer.from(muxedAccount.ed25519).toString('hex')), number: muxedAccount.id };
  if (muxedContract) return { holder: values.contractAddress(muxedContract.contractId), number: muxedContract.id };
  return { holder: to, number: null };
};

const transferEvent = (contract, from, to, number, amount) => ({
  ext: { v: 0 },
  contractId: contract.contractId,
  type: CONTRACT_EVENT,
  body: {
    v: 0,
    v0: {
      topics: [values.symbol('transfer'), values.address(from), values.address(to), NAME],
      data:
        number === null
          ? values.i128(amount)
          : values.map({ amount: values.i128(amount), to_muxed_id: values.u64(number) }),
    },
  },
});

const transfer = (host, call, [from, to, amount]) => {
  const { contract } = call;
  if (amount < 0n) throw contractError(NEGATIVE_AMOUNT, 'negative amount is not allowed');
  const { holder, number } = demux(to);
  if (values.accountIdOf(from) === null)
    throw new HostError('Auth, InvalidAction', 'no contract of this network can authorize a transfer of its own');
  host.authorization.require(host, from, call);
  host.extend(instanceOf(contract), INSTANCE_EXTENSION);
  change(host, contract, from, -amount);
  change(host, contract, holder, amount);
  host.emit(transferEvent(contract, from, holder, number, amount));
  return values.VOID;
};

/** Nobody administers the native asset. */
const mint = (host, call, [, amount]) => {
  if (amount < 0n) throw contractError(NEGATIVE_AMOUNT, 'negative amount is not allowed');
  throw new HostError('Storage, MissingValue', 'trying to get non-existing value for contract data key Admin');
};

const holder = ({ type }) => type === Address.ACCOUNT || type === Address.CONTRACT;
const recipient = (address) => holder(address) || address.type === Address.MUXED || address.type === Address.MUXED_CONTRACT;
const parse = {
  holder: (value) => (value.type === Type.ADDRESS && holder(value.address) ? value.address : null),
  recipient: (value) => (value.type === Type.ADDRESS && recipient(value.address) ? value.address : null),
  amount: (value) => (value.type === Type.I128 ? values.i128Of(value) : null),
};

/** The functions of the contract that this network implements, with their parameters. */
const functions = new Map([
  ['transfer', { takes: [parse.holder, parse.recipient, parse.amount], run: transfer }],
  ['mint', { takes: [parse.recipient, parse.amount], run: mint }],
  [
    'balance',
    {
      takes: [parse.holder],
      run(host, { contract }, [whose]) {
        host.extend(instanceOf(contract), INSTANCE_EXTENSION);
        return values.i128(readBalance(host, contract, whose));
      },
    },
  ],
  ['decimals', { takes: [], run: () => DECIMALS }],
  ['name', { takes: [], run: () => NAME }],
  ['symbol', { takes: [], run: () => NAME }],
]);

export const hasFunction = (name) => functions.has(name);

/** `call` is `{contract, functionName, args}`; returns an SCVal or throws HostError. */
export const callNativeContract = (host, call) => {
  if (!host.read(instanceOf(call.contract)))
    throw new HostError('Storage, MissingValue', 'trying to get non-existing value for contract instance');
  const { takes, run } = functions.get(values.textOf(call.functionName));
  if (call.args.length !== takes.length) throw new HostError('Context, UnexpectedSize', 'wrong number of arguments');
  const args = call.args.map((value, index) => takes[index](value));
  if (args.includes(null)) throw new HostError('Value, UnexpectedType', 'an argument is not of the type that it should be');
  return run(host, call, args);
};

