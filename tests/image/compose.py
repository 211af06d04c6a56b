"""Checks docker/compose.yaml against the Compose specification (the PyPI package compose-spec), with a value for each variable,
and that the password of the tables' owner is in the container that migrates alone, without a key."""
import json
import re
import sys

import yaml
from compose_spec import PyCompose

with open(sys.argv[1]) as file:
    text = re.sub(r'\$\{\w+(:[-?][^}]*)?\}', '1', file.read())  # ${NAME}, ${NAME:-default}, ${NAME:?message}
content = yaml.safe_load(text)
compose = PyCompose.from_json(json.dumps(content))
compose.validate()
for name, service in content['services'].items():
    secrets = service.get('secrets', [])
    if ('pg_service_owner.conf' in secrets) != (name == 'migrate') or (name == 'migrate' and len(secrets) != 1):
        sys.exit(f'{sys.argv[1]}: {name} has the secrets {", ".join(secrets)}')
print(f'{sys.argv[1]}: valid, {len(compose.service_names())} services')
