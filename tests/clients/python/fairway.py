"""Calls of fairway, to copy: each request has a token of its own, and is repeated until it is answered."""

import base64
import hashlib
import json
import os
import time

import requests
from stellar_sdk import Keypair, TransactionEnvelope


def token_of(client, method, path, body, key):
    """A JSON web token for one request: the client's key signs method, path, body and Idempotency-Key."""
    now = int(time.time())
    claims = {"sub": client.public_key, "iat": now, "exp": now + 15, "methodAndPath": f"{method} {path}",
              "bodyHash": hashlib.sha256(body).hexdigest()} | ({"idempotencyKey": key} if key else {})
    encode = lambda data: base64.urlsafe_b64encode(data).rstrip(b"=")
    signed = b".".join(encode(json.dumps(part).encode()) for part in ({"alg": "EdDSA", "typ": "JWT"}, claims))
    return (signed + b"." + encode(client.sign(signed))).decode()


def call(method, path, value=None, key=None, tries=10):
    """Calls fairway. Repeats what is safe to repeat, with the same key: a 429, a lost answer, and a 503, unless fairway has lost leases."""
    client = Keypair.from_secret(open(os.environ["FAIRWAY_SEED_FILE"]).read().strip())
    body = b"" if value is None else json.dumps(value).encode()
    while True:
        tries -= 1
        headers = {"Authorization": f"Bearer {token_of(client, method, path, body, key)}"} | (
            {"Content-Type": "application/json"} if body else {}) | ({"Idempotency-Key": key} if key else {})
        try:
            answer = requests.request(method, os.environ["FAIRWAY_URL"] + path, data=body, headers=headers, timeout=75)
            if answer.ok:
                return answer.json()
            if answer.status_code not in (429, 503) or tries == 0 or "forgottenSince" in answer.text:
                raise SystemExit(f"{method} {path}: {answer.status_code} {answer.text}")
            time.sleep(int(answer.headers.get("Retry-After", 1)))
        except requests.RequestException:  # it was lost on its way
            if tries == 0:
                raise
            time.sleep(1)


def transaction_to_sign(sent, answer, passphrase, own, latest_max_time, highest_fee):
    """The leased transaction. Raises ValueError unless it is the one that was sent, with another source, sequence number, fee and
    max time. passphrase: the client's own constant. own: the accounts for which it signs."""
    leased = TransactionEnvelope.from_xdr(answer["transactionXdr"], passphrase)  # raises for a fee bump
    ours, theirs = (envelope.transaction.to_xdr_object() for envelope in (sent, leased))
    bounds = leased.transaction.preconditions.time_bounds if leased.transaction.preconditions else None
    for holds, rule in (
            (answer["networkPassphrase"] == passphrase, "it is for another network"),
            (leased.transaction.source.account_id not in own, "its source is the user's own account"),
            ([op.to_xdr() for op in ours.operations] == [op.to_xdr() for op in theirs.operations]
             and ours.memo.to_xdr() == theirs.memo.to_xdr() and ours.ext.to_xdr() == theirs.ext.to_xdr(),
             "its operations, memo or Soroban data are not those that were sent"),
            (bounds is not None and 0 < bounds.max_time <= latest_max_time, "its max time is too late"),
            (leased.transaction.fee <= highest_fee, "its fee is too high")):
        if not holds:
            raise ValueError(f"the transaction that fairway returned must not be signed: {rule}")
    return leased
