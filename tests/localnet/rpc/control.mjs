// Methods that no Stellar RPC has: test programs use them to control the network from another process.

import { invalidParams } from './error.mjs';
import { uint32 } from './params.mjs';

const MAX_LEDGERS = 10_000;

export const controlMethods = ({ network, chain, closing, faults }) => {
  const status = () => ({
    latestLedger: chain.history.latest,
    closeTime: String(chain.closeTime),
    oldestLedger: chain.history.oldest,
    queued: chain.queue.size,
    entries: chain.state.size,
    ledgerMs: closing.ledgerMs,
    running: closing.isRunning,
    rootSecret: network.root.secret,
    rootAccount: network.root.publicKey,
    protocol: chain.head.header.ledgerVersion,
    validator: network.validator.publicKey,
  });
  return {
    localnet_status: status,

    /** Closes `count` ledgers, one if it is not given. */
    async localnet_closeLedger(params) {
      const count = uint32(params, 'count') || 1;
      if (count > MAX_LEDGERS) throw invalidParams(`count must not exceed ${MAX_LEDGERS}`);
      for (let closed = 0; closed < count; closed++) await chain.closeLedger();
      return status();
    },

    /**
     * The next ledger upgrades the network's `protocol`, `baseFee` or `maxTxSetSize`. Or the RPC only names a protocol. A ledger closes every
     * `ledgerMs` from now on.
     */
    localnet_upgrade({ supportedProtocol, ledgerMs, ...upgrades }) {
      chain.upgrade(upgrades);
      if (supportedProtocol) chain.supportedProtocol = supportedProtocol;
      if (ledgerMs) chain.targetMs = closing.ledgerMs = ledgerMs;
      return status();
    },

    /** Changes settings of faults.mjs; returns all settings, and how often each fault has happened. */
    localnet_faults(params) {
      try {
        faults.configure(params);
      } catch (error) {
        if (error instanceof RangeError) throw invalidParams(error.message);
        throw error;
      }
      return { settings: faults.settings, fired: faults.fired };
    },

    localnet_pause() {
      closing.pause();
      return status();
    },

    localnet_resume() {
      if (closing.ledgerMs === 0) throw invalidParams('ledgers of this network are closed by hand (ledger-ms 0)');
      closing.resume();
      return status();
    },
  };
};
