// The local network in its own process. Reports each ledger to its parent from its own state: the faults of the storm affect what RPC clients
// see, not these reports. Messages from the parent: {faults} changes the faults, {sponsored} requests the accounts whose reserve another
// account pays.
import { StrKey } from '@stellar/stellar-sdk';
import { startLocalnet } from '../localnet/localnet.mjs';

const address = id => StrKey.encodeEd25519PublicKey(Buffer.from(id, 'hex'));

/** Ledgers of less than a second have close times in milliseconds. */
const ledgerMs = Number(process.argv[2]), protocol = ledgerMs < 1000 ? 30 : undefined;
const localnet = await startLocalnet({ port: 0, ledgerMs, protocol });
const accounts = () => [...localnet.chain.state.values()].filter(({ kind }) => kind === 'account');
let known = new Map();

/** {changed: [[address, sequence]], removed: [address]} since the last call. */
function changes() {
  const now = new Map(accounts().map(({ id, sequence }) => [id, sequence]));
  const changed = [...now].filter(([id, sequence]) => known.get(id) !== sequence).map(([id, sequence]) => [address(id), String(sequence)]);
  const removed = [...known.keys()].filter(id => !now.has(id)).map(address);
  known = now;
  return { changed, removed };
}

localnet.chain.on('closed', ({ header, items, queued }) => process.send({ ledger: {
  sequence: header.ledgerSeq,
  closeTime: String(header.scpValue.closeTime),
  ...changes(),
  transactions: items.map(({ transaction, outcome }) => ({
    hash: transaction.isFeeBump ? transaction.inner.hashHex : transaction.hashHex, success: outcome.ok, bid: String(transaction.fee),
    charged: String(outcome.feeCharged) })),
  queued: queued.map(({ hash, innerHash, fee }) => [hash, innerHash, fee]),
} }));
process.on('message', message => {
  if (message.faults)
    localnet.faults.configure(message.faults);
  if (message.sponsored)
    process.send({ sponsored: accounts().filter(({ sponsor }) => sponsor).map(({ id, sequence }) => [address(id), String(sequence)]) });
});
process.on('disconnect', () => process.exit(0));
process.send({ url: localnet.url, first: { sequence: localnet.chain.history.latest, closeTime: String(localnet.chain.closeTime),
  ...changes(), transactions: [], queued: [] } });
