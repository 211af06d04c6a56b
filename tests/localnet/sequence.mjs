// Sequence numbers: the next one of an account, and when it was last set.
// (core: TransactionFrame::isBadSeq, processSeqNum, maybeUpdateAccountOnLedgerSeqUpdate)

import { extendAccount } from './entries.mjs';

/** A new account's sequence number, which no transaction may use. */
export const startingSequence = (ledgerSequence) => BigInt(ledgerSequence) << 32n;

export const isBadSequence = (ledger, account, transaction) => {
  if (transaction.sequence === startingSequence(ledger.sequence)) return true;
  if (transaction.minSequence !== null) {
    return account.sequence < transaction.minSequence || account.sequence >= transaction.sequence;
  }
  return account.sequence + 1n !== transaction.sequence;
};

/** Sets the account's sequence number, and its ledger and time. */
export const recordSequence = (ledger, account, sequence) => {
  extendAccount(account, 3);
  account.sequence = sequence;
  account.sequenceLedger = ledger.sequence;
  account.sequenceTime = ledger.closeTime;
};

/** minSeqAge and minSeqLedgerGap: whether the sequence number was changed too recently. */
export const isTooEarlyForAccount = (ledger, account, transaction) =>
  ledger.closeTime - transaction.minSequenceAge < account.sequenceTime ||
  ledger.sequence - transaction.minSequenceLedgerGap < account.sequenceLedger;
