"""What schemathesis needs to get past fairway's checks: a token for each request, and values of the world that schemathesis.test.mjs started.

The file WORLD has them as JSON: seed (the client's), adminUrl, parameters (values by name) and bodies (by the name of their schema). ANSWERS is
the file for what each operation answered: {operation: {status: count}}."""

import atexit
import collections
import json
import os

import schemathesis
from hypothesis import strategies as st
from requests.auth import AuthBase
from stellar_sdk import Keypair

from fairway import token_of

world = json.load(open(os.environ["WORLD"]))
client = Keypair.from_secret(world["seed"])
answers = collections.defaultdict(collections.Counter)
LONGEST_WAIT = 1  # seconds


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Whole bodies as examples, and a format for each value that no generator finds: one of the world's, or a random one of the pattern."""
    schemas = raw_schema["components"]["schemas"]

    def use(name, schema, values):
        schema = schema.get("anyOf", [schema])[0]
        pattern = schema.get("pattern") or schemas[schema.pop("$ref").split("/")[-1]]["pattern"]
        known = st.sampled_from(values)
        schemathesis.openapi.format(name, st.one_of(known, known, st.from_regex(pattern, fullmatch=True)))
        schema |= {"type": "string", "pattern": pattern, "format": name}

    for methods in raw_schema["paths"].values():
        for operation in methods.values():
            for parameter in operation.get("parameters", []):
                if parameter.get("name") in world["parameters"]:
                    values = world["parameters"][parameter["name"]]
                    use(parameter["name"], parameter["schema"], values)
                    parameter["examples"] = {str(i): {"value": value} for i, value in enumerate(values)}
            for content in operation.get("requestBody", {}).get("content", {}).values():
                request = content["schema"]["$ref"].split("/")[-1]
                bodies, properties = world["bodies"][request], schemas[request]["properties"]
                content["examples"] = {str(i): {"value": body} for i, body in enumerate(bodies)}
                for member in ("transactionXdr", "func", "maxFee"):
                    if member in properties:
                        use(f"{request}.{member}", properties[member], [body[member] for body in bodies if member in body])
                if "auth" in properties:
                    use(f"{request}.auth", properties["auth"]["items"], [entry for body in bodies for entry in body.get("auth", [])])


@schemathesis.hook
def before_call(context, case, kwargs):
    """A wait of the document's is cut short. The wrong ones are sent as they are."""
    wait = (case.query or {}).get("wait")
    if isinstance(wait, int) and LONGEST_WAIT < wait <= 60:
        case.query["wait"] = LONGEST_WAIT


class Token(AuthBase):
    def __call__(self, request):
        if request.path_url.startswith("/v1/"):
            body = request.body.encode() if isinstance(request.body, str) else request.body or b""
            token = token_of(client, request.method, request.path_url, body, request.headers.get("Idempotency-Key"))
            request.headers["Authorization"] = f"Bearer {token}"
        elif request.path_url in ("/metrics", "/status", "/status.json"):  # which only the admin listener has
            request.url = world["adminUrl"] + request.path_url
        return request


schemathesis.auth.set_from_requests(Token())


@schemathesis.hook
def after_call(context, case, response):
    if case.method == case.operation.method.upper():  # other methods are tried, too
        answers[case.operation.label][response.status_code] += 1


atexit.register(lambda: json.dump(answers, open(os.environ["ANSWERS"], "w")))
