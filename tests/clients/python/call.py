"""One call of a contract in which the user signs an authorization and no transaction: fairway prepares, signs, pays and sends the rest.
Here the native asset's contract moves stroops from the user to somebody else.

    FAIRWAY_URL=... FAIRWAY_SEED_FILE=... USER_SEED_FILE=... python3 call.py KEY DESTINATION STROOPS

KEY is this call's own. The file KEY.json has what was signed: run again, the program sends the same, and nothing is paid twice."""

import json
import os
import sys

from stellar_sdk import Address, Asset, Keypair, Network, scval, xdr
from stellar_sdk.auth import authorize_invocation

from fairway import call

# A constant of this program: no answer says for which network the user signs.
PASSPHRASE = os.environ.get("NETWORK_PASSPHRASE", Network.TESTNET_NETWORK_PASSPHRASE)
LEDGERS = 60  # for which the authorization is valid: five minutes

key, destination, stroops = sys.argv[1:]
user = Keypair.from_secret(open(os.environ["USER_SEED_FILE"]).read().strip())


def authorized():
    """What the user signs is built here: no simulation, and nobody else, says what it is."""
    arguments = xdr.InvokeContractArgs(
        Address(Asset.native().contract_id(PASSPHRASE)).to_xdr_sc_address(), xdr.SCSymbol(b"transfer"),
        [scval.to_address(user.public_key), scval.to_address(destination), scval.to_int128(int(stroops))])
    function = xdr.HostFunction(xdr.HostFunctionType.HOST_FUNCTION_TYPE_INVOKE_CONTRACT, invoke_contract=arguments)
    invocation = xdr.SorobanAuthorizedInvocation(xdr.SorobanAuthorizedFunction(
        xdr.SorobanAuthorizedFunctionType.SOROBAN_AUTHORIZED_FUNCTION_TYPE_CONTRACT_FN, contract_fn=arguments), [])
    until = call("GET", "/v1/pool")["cursor"]["sequence"] + LEDGERS
    entry = authorize_invocation(user, None, until, invocation, PASSPHRASE)
    return {"func": function.to_xdr(), "auth": [entry.to_xdr()], "reference": key}


place = f"{key}.json"
if not os.path.exists(place):
    with open(f"{place}.new", "w") as file:
        json.dump(authorized(), file)
        file.flush()
        os.fsync(file.fileno())
    os.rename(f"{place}.new", place)

end = call("POST", "/v1/submissions?wait=60", json.load(open(place)), key)
while end["status"] == "pending" and "rejected" not in end:
    end = call("GET", f"/v1/transactions/{end['hash']}?wait=60")
print(json.dumps(end))
sys.exit(end["status"] != "confirmed")
