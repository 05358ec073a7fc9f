"""`python -m envfleet_server`: serve until SIGTERM."""

import logging
import os
import sys

import uvicorn

from envfleet_server.app import create_app
from envfleet_server.kubernetes import Kubernetes
from envfleet_server.settings import SettingsError, load


def main() -> None:
    """Read the settings and serve; a wrong setting ends the process with one message."""
    try:
        settings = load(os.environ)
    except SettingsError as error:
        sys.exit(str(error))
    # All our calls go to the cluster's own API: a proxy meant for the outside world would break them.
    # The lower-case name wins over NO_PROXY.
    os.environ["no_proxy"] = "*"
    logging.basicConfig(
        level=settings.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    for library in ("httpx", "httpcore"):  # a line for each call; at debug even the token, if malformed
        logging.getLogger(library).setLevel(logging.WARNING)
    uvicorn.run(
        create_app(Kubernetes(settings.namespace, settings.kubeconfig)),
        host="0.0.0.0",  # noqa: S104 - a pod is reached at its own address
        port=settings.port,
        log_config=None,
        access_log=settings.log_level == "debug",
        timeout_graceful_shutdown=5,  # seconds; well within the pod's 30
    )


if __name__ == "__main__":
    main()
