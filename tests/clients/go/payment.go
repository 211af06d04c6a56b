// One payment: a lease, the check of what it is, the user's signature, and the submission, which ends when a ledger has decided.
//
//	FAIRWAY_URL=... FAIRWAY_SEED_FILE=... USER_SEED_FILE=... go run . KEY DESTINATION AMOUNT
//
// KEY is this payment's own, such as an order number: run again with the same key until the end of the next day (UTC), it pays nothing
// twice, unless fairway's database has lost leases.
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/stellar/go-stellar-sdk/keypair"
	"github.com/stellar/go-stellar-sdk/network"
	"github.com/stellar/go-stellar-sdk/txnbuild"
)

const seconds, highestFee, maxFee = 120, 10_000, "100000" // fees: of the inner transaction, of the bid

type object = map[string]any

func keyOf(file string) *keypair.Full {
	return must(keypair.ParseFull(strings.TrimSpace(string(must(os.ReadFile(os.Getenv(file)))))))
}

func main() {
	passphrase := cmp.Or(os.Getenv("NETWORK_PASSPHRASE"), network.TestNetworkPassphrase) // a constant of this program, no answer's
	key, destination, amount := os.Args[1], os.Args[2], os.Args[3]
	client, user := keyOf("FAIRWAY_SEED_FILE"), keyOf("USER_SEED_FILE")

	// The operation has its own source. The transaction's source and sequence number are placeholders.
	draft := must(txnbuild.NewTransaction(txnbuild.TransactionParams{
		SourceAccount: &txnbuild.SimpleAccount{AccountID: user.Address()}, IncrementSequenceNum: true, BaseFee: txnbuild.MinBaseFee,
		Operations: []txnbuild.Operation{&txnbuild.Payment{SourceAccount: user.Address(), Destination: destination, Amount: amount,
			Asset: txnbuild.NativeAsset{}}},
		Preconditions: txnbuild.Preconditions{TimeBounds: txnbuild.NewInfiniteTimeout()}}))

	var leased lease
	call(client, "POST", "/v1/transactions",
		object{"transactionXdr": must(draft.Base64()), "timeoutSeconds": seconds, "reference": key}, key, &leased)
	latestMaxTime := time.Now().Unix() + seconds + 10 // clocks differ
	transaction := transactionToSign(draft, leased, passphrase, user.Address(), latestMaxTime, highestFee)
	transaction = must(transaction.Sign(passphrase, user))

	end := object{}
	call(client, "POST", "/v1/submissions?wait=60", object{"transactionXdr": must(transaction.Base64()), "maxFee": maxFee}, "", &end)
	for end["status"] == "pending" && end["rejected"] == nil {
		end = object{}
		call(client, "GET", "/v1/transactions/"+leased.Hash+"?wait=60", nil, "", &end)
	}
	fmt.Println(string(must(json.Marshal(end))))
	if end["status"] != "confirmed" {
		os.Exit(1)
	}
}
