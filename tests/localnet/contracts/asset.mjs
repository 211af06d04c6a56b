// The contracts of assets. Accounts hold an asset as usual, and contracts as contract data. The issuer administers its asset.
// (soroban-env-host: stellar_asset_contract)

import { Asset, StrKey } from '@stellar/stellar-sdk';
import { NATIVE, isNative, issuerOf } from '../assets.mjs';
import { newAccount, newTrustLine } from '../entries.mjs';
import { Durability } from '../entries/contract-data.mjs';
import { addHolding } from '../holdings.mjs';
import { INT64_MAX } from '../network.mjs';
import { minBalance } from '../reserves.mjs';
import { BALANCE_EXTENSION, INSTANCE_EXTENSION } from './config.mjs';
import { HostError } from './host.mjs';
import * as values from './values.mjs';
import { Address, Type } from './values.mjs';

const CONTRACT_EVENT = 1;
const I128_MAX = (1n << 127n) - 1n;
const DECIMALS = values.u32(7);

const contractError = (code, words) => new HostError(`Contract, #${code}`, words);
const ACCOUNT_MISSING = 6;
const NEGATIVE_AMOUNT = 8;
const BALANCE = 10;
const OVERFLOW = 12;
const TRUST_LINE_MISSING = 13;

const SYMBOLS = { 1: 'AlphaNum4', 2: 'AlphaNum12' };

/** The storage of a new contract of an asset. */
export const storageOf = (asset) => {
  const key = (name) => values.vec(values.symbol(name));
  const metadata = (name, symbol) => ({
    key: values.symbol('METADATA'),
    val: values.map({ decimal: DECIMALS, name: values.string(name), symbol: values.string(symbol) }),
  });
  if (isNative(asset))
    return [metadata('native', 'native'), { key: key('AssetInfo'), val: values.vec(values.symbol('Native')) }];
  const { assetCode, issuer } = asset.alphaNum4 ?? asset.alphaNum12;
  const padded = Buffer.from(assetCode).toString();
  const code = padded.replaceAll('\0', '');
  const info = { asset_code: values.string(padded), issuer: values.bytes(issuer.ed25519) };
  return [
    metadata(`${code}:${StrKey.encodeEd25519PublicKey(issuer.ed25519)}`, code),
    { key: key('Admin'), val: values.address(values.accountAddress(issuerOf(asset))) },
    { key: key('AssetInfo'), val: values.vec(values.symbol(SYMBOLS[asset.type]), values.map(info)) },
  ];
};

/** `native`, or code and issuer; and the asset itself. */
const nameOf = ({ instance: { storage } }) => storage[0].val.map[1].val;
const assetOf = (instance) => {
  const [code, issuer] = values.textOf(nameOf(instance).str).split(':');
  return issuer ? new Asset(code, issuer).toXdrObject().toXdrObject() : NATIVE;
};

const balanceOf = (contract, holder) => ({
  contract,
  key: values.vec(values.symbol('Balance'), values.address(holder)),
  durability: Durability.PERSISTENT,
});

const accountOf = (id) => newAccount({ id });

/** What an account holds and may hold: `{balance, min, max}`. */
const rangeOf = (host, asset, id) => {
  if (issuerOf(asset) === id) return { balance: INT64_MAX };
  const entry = host.peek(isNative(asset) ? accountOf(id) : newTrustLine({ id, asset }));
  if (!entry && isNative(asset)) throw contractError(ACCOUNT_MISSING, 'account entry is missing');
  if (!entry) throw contractError(TRUST_LINE_MISSING, 'trustline entry is missing for account');
  const { balance, limit } = entry;
  return isNative(asset) ? { balance, min: minBalance(host.ledger, entry), max: INT64_MAX } : { balance, min: 0n, max: limit };
};

const readBalance = (host, { contract }, asset, holder) => {
  const id = values.accountIdOf(holder);
  if (id !== null) return rangeOf(host, asset, id).balance;
  const stored = host.read(balanceOf(contract, holder));
  if (!stored) return 0n;
  host.extend(balanceOf(contract, holder), BALANCE_EXTENSION);
  return values.i128Of(stored.map[0].val);
};

const changeAccount = (host, asset, id, delta) => {
  if (delta > INT64_MAX || -delta > INT64_MAX) throw contractError(OVERFLOW, 'amount is too large for an i64');
  const { balance, min, max } = rangeOf(host, asset, id);
  const wanted = balance + delta;
  if (wanted < min || !addHolding((like) => host.load(like), host.ledger, id, asset, delta))
    throw contractError(BALANCE, `resulting balance is not within the allowed range, ${min}, ${max}, ${wanted}`);
};

