"""One contract call by the client that openapi-python-client makes of openapi.json: call.py URL FUNC AUTH. Prints the status."""
import sys

from fairway_client import Client
from fairway_client.api.leases import submit
from fairway_client.models import SubmissionRequest

url, func, auth = sys.argv[1:]
end = submit.sync(client=Client(base_url=url, timeout=90), body=SubmissionRequest(func=func, auth=[auth]), wait=60,
                  idempotency_key=f'python-{auth[:40]}')
print(end.status)
