// The local network in a process of its own. Tells its parent every ledger that it closed, from its own state: the storm's faults
// befall what RPC clients see, not this. Parent to child: {faults} changes what goes wrong, {accounts} asks for sequences.
import { StrKey } from '@stellar/stellar-sdk';
import { accountKey } from '../localnet/entries.mjs';
import { startLocalnet } from '../localnet/localnet.mjs';

const address = id => StrKey.encodeEd25519PublicKey(Buffer.from(id, 'hex'));
const sequenceOf = (localnet, id) => localnet.chain.state.peek(accountKey(id))?.sequence;

const localnet = await startLocalnet({ port: 0, ledgerMs: Number(process.argv[2]) });
localnet.chain.on('closed', ({ header, items }) => process.send({ ledger: {
  sequence: header.ledgerSeq,
  closeTime: String(header.scpValue.closeTime),
  accounts: [...new Set(items.map(({ transaction }) => transaction.isFeeBump ? transaction.inner.source : transaction.source))]
    .map(id => [address(id), String(sequenceOf(localnet, id))]),
  transactions: items.map(({ transaction, outcome }) => ({
    hash: transaction.isFeeBump ? transaction.inner.hashHex : transaction.hashHex, success: outcome.ok })),
} }));
process.on('message', message => {
  if (message.faults)
    localnet.faults.configure(message.faults);
  if (message.accounts)
    process.send({ sequences: message.accounts.map(name =>
      [name, String(sequenceOf(localnet, Buffer.from(StrKey.decodeEd25519PublicKey(name)).toString('hex')))]) });
  if (message.fired)
    process.send({ fired: localnet.faults.fired });
});
process.on('disconnect', () => process.exit(0));
process.send({ url: localnet.url, first: { sequence: localnet.chain.history.latest, closeTime: String(localnet.chain.closeTime) } });
