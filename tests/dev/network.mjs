// What the development tools ask of a Stellar network.
import { Keypair, rpc, xdr } from '@stellar/stellar-sdk';

const RETRY_MS = 200;
const sleep = ms => new Promise(wake => setTimeout(wake, ms));

export function connect(url) {
  return new rpc.Server(url, { allowHttp: url.startsWith('http://') });
}

/** Repeats a call that fails until `patienceMs` are over; an RPC fails now and then, and for seconds after its start. */
async function patiently(what, call, patienceMs) {
  const end = Date.now() + patienceMs;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      // Of a JSON-RPC error the SDK throws the bare object, of anything else an Error.
      const reason = error.code === undefined ? error.message : `${error.message} (${error.code})`;
      if (Date.now() >= end)
        throw new Error(`${what}: ${reason}`, { cause: error });
      await sleep(RETRY_MS);
    }
  }
}

/**
 * Whether the network knows the account. Asks for the entry itself: the SDK's getAccount says "Account not found" of any
 * failure. Throws when the network cannot be asked within `patienceMs`.
 */
export async function exists(server, address, patienceMs = 10_000) {
  const accountId = xdr.PublicKey.publicKeyTypeEd25519(Keypair.fromPublicKey(address).rawPublicKey());
  const key = xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId }));
  const { entries } = await patiently(`cannot tell whether ${address} exists`, () => server.getLedgerEntries(key), patienceMs);
  return entries.length > 0;
}

/**
 * Creates and funds the account through the network's friendbot unless it exists; true when it had to. FRIENDBOT_URL replaces the
 * address that the network names, which may be that of another host's loopback.
 */
export async function fundIfMissing(url, address, patienceMs = 10_000) {
  const server = connect(url);
  if (await exists(server, address, patienceMs))
    return false;
  const network = await patiently('cannot ask for the network', () => server.getNetwork(), patienceMs);
  const friendbotUrl = process.env.FRIENDBOT_URL || network.friendbotUrl;
  if (!friendbotUrl)
    throw new Error(`${address} does not exist, and this network has no friendbot: fund it and try again`);
  const answer = await fetch(`${friendbotUrl}${friendbotUrl.includes('?') ? '&' : '?'}addr=${address}`);
  if (!answer.ok)
    throw new Error(`friendbot refused to create ${address}: ${answer.status} ${await answer.text()}`);
  for (let tries = 0; !(await exists(server, address, patienceMs)); tries++) {
    if (tries === 100)
      throw new Error(`friendbot says that it created ${address}, but the network does not know it`);
    await sleep(RETRY_MS);
  }
  return true;
}
