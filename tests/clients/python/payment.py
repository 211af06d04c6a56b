"""One payment: a lease, the check of what it is, the user's signature, and the submission, which ends when a ledger has decided.

    FAIRWAY_URL=... FAIRWAY_SEED_FILE=... USER_SEED_FILE=... python3 payment.py KEY DESTINATION AMOUNT

KEY is this payment's own, such as an order number: run again with the same key until the end of the next day (UTC), it pays nothing
twice, unless fairway's database has lost leases."""

import json
import os
import sys
import time

from stellar_sdk import Account, Asset, Keypair, Network, TransactionBuilder

from fairway import call, transaction_to_sign

# A constant of this program: no answer says for which network the user signs.
PASSPHRASE = os.environ.get("NETWORK_PASSPHRASE", Network.TESTNET_NETWORK_PASSPHRASE)
SECONDS, HIGHEST_FEE, MAX_FEE = 120, 10_000, "100000"  # fees: of the inner transaction, of the bid

key, destination, amount = sys.argv[1:]
user = Keypair.from_secret(open(os.environ["USER_SEED_FILE"]).read().strip())

# The operation has its own source. The transaction's source and sequence number are placeholders.
draft = (TransactionBuilder(Account(user.public_key, 0), PASSPHRASE, base_fee=100)
         .append_payment_op(destination, Asset.native(), amount, source=user.public_key)
         .add_time_bounds(0, 0).build())

lease = call("POST", "/v1/transactions",
             {"transactionXdr": draft.to_xdr(), "timeoutSeconds": SECONDS, "reference": key}, key)
latest_max_time = int(time.time()) + SECONDS + 10  # clocks differ
transaction = transaction_to_sign(draft, lease, PASSPHRASE, [user.public_key], latest_max_time, HIGHEST_FEE)
transaction.sign(user)

end = call("POST", "/v1/submissions?wait=60", {"transactionXdr": transaction.to_xdr(), "maxFee": MAX_FEE})
while end["status"] == "pending" and "rejected" not in end:
    end = call("GET", f"/v1/transactions/{lease['hash']}?wait=60")
print(json.dumps(end))
sys.exit(end["status"] != "confirmed")
