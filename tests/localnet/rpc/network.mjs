// getHealth, getNetwork, getVersionInfo, getLatestLedger: the state of the network.

import { base64, encode } from '../xdr.mjs';
import { codes, internalError } from './error.mjs';

const MAX_HEALTHY_LATENCY_S = 30;

/** Formats whole seconds as Go prints a duration: 31s, 2m10s, 1h0m5s. */
export const goDuration = (seconds) => {
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  return `${hours ? `${hours}h` : ''}${hours || minutes ? `${minutes}m` : ''}${seconds % 60}s`;
};

export const networkMethods = ({ network, chain, friendbotUrl, retention }) => ({
  getHealth() {
    const { history } = chain;
    const latency = Number(chain.now() - chain.closeTime);
    if (latency > MAX_HEALTHY_LATENCY_S) {
      // The original returns this error by value, which is why its text begins with the code.
      const [is, limit] = [latency, MAX_HEALTHY_LATENCY_S].map(goDuration);
      const message = `latency (${is}) since last known ledger closed is too high (>${limit})`;
      throw internalError(`[${codes.INTERNAL}] ${message}`);
    }
    return {
      status: 'healthy',
      latestLedger: history.latest,
      latestLedgerCloseTime: String(history.summary(history.latest).closeTime),
      oldestLedger: history.oldest,
      oldestLedgerCloseTime: String(history.summary(history.oldest).closeTime),
      ledgerRetentionWindow: retention,
    };
  },

  getNetwork() {
    const url = friendbotUrl();
    return { ...(url && { friendbotUrl: url }), passphrase: network.passphrase, protocolVersion: chain.head.header.ledgerVersion };
  },

  getVersionInfo: () => ({
    version: 'localnet',
    commitHash: '',
    buildTimestamp: '',
    captiveCoreVersion: `stellar-core ${chain.supportedProtocol}.0.0 (localnet)`,
    protocolVersion: chain.head.header.ledgerVersion,
  }),

  getLatestLedger() {
    const { header, hash } = chain.head;
    return {
      id: hash.toString('hex'),
      protocolVersion: header.ledgerVersion,
      sequence: header.ledgerSeq,
      closeTime: String(header.scpValue.closeTime),
      headerXdr: base64(encode('LedgerHeader', header)),
      metadataXdr: base64(chain.history.ledger(header.ledgerSeq).metadataXdr),
    };
  },
});
