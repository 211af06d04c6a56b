// One call of a contract in which the user signs an authorization and no transaction: fairway prepares, signs, pays and sends the rest.
// Here the native asset's contract moves stroops from the user to somebody else.
//   FAIRWAY_URL=... FAIRWAY_SEED_FILE=... USER_SEED_FILE=... node call.mjs KEY DESTINATION STROOPS
// KEY is this call's own. The file KEY.json has what was signed: run again, the program sends the same, and nothing is paid twice.
import fs from 'node:fs';
import { Asset, Keypair, Networks, Operation, authorizeInvocation, nativeToScVal, xdr } from '@stellar/stellar-sdk';
import { connect } from './fairway.mjs';

const PASSPHRASE = process.env.NETWORK_PASSPHRASE ?? Networks.TESTNET; // a constant of this program, no answer's
const LEDGERS = 60; // for which the authorization is valid: five minutes
const [key, destination, stroops] = process.argv.slice(2);
const user = Keypair.fromSecret(fs.readFileSync(process.env.USER_SEED_FILE, 'utf8').trim());
const call = connect();

/** What the user signs is built here: no simulation, and nobody else, says what it is. */
async function authorized() {
  const address = text => nativeToScVal(text, { type: 'address' });
  const { hostFunction } = Operation.invokeContractFunction({ contract: Asset.native().contractId(PASSPHRASE), function: 'transfer',
    args: [address(user.publicKey()), address(destination), nativeToScVal(BigInt(stroops), { type: 'i128' })] }).body.invokeHostFunctionOp;
  const invocation = new xdr.SorobanAuthorizedInvocation({ subInvocations: [],
    function: xdr.SorobanAuthorizedFunction.sorobanAuthorizedFunctionTypeContractFn(hostFunction.invokeContract) });
  const { cursor } = await call('GET', '/v1/pool');
  const entry = await authorizeInvocation(
    { signer: user, invocation, validUntilLedgerSeq: cursor.sequence + LEDGERS, networkPassphrase: PASSPHRASE });
  return { func: hostFunction.toXDR('base64'), auth: [entry.toXDR('base64')], reference: key };
}

const place = `${key}.json`;
if (!fs.existsSync(place)) {
  fs.writeFileSync(`${place}.new`, JSON.stringify(await authorized()), { flush: true });
  fs.renameSync(`${place}.new`, place);
}
let end = await call('POST', '/v1/submissions?wait=60', JSON.parse(fs.readFileSync(place, 'utf8')), key);
while (end.status === 'pending' && !end.rejected)
  end = await call('GET', `/v1/transactions/${end.hash}?wait=60`);
console.log(JSON.stringify(end));
process.exitCode = end.status === 'confirmed' ? 0 : 1;
