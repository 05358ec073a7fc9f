"""The part of the `aws` program that kubeconfigs run: `aws eks get-token`.

python cli.py SOCKET [--region R] eks get-token --cluster-name NAME [...]
"""

import argparse
import os
import sys
from multiprocessing.connection import Client

GET_TOKEN = "get-token"


def main():
    socket, *arguments = sys.argv[1:]
    parser = argparse.ArgumentParser(prog="aws")
    parser.add_argument("service", choices=["eks"])
    parser.add_argument("command", choices=[GET_TOKEN])
    parser.add_argument("--cluster-name", required=True)
    for ignored in ("--region", "--output", "--profile", "--role-arn"):
        parser.add_argument(ignored)
    asked = parser.parse_args(arguments)
    with Client(socket) as cloud:
        cloud.send((os.getpid(), GET_TOKEN, asked.cluster_name.encode()))
        credential, _ = cloud.recv()
    print(credential.decode())


if __name__ == "__main__":
    main()
