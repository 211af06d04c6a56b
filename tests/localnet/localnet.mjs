// The complete network: chain, clock, friendbot and server, for tests in this process and for main.

import { Chain } from './chain.mjs';
import { Closing } from './closing.mjs';
import { Verifier } from './ed25519.mjs';
import { Faults } from './faults.mjs';
import { Friendbot } from './friendbot.mjs';
import { Network } from './network.mjs';
import { LaggingNode } from './node.mjs';
import { createMethods } from './rpc/methods.mjs';
import { RpcServer } from './rpc/server.mjs';
import { FileStore, MemoryStore } from './store.mjs';

export const DEFAULTS = Object.freeze({ listen: '127.0.0.1', port: 8000, ledgerMs: 5_000, retention: 17_280 });

const throwLater = (error) => {
  queueMicrotask(() => {
    throw error;
  });
};

/**
 * Starts a network. Options: `listen` (an IPv4 address), `port` (0: any free one), `data` (a directory; none: memory), `ledgerMs` (0: by hand
 * only), `passphrase`, `retention`, `maxOperations`, `baseReserve`, `firstLedger`, `protocol`, `hideFriendbot` (getNetwork does not name
 * it), `faults` (settings of faults.mjs), `log` (called with each line) and `onFatal` (called with an error after which no state can
 * be trusted); for tests `clock` (milliseconds) and `verifier`. Throws UnusableData for ledgers that are no chain.
 */
export const startLocalnet = async (options = {}) => {
  const { listen = DEFAULTS.listen, port = 0, data = null, ledgerMs = DEFAULTS.ledgerMs, retention = DEFAULTS.retention } = options;
  const { hideFriendbot = false, clock = Date.now, verifier = new Verifier(), log = () => {}, onFatal = throwLater } = options;
  const network = new Network(options);
  const store = data ? new FileStore(data, network) : new MemoryStore();
  const faults = new Faults(options.faults);
  const chain = new Chain({ network, verifier, store, clock, targetMs: ledgerMs, retention, faults });
  try {
    await chain.open();
  } catch (error) {
    store.close();
    throw error;
  }
  chain.on('closed', ({ header, items }) => logLedger(log, header, items));
  const friendbot = new Friendbot(chain, network);
  const closing = new Closing(chain, ledgerMs, faults, onFatal);
  const server = new RpcServer({ friendbot, faults, log, onFatal });
  const friendbotUrl = () => (hideFriendbot ? null : `${server.url}/friendbot`);
  const context = { network, verifier, chain, closing, faults, log, retention, friendbotUrl };
  const methods = createMethods(context);
  server.methodsOfNode = (lag) =>
    lag === 0 ? methods : createMethods({ ...context, chain: new LaggingNode(chain, lag) });
  try {
    await server.listen(listen, port);
  } catch (error) {
    store.close();
    throw error;
  }
  closing.resume();

  const stop = async () => {
    closing.pause();
    await server.close();
    await chain.settled();
    store.close();
  };
  let stopped;

  return {
    url: server.url,
    network,
    chain,
    faults,
    friendbot,
    closeLedger: () => chain.closeLedger(),
    pause: () => closing.pause(),
    resume: () => closing.resume(),
    /** Waits until a ledger that is being closed is finished. May be called again. */
    close: () => (stopped ??= stop()),
  };
};

const logLedger = (log, header, items) => {
  if (items.length === 0) return;
  const failed = items.filter(({ outcome }) => !outcome.ok).length;
  log(`ledger ${header.ledgerSeq}: ${items.length} transactions${failed ? `, ${failed} failed` : ''}`);
};
