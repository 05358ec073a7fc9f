"""The plugin process that the engine starts for each command, and that a test may kill.

It only relays: the provider and its cloud live on in the test process, where faults are set and breakpoints
work. So it needs nothing but gRPC, and starts in a fifth of the time that `import pulumi` would take.

    python plugin.py SOCKET
"""

import os
import select
import sys
from concurrent import futures
from functools import partial
from multiprocessing.connection import Client

import grpc

SERVICE = "/pulumirpc.ResourceProvider/"
DETAILS = "grpc-status-details-bin"  # where gRPC looks for an error's own message
UNLIMITED = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


class Relay(grpc.GenericRpcHandler):
    def __init__(self, socket):
        self.socket = socket

    def service(self, call):
        if call.method.startswith(SERVICE):
            return grpc.unary_unary_rpc_method_handler(partial(self.relay, call.method.removeprefix(SERVICE)))
        return None

    def relay(self, method, request, context):
        try:
            with Client(self.socket) as cloud:
                cloud.send((os.getpid(), method, request))
                response, error = cloud.recv()
        except (OSError, EOFError) as gone:
            context.abort(grpc.StatusCode.UNAVAILABLE, f"the simulated cloud is gone: {gone!r}")
        if error:
            code, message, details = error
            context.set_trailing_metadata([(DETAILS, details)] if details else [])
            context.abort(grpc.StatusCode[code], message)
        return response


def main():
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=128), [Relay(sys.argv[1])], options=UNLIMITED)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    # As the real plugins, end with an engine that was killed: it no longer reads what we print.
    output = select.poll()
    output.register(sys.stdout.fileno(), 0)  # errors only
    output.poll()
    os._exit(1)


if __name__ == "__main__":
    main()
