// What a client checks before its user signs, to copy.
package main

import (
	"bytes"
	"fmt"

	"github.com/stellar/go-stellar-sdk/txnbuild"
	"github.com/stellar/go-stellar-sdk/xdr"
)

// contents is what the user decides about: operations, memo, and the Soroban data.
func contents(transaction *txnbuild.Transaction) []byte {
	inner := transaction.ToXDR().V1.Tx
	var text bytes.Buffer
	for _, part := range []any{inner.Operations, inner.Memo, inner.Ext} {
		must(xdr.Marshal(&text, part))
	}
	return text.Bytes()
}

// lease is what a client reads of the answer to POST /v1/transactions.
type lease struct{ Hash, TransactionXdr, NetworkPassphrase string }

// transactionToSign is the leased transaction. It ends the program unless that is the one that was sent, with another source, sequence
// number, fee and max time. passphrase: the client's own constant. own: the account for which it signs.
func transactionToSign(sent *txnbuild.Transaction, answer lease, passphrase, own string,
	latestMaxTime, highestFee int64) *txnbuild.Transaction {
	refuse := func(holds bool, rule string) {
		if !holds {
			check(fmt.Errorf("the transaction that fairway returned must not be signed: %s", rule))
		}
	}
	refuse(answer.NetworkPassphrase == passphrase, "it is for another network")
	leased, single := must(txnbuild.TransactionFromXDR(answer.TransactionXdr)).Transaction()
	refuse(single, "it is a fee bump")
	source, maxTime := leased.ToXDR().SourceAccount(), leased.Timebounds().MaxTime
	refuse(source.ToAccountId().Address() != own, "its source is the user's own account")
	refuse(bytes.Equal(contents(leased), contents(sent)), "its operations, memo or Soroban data are not those that were sent")
	refuse(maxTime > 0 && maxTime <= latestMaxTime, "its max time is too late")
	refuse(leased.MaxFee() <= highestFee, "its fee is too high")
	return leased
}
