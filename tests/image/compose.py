"""Checks docker/compose.yaml against the Compose specification (the PyPI package compose-spec), with a value for each variable."""
import json
import re
import sys

import yaml
from compose_spec import PyCompose

with open(sys.argv[1]) as file:
    text = re.sub(r'\$\{\w+(:[-?][^}]*)?\}', '1', file.read())  # ${NAME}, ${NAME:-default}, ${NAME:?message}
compose = PyCompose.from_json(json.dumps(yaml.safe_load(text)))
compose.validate()
print(f'{sys.argv[1]}: valid, {len(compose.service_names())} services')
