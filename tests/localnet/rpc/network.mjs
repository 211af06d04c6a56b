// getHealth, getNetwork, getVersionInfo, getLatestLedger, getFeeStats: the state of the network.

import { base64, encode } from '../xdr.mjs';
import { codes, internalError } from './error.mjs';

const MAX_HEALTHY_LATENCY_S = 30;
const PERCENTILES = [10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99];

const mostFrequent = (sorted) => {
  const counts = new Map();
  for (const value of sorted) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].reduce((best, entry) => (entry[1] > best[1] ? entry : best), [0n, 0])[0];
};

/** Formats whole seconds as Go prints a duration: 31s, 2m10s, 1h0m5s. */
export const goDuration = (seconds) => {
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  return `${hours ? `${hours}h` : ''}${hours || minutes ? `${minutes}m` : ''}${seconds % 60}s`;
};

const feeDistribution = (ledgers) => {
  const sorted = ledgers.flat().sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const percentile = (percent) => sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? 0n;
  return {
    max: String(sorted.at(-1) ?? 0n),
    min: String(sorted[0] ?? 0n),
    mode: String(mostFrequent(sorted)),
    ...Object.fromEntries(PERCENTILES.map((percent) => [`p${percent}`, String(percentile(percent))])),
    transactionCount: String(sorted.length),
    ledgerCount: ledgers.length,
  };
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

  getFeeStats: () => ({
    sorobanInclusionFee: feeDistribution(chain.recentFees.map(({ soroban }) => soroban)),
    inclusionFee: feeDistribution(chain.recentFees.map(({ classic }) => classic)),
    latestLedger: chain.history.latest,
  }),
});
