// The contract of the native asset, and a transfer that its sender authorizes, as the user of a smart wallet does.
import { Asset, Contract, Operation, TransactionBuilder, authorizeInvocation, nativeToScVal, xdr } from '@stellar/stellar-sdk';

const LEDGERS = 60; // for which an authorization is valid

/** Creates the contract of an asset, which a new network does not have. server: rpc.Server; payer: a keypair with an account. */
export async function createContract(server, networkPassphrase, payer, asset = Asset.native()) {
  const { entries } = await server.getLedgerEntries(new Contract(asset.contractId(networkPassphrase)).getFootprint());
  if (entries.length > 0)
    return;
  const builder = new TransactionBuilder(await server.getAccount(payer.publicKey()), { fee: '1000', networkPassphrase });
  const creation = await server.prepareTransaction(
    builder.addOperation(Operation.createStellarAssetContract({ asset })).setTimeout(60).build());
  creation.sign(payer);
  const { status, hash, errorResult } = await server.sendTransaction(creation);
  if (status === 'ERROR')
    throw new Error(`the contract was not created: ${JSON.stringify(errorResult)}`);
  const end = await server.pollTransaction(hash, { attempts: 300, sleepStrategy: () => 200 });
  if (end.status !== 'SUCCESS')
    throw new Error(`the contract was not created: ${end.status}`);
}

/** {func, auth} of a transfer, which `from` has signed. until: the last ledger that may have it; by default in LEDGERS. */
export async function authorizedTransfer(server, networkPassphrase, from, to, stroops, until) {
  const address = key => nativeToScVal(key.publicKey(), { type: 'address' });
  const { hostFunction } = Operation.invokeContractFunction({ contract: Asset.native().contractId(networkPassphrase), function: 'transfer',
    args: [address(from), address(to), nativeToScVal(stroops, { type: 'i128' })] }).body.invokeHostFunctionOp;
  const invocation = new xdr.SorobanAuthorizedInvocation({ subInvocations: [],
    function: xdr.SorobanAuthorizedFunction.sorobanAuthorizedFunctionTypeContractFn(hostFunction.invokeContract) });
  const validUntilLedgerSeq = until ?? (await server.getLatestLedger()).sequence + LEDGERS;
  const entry = await authorizeInvocation({ signer: from, invocation, validUntilLedgerSeq, networkPassphrase });
  return { func: hostFunction.toXDR('base64'), auth: [entry.toXDR('base64')] };
}