/** The balance of a contract: amount, authorized, clawback. The first one depends on flags of the issuer. */
const changeContract = (host, call, asset, holder, delta) => {
  const fields = balanceOf(call.contract, holder);
  const amount = readBalance(host, call, asset, holder) + delta;
  if (amount < 0n) throw contractError(BALANCE, 'balance is not sufficient to spend');
  if (amount > I128_MAX) throw contractError(OVERFLOW, 'balance overflow in receive_balance');
  if (!isNative(asset) && !host.read(fields) && !host.peek(accountOf(issuerOf(asset))))
    throw contractError(ACCOUNT_MISSING, 'account entry is missing');
  const value = { amount: values.i128(amount), authorized: values.bool(true), clawback: values.bool(false) };
  host.write(fields, values.map(value));
  host.extend(fields, BALANCE_EXTENSION);
};

const change = (host, call, asset, holder, delta) => {
  const id = values.accountIdOf(holder);
  return id === null ? changeContract(host, call, asset, holder, delta) : changeAccount(host, asset, id, delta);
};

/** The account or contract of a muxed address, and its number. */
const demux = ({ muxedAccount, muxedContract, ...to }) => {
  if (muxedAccount)
    return { holder: values.accountAddress(Buffer.from(muxedAccount.ed25519).toString('hex')), number: muxedAccount.id };
  if (muxedContract) return { holder: values.contractAddress(muxedContract.contractId), number: muxedContract.id };
  return { holder: to, number: null };
};

/** The event of a transfer, which is a mint or a burn when one side is the issuer (CAP-67). */
const emitMove = (host, { contract, instance }, { from = null, to, number, amount }) => {
  const issuer = issuerOf(assetOf(instance));
  const isIssuer = (address) => address === null || values.accountIdOf(address) === issuer;
  const isMint = from === null || (isIssuer(from) && !isIssuer(to));
  const isBurn = from !== null && isIssuer(to) && !isIssuer(from);
  const sides = isMint ? [to] : isBurn ? [from] : [from, to];
  const kind = isMint ? 'mint' : isBurn ? 'burn' : 'transfer';
  host.emit({
    ext: { v: 0 },
    contractId: contract.contractId,
    type: CONTRACT_EVENT,
    body: {
      v: 0,
      v0: {
        topics: [values.symbol(kind), ...sides.map(values.address), nameOf(instance)],
        data:
          number === null || isBurn
            ? values.i128(amount)
            : values.map({ amount: values.i128(amount), to_muxed_id: values.u64(number) }),
      },
    },
  });
};

const transfer = (host, call, [from, recipient, amount]) => {
  if (amount < 0n) throw contractError(NEGATIVE_AMOUNT, 'negative amount is not allowed');
  const { holder: to, number } = demux(recipient);
  const asset = assetOf(call.instance);
  host.requireAuth(from);
  host.extend(values.instanceOf(call.contract), INSTANCE_EXTENSION);
  change(host, call, asset, from, -amount);
  change(host, call, asset, to, amount);
  emitMove(host, call, { from, to, number, amount });
  return values.VOID;
};

/** By the issuer. Nobody administers the native asset. */
const mint = (host, call, [recipient, amount]) => {
  if (amount < 0n) throw contractError(NEGATIVE_AMOUNT, 'negative amount is not allowed');
  const asset = assetOf(call.instance);
  if (isNative(asset))
    throw new HostError('Storage, MissingValue', 'trying to get non-existing value for contract data key Admin');
  const { holder: to, number } = demux(recipient);
  host.requireAuth(values.accountAddress(issuerOf(asset)));
  host.extend(values.instanceOf(call.contract), INSTANCE_EXTENSION);
  change(host, call, asset, to, amount);
  emitMove(host, call, { to, number, amount });
  return values.VOID;
};

const holder = ({ type }) => type === Address.ACCOUNT || type === Address.CONTRACT;
const recipient = (address) => holder(address) || address.type === Address.MUXED || address.type === Address.MUXED_CONTRACT;
const parse = {
  holder: (value) => (value.type === Type.ADDRESS && holder(value.address) ? value.address : null),
  recipient: (value) => (value.type === Type.ADDRESS && recipient(value.address) ? value.address : null),
  amount: (value) => (value.type === Type.I128 ? values.i128Of(value) : null),
};

const metadata = (index) => ({ takes: [], run: (host, { instance }) => instance.instance.storage[0].val.map[index].val });

/** The functions of the contract that this network implements, with their parameters. */
export const assetContract = new Map([
  ['transfer', { takes: [parse.holder, parse.recipient, parse.amount], run: transfer }],
  ['mint', { takes: [parse.recipient, parse.amount], run: mint }],
  [
    'balance',
    {
      takes: [parse.holder],
      run(host, call, [whose]) {
        host.extend(values.instanceOf(call.contract), INSTANCE_EXTENSION);
        return values.i128(readBalance(host, call, assetOf(call.instance), whose));
      },
    },
  ],
  ['decimals', metadata(0)],
  ['name', metadata(1)],
  ['symbol', metadata(2)],
]);
