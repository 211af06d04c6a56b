#!/usr/bin/env node
// localnet: a small Stellar network for development, in one process. See README.md.

import { isIPv4 } from 'node:net';
import { parseArgs } from 'node:util';
import { Faults } from './faults.mjs';
import { DEFAULTS, startLocalnet } from './localnet.mjs';
import { STANDALONE_PASSPHRASE } from './network.mjs';
import { UnusableData } from './store.mjs';

const EX_USAGE = 64;
const EX_UNAVAILABLE = 69;
const EX_SOFTWARE = 70;
const EX_CONFIG = 78;

const USAGE = `usage: main.mjs [--listen ADDRESS] [--port N] [--data DIR] [--ledger-ms N] [--passphrase TEXT] [--retention N]
                [--max-operations N] [--first-ledger N] [--protocol N] [--hide-friendbot] [--faults JSON]

  --listen ADDRESS    IPv4 address (default ${DEFAULTS.listen}; 0.0.0.0 in a container)
  --port N            TCP port; 0 takes any free one (default ${DEFAULTS.port})
  --data DIR          keep the ledgers there (default: in memory)
  --ledger-ms N       time between ledgers; 0 closes them on request only (default ${DEFAULTS.ledgerMs})
  --passphrase TEXT   network passphrase (default "${STANDALONE_PASSPHRASE}")
  --retention N       how many ledgers are served (default ${DEFAULTS.retention})
  --max-operations N  how many operations fit into each phase of a ledger (default 10000)
  --first-ledger N    number of the first ledger of a new network (default 2)
  --protocol N        protocol of a new network (default 28; from 30 on, close times have milliseconds)
  --hide-friendbot    getNetwork does not name the friendbot, as an RPC without one
  --faults JSON       what goes wrong from the start, with its seed (see faults.mjs)`;

class UsageError extends Error {}

const integer = (values, name, { fallback, min, max }) => {
  const text = values[name];
  if (text === undefined) return fallback;
  const value = /^\d{1,10}$/.test(text) ? Number(text) : NaN;
  if (!(value >= min && value <= max))
    throw new UsageError(`--${name} takes a number from ${min} to ${max}, not ${JSON.stringify(text)}`);
  return value;
};

const faultSettings = (text) => {
  try {
    return new Faults(text === undefined ? {} : JSON.parse(text)).settings;
  } catch (error) {
    throw new UsageError(`--faults: ${error.message}`);
  }
};

const parseOptions = (args) => {
  const string = { type: 'string' };
  const options = {
    listen: string,
    port: string,
    data: string,
    'ledger-ms': string,
    passphrase: string,
    retention: string,
    'max-operations': string,
    'first-ledger': string,
    protocol: string,
    'hide-friendbot': { type: 'boolean' },
    faults: string,
  };
  let values;
  try {
    ({ values } = parseArgs({ args, options: { ...options, help: { type: 'boolean' } }, strict: true }));
  } catch (error) {
    throw new UsageError(error.message);
  }
  if (values.listen !== undefined && !isIPv4(values.listen)) throw new UsageError('--listen takes an IPv4 address');
  if (values.data === '') throw new UsageError('--data takes a directory');
  if (values.passphrase === '') throw new UsageError('--passphrase must not be empty');
  return {
    help: values.help,
    listen: values.listen,
    port: integer(values, 'port', { fallback: DEFAULTS.port, min: 0, max: 65_535 }),
    data: values.data ?? null,
    ledgerMs: integer(values, 'ledger-ms', { fallback: DEFAULTS.ledgerMs, min: 0, max: 3_600_000 }),
    passphrase: values.passphrase,
    retention: integer(values, 'retention', { fallback: DEFAULTS.retention, min: 1, max: 10_000_000 }),
    maxOperations: integer(values, 'max-operations', { fallback: undefined, min: 1, max: 1_000_000 }),
    firstLedger: integer(values, 'first-ledger', { fallback: undefined, min: 2, max: 2_000_000_000 }),
    protocol: integer(values, 'protocol', { fallback: undefined, min: 28, max: 30 }),
    hideFriendbot: values['hide-friendbot'] ?? false,
    faults: faultSettings(values.faults),
  };
};

const die = (code, message) => {
  process.stderr.write(`localnet: ${message}\n`);
  process.exit(code);
};

const exitCode = (error) => {
  if (error instanceof UnusableData) return EX_CONFIG;
  return ['EADDRINUSE', 'EACCES', 'ENOSPC', 'EROFS', 'ENOTDIR'].includes(error.code) ? EX_UNAVAILABLE : EX_SOFTWARE;
};

const main = async () => {
  let options;
  try {
    options = parseOptions(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return die(EX_USAGE, `${error.message}\n${USAGE}`);
  }
  if (options.help) return process.stdout.write(`${USAGE}\n`);

  let localnet;
  try {
    localnet = await startLocalnet({
      ...options,
      log: (line) => process.stdout.write(`${line}\n`),
      onFatal: (error) => die(EX_SOFTWARE, error.stack),
    });
  } catch (error) {
    const code = exitCode(error);
    return die(code, code === EX_SOFTWARE ? error.stack : error.message);
  }
  const stop = async () => {
    await localnet.close();
    process.exit(0);
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  return process.stdout.write(`localnet listening on ${localnet.url}\n`);
};

await main();
