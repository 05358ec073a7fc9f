"""A whole session of the published OpenEnv client; run in an image that has it.

    python openenv_session.py URL ACTION [ACTION…]

Prints one JSON object: what reset, each step and state gave.
"""

import json
import sys

from openenv.core.generic_client import GenericEnvClient

_, url, *actions = sys.argv
with GenericEnvClient(base_url=url).sync() as environment:
    answers = {
        "reset": environment.reset().observation,
        "steps": [environment.step(json.loads(action)).observation for action in actions],
        "state": environment.state(),
    }
print(json.dumps(answers))
