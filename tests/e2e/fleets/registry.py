"""A registry of nothing but refusals, where only one node reaches it: at localhost, in the node's network.

- `missing`: 404. `forbidden`: 401, and 403 with whatever credentials. `foreign`: for another architecture.
"""

from contextlib import AbstractContextManager

from tests.e2e.lab import container

PORT = 5001
SERVER = f"""
import hashlib, http.server, json

MANIFESTS = json.dumps({{
    "schemaVersion": 2,
    "mediaType": "application/vnd.oci.image.index.v1+json",
    "manifests": [{{
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "digest": "sha256:" + "0" * 64,
        "size": 2,
        "platform": {{"architecture": "s390x", "os": "linux"}},
    }}],
}}).encode()


class Registry(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        status, body, kind = 404, b'{{"errors":[{{"code":"MANIFEST_UNKNOWN"}}]}}', "application/json"
        if "/forbidden/" in self.path:
            status, body = 403, b'{{"errors":[{{"code":"DENIED"}}]}}'
        elif "/foreign/" in self.path:
            status, body, kind = 200, MANIFESTS, "application/vnd.oci.image.index.v1+json"
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Docker-Content-Digest", "sha256:" + hashlib.sha256(body).hexdigest())
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET


http.server.ThreadingHTTPServer(("127.0.0.1", {PORT}), Registry).serve_forever()
"""


def run(node: str) -> AbstractContextManager[str]:
    """Run it in the network of a node's container."""
    return container(f"container:{node}", "-c", SERVER)
