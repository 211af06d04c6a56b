// Starts the local network as a process (network.mjs), so that the load of the storm does not slow it down, and receives its messages.
import { fork } from 'node:child_process';
import path from 'node:path';

const program = path.join(new URL('.', import.meta.url).pathname, 'network.mjs');

/**
 * Returns {url, ledgers, onLedger, send(message), sponsoredAccounts(), failed: lines, close()}. onLedger is called with each ledger, and
 * at first appends it to `ledgers`.
 */
export async function startNetwork(ledgerMs) {
  const child = fork(program, [String(ledgerMs)]);
  const network = { ledgers: [], onLedger: ledger => network.ledgers.push(ledger), send: message => child.send(message),
    failed: [],
    async close() {
      network.closed = true;
      child.disconnect();
    } };
  let ready, sponsored;
  const listening = new Promise(resolve => (ready = resolve));
  child.on('message', message => {
    if (message.ledger)
      network.onLedger(message.ledger);
    if (message.sponsored)
      sponsored(message.sponsored);
    if (message.url) {
      network.url = message.url;
      network.onLedger(message.first);
      ready();
    }
  });
  network.sponsoredAccounts = () => new Promise(resolve => {
    sponsored = resolve;
    child.send({ sponsored: true });
  });
  child.on('error', error => network.closed || network.failed.push(String(error)));
  child.on('exit', code => network.closed || network.failed.push(`the local network ended with ${code}`));
  await listening;
  return network;
}
