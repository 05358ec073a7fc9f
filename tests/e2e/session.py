"""What a client of environments does; run by a pod and by this machine.

    python session.py GET-URL '{"ENVIRONMENT-URL": ACTION, …}'

Prints one JSON object: what GET-URL answered, and of each environment its health and a session's answers.
"""

import json
import sys
import urllib.request
from typing import Any

from websockets.sync.client import connect

TIMEOUT_SECONDS = 30


def get(url: str) -> Any:
    """The JSON that an address answers with; no proxy is asked."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=TIMEOUT_SECONDS) as response:
        return json.load(response)


def play(url: str, action: dict[str, Any]) -> dict[str, Any]:
    """Ask an environment for its health, then reset it and take one step in a WebSocket session."""
    answers = {"health": get(f"{url}/health")}
    with connect(f"{url.replace('http', 'ws', 1)}/ws", proxy=None, open_timeout=TIMEOUT_SECONDS) as session:
        for kind, data in {"reset": {}, "step": action}.items():
            session.send(json.dumps({"type": kind, "data": data}))
            answers[kind] = json.loads(session.recv(timeout=TIMEOUT_SECONDS))
    return answers


if __name__ == "__main__":
    _, address, actions = sys.argv
    played = {url: play(url, action) for url, action in json.loads(actions).items()}
    print(json.dumps({"got": get(address), "played": played}))
