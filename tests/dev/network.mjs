// What the development tools ask of a Stellar network.
import { rpc } from '@stellar/stellar-sdk';

export function connect(url) {
  return new rpc.Server(url, { allowHttp: url.startsWith('http://') });
}

/** Whether the network knows the account. */
export async function exists(server, address) {
  try {
    await server.getAccount(address);
    return true;
  } catch (error) {
    if (/not found/i.test(error.message))
      return false;
    throw error;
  }
}

/** Creates and funds the account through the network's friendbot unless it exists; true when it had to. */
export async function fundIfMissing(url, address) {
  const server = connect(url);
  if (await exists(server, address))
    return false;
  const { friendbotUrl } = await server.getNetwork();
  if (!friendbotUrl)
    throw new Error(`${address} does not exist, and this network has no friendbot: fund it and try again`);
  const answer = await fetch(`${friendbotUrl}${friendbotUrl.includes('?') ? '&' : '?'}addr=${address}`);
  if (!answer.ok)
    throw new Error(`friendbot refused to create ${address}: ${answer.status} ${await answer.text()}`);
  for (let i = 0; i < 100 && !(await exists(server, address)); i++)
    await new Promise(wake => setTimeout(wake, 200));
  return true;
}
