// What a client checks before its user signs. Whoever controls fairway, or the connection to it, can answer with any transaction; a user's
// signature makes it one that the network takes.
import { FeeBumpTransaction, TransactionBuilder } from '@stellar/stellar-sdk';

/** What the user decides about: operations, memo, and the Soroban data, as XDR. */
function contents(transaction) {
  const { operations, memo, ext } = transaction.toEnvelope().v1.tx;
  return JSON.stringify([operations.map(operation => operation.toXDR('base64')), memo.toXDR('base64'), ext.toXDR('base64')]);
}

/**
 * The transaction to sign: that of the answer to POST /v1/transactions. Throws unless it is the transaction that was sent, with another
 * source, sequence number, fee and max time. passphrase: the client's own constant. own: the accounts for which the client signs.
 * latestMaxTime: Unix seconds. highestFee: in stroops.
 */
export function transactionToSign(sent, answer, { passphrase, own, latestMaxTime, highestFee }) {
  const check = (holds, rule) => {
    if (!holds)
      throw new Error(`the transaction that fairway returned must not be signed: ${rule}`);
  };
  check(answer.networkPassphrase === passphrase, `it is for the network "${answer.networkPassphrase}"`);
  const leased = TransactionBuilder.fromXDR(answer.transactionXdr, passphrase);
  check(!(leased instanceof FeeBumpTransaction), 'it is a fee bump');
  check(!own.includes(leased.source), "its source is the user's own account");
  check(contents(leased) === contents(sent), 'its operations, memo or Soroban data are not those that were sent');
  const maxTime = Number(leased.timeBounds?.maxTime ?? 0);
  check(maxTime > 0 && maxTime <= latestMaxTime, `its max time is ${maxTime}, not at most ${latestMaxTime}`);
  check(Number(leased.fee) <= highestFee, `its fee is ${leased.fee} stroops, not at most ${highestFee}`);
  return leased;
}
