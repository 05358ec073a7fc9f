"""What to do about each cause, in terms of the configuration's keys."""

from live.fleet import Cause

_REPAIR = "run `envfleet repair`, which replaces it"

REMEDIES = {
    Cause.IMAGE_NOT_FOUND: "push it, or correct `image`",
    Cause.IMAGE_FORBIDDEN: "correct `image`, or name a Secret that may pull it in `image_pull_secrets`",
    Cause.IMAGE_NAME_INVALID: "write `image` as repository:tag, the repository in lower case",
    Cause.IMAGE_NEVER_PULLED: "load it into the nodes, or set `image_pull_policy` to IfNotPresent",
    Cause.IMAGE_NOT_PULLED: "mend what the node says, or change `image`",
    Cause.WRONG_ARCHITECTURE: (
        "build `image` for the nodes' architecture, or choose nodes that fit with `node_selector`"
    ),
    Cause.REGISTRY_UNREACHABLE: (
        "let the nodes reach the registry, correct its name in `image`, or load the image into the nodes"
    ),
    Cause.CRASHES: "see its log; change `command`, `args`, `env`, `secret_env` or the image",
    Cause.EXITS: "a server must keep running: change `command`, `args` or the image",
    Cause.OUT_OF_MEMORY: "raise `resources.limits.memory`, or let it use less",
    Cause.KILLED: "see its log; if it is memory, raise `resources.limits.memory`",
    Cause.COMMAND_NOT_RUNNABLE: "correct `command`, or the image's entrypoint",
    Cause.RUNS_AS_ROOT: "set `security.run_as_user` to a number that the image can run as, such as 10001",
    Cause.NAMED_USER: "set `security.run_as_user` to that user's number",
    Cause.REFERENCE_MISSING: "create it, or correct `secret_env` or `env`",
    Cause.CONTAINER_REFUSED: "change `command`, `security`, `volumes` or the image, as the message says",
    Cause.NOTHING_LISTENS: (
        "set `port` (or `health.port`) to the one that it listens on, at 0.0.0.0; "
        "if it only starts slowly, raise `startup_seconds`"
    ),
    Cause.HEALTH_PATH_WRONG: "set `health.path` to one that it answers",
    Cause.HEALTH_PATH_REFUSED: "set `health.path` to one that answers GET without credentials",
    Cause.HEALTH_SCHEME_WRONG: "set `health.scheme` to what it speaks at that port, or correct `port`",
    Cause.HEALTH_ERROR: "see its log; if it only starts slowly, raise `startup_seconds`",
    Cause.HEALTH_TIMEOUT: (
        "raise `health.timeout_seconds`, or `resources.requests.cpu`; "
        "if it only starts slowly, raise `startup_seconds`"
    ),
    Cause.NO_ROOM: "lower `resources.requests`, remove other pods, or add nodes",
    Cause.NO_DEVICE: "add nodes that have it, or correct `resources.extended`",
    Cause.NO_MATCHING_NODE: "correct `node_selector` or `affinity`, or label a node accordingly",
    Cause.NODES_TAINTED: "add the taint to `tolerations`, or choose other nodes with `node_selector`",
    Cause.TOO_MANY_PODS: "add nodes, or run fewer environments",
    Cause.NOT_SCHEDULED: "change what the scheduler names, or add nodes",
    Cause.VOLUME_NOT_BOUND: "create the claim or its storage class, or correct `volumes`",
    Cause.VOLUME_NOT_MOUNTED: "create what is missing, or correct `volumes`",
    Cause.RUNTIME_CLASS_MISSING: "correct `runtime_class`, or choose nodes that have it with `node_selector`",
    Cause.NO_SANDBOX: "mend the node's network or container runtime, as the message says",
    Cause.NODE_LOST: f"mend the node or wait for a new one, then {_REPAIR}",
    Cause.NODE_REFUSED: _REPAIR,
    Cause.EVICTED: f"raise the resource in `resources`, then {_REPAIR}",
    Cause.PREEMPTED: f"raise `priority_class` or add nodes, then {_REPAIR}",
    Cause.LIFETIME_OVER: f"raise `ttl_seconds` if that was too soon; {_REPAIR}",
    Cause.POD_FAILED: _REPAIR,
    Cause.DELETED: _REPAIR,
    Cause.POD_GONE: _REPAIR,
    Cause.SERVICE_GONE: _REPAIR,
    Cause.NOT_IN_SERVICE: "see whether the cluster's controller manager works",
    Cause.NOT_CREATED: "change what refuses it: a quota, a policy, or the server's configuration",
    Cause.NAMESPACE_GONE: "run `envfleet repair`, which creates the fleet again",
    Cause.NAMESPACE_TERMINATING: (
        "wait until it is gone, or remove what holds it, then run `envfleet repair`"
    ),
    Cause.SLOW: "raise `startup_seconds` if it is only slow; `envfleet ps` says how it goes on",
}
