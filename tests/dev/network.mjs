// What the development tools have in common: what runs, and their calls to a Stellar network.
import fs from 'node:fs';
import path from 'node:path';
import { Keypair, rpc, xdr } from '@stellar/stellar-sdk';

const RETRY_MS = 200;
const sleep = ms => new Promise(wake => setTimeout(wake, ms));

/** What `make run` says of itself: {folder, api, rpc, passphrase, clientSeedFile}. From here on the program ends with a line when it fails. */
export function whatRuns(program) {
  process.on('uncaughtException', error => {
    const causes = [];
    for (let cause = error; cause; cause = cause.cause)
      causes.push(cause.message || cause.code);
    console.error(`\n${program}: ${causes.filter((text, i) => !causes[i - 1]?.includes(text)).join(': ')}`);
    process.exit(1);
  });
  const folder = path.resolve(import.meta.dirname, '../..', process.env.RUN_DIR ?? 'run'), file = path.join(folder, 'demo.json');
  if (!fs.existsSync(file)) {
    console.error('fairway is not running. Run `make run` first, wait until it is ready, then try again.');
    process.exit(69);
  }
  return { folder, ...JSON.parse(fs.readFileSync(file, 'utf8')) };
}

export function connect(url) {
  return new rpc.Server(url, { allowHttp: url.startsWith('http://') });
}

/** Repeats a failing call for `patienceMs`: an RPC fails now and then, and for some seconds after its start. */
async function patiently(what, call, patienceMs) {
  const end = Date.now() + patienceMs;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      // For a JSON-RPC error the SDK throws its plain object, otherwise an Error.
      const reason = error.code === undefined ? error.message : `${error.message} (${error.code})`;
      if (Date.now() >= end)
        throw new Error(`${what}: ${reason}`, { cause: error });
      await sleep(RETRY_MS);
    }
  }
}

/**
 * Returns whether the network has the account. Reads the ledger entry itself, because the SDK's getAccount reports every failure as
 * "Account not found". Throws when the network cannot be reached within `patienceMs`.
 */
export async function exists(server, address, patienceMs = 10_000) {
  const accountId = xdr.PublicKey.publicKeyTypeEd25519(Keypair.fromPublicKey(address).rawPublicKey());
  const key = xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId }));
  const { entries } = await patiently(`cannot read account ${address}`, () => server.getLedgerEntries(key), patienceMs);
  return entries.length > 0;
}

/**
 * Creates and funds the account through the network's friendbot unless it exists. Returns whether it created it. FRIENDBOT_URL overrides
 * the address that the network names, which may be on another host's loopback interface.
 */
export async function fundIfMissing(url, address, patienceMs = 10_000) {
  const server = connect(url);
  if (await exists(server, address, patienceMs))
    return false;
  const network = await patiently('getNetwork failed', () => server.getNetwork(), patienceMs);
  const friendbotUrl = process.env.FRIENDBOT_URL || network.friendbotUrl;
  if (!friendbotUrl)
    throw new Error(`account ${address} does not exist, and this network has no friendbot: create and fund it, then try again`);
  const answer = await fetch(`${friendbotUrl}${friendbotUrl.includes('?') ? '&' : '?'}addr=${address}`);
  if (!answer.ok)
    throw new Error(`friendbot refused to create ${address}: ${answer.status} ${await answer.text()}`);
  for (let tries = 0; !(await exists(server, address, patienceMs)); tries++) {
    if (tries === 100)
      throw new Error(`friendbot reported that it created ${address}, but the network does not have it`);
    await sleep(RETRY_MS);
  }
  return true;
}
