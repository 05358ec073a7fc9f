"""A valid configuration, and every kind of mistake in it with the line that it must give."""

from pydantic import SecretStr

VALID = {
    "cluster": {
        "provider": "kind",
        "port_mappings": [
            {"container_port": 30080, "host_port": 8080},
            {"container_port": 30081, "host_port": 8081},
        ],
        "images": ["envfleet/echo:0.1.0", "envfleet/server:0.1.0"],
    },
    "namespace": "envfleet",
    "server": {"image": "envfleet/server:0.1.0", "resources": {"requests": {}, "limits": {}}},
    "network": {"clients": [{"namespace": "trainers"}]},
    "secrets": {"api-key": SecretStr("hunter2")},
    "environments": [
        {
            "name": "echo",
            "image": "envfleet/echo:0.1.0",
            "count": 2,
            "health": {},
            "volumes": [
                {"name": "scratch", "mount_path": "/scratch", "empty_dir": {}},
                {"name": "disk", "mount_path": "/disk", "ephemeral_claim": {"size": "10Gi"}},
            ],
            "egress": [{"cidr": "10.20.0.0/16"}],
            "security": {},
            "affinity": {
                "node_affinity": {
                    "required": [[{"key": "zone", "operator": "In", "values": ["a"]}]],
                    "preferred": [{"weight": 1, "requirements": [{"key": "zone", "operator": "Exists"}]}],
                },
                "pod_affinity": {
                    "required": [{"match_labels": {"role": "cache"}, "topology_key": "zone"}],
                    "preferred": [{"weight": 1, "term": {"match_labels": {}, "topology_key": "zone"}}],
                },
            },
            "tolerations": [{"key": "gpu"}],
        },
        {"name": "other", "image": "envfleet/echo:0.1.0", "resources": {"requests": {}, "limits": {}}},
    ],
}
EXISTING = {"provider": "existing", "context": "staging", "kubeconfig": "~/.kube/config"}
MISSING = object()

STRING = "write a string; a number, a date or true/false needs quotes around it"
INTEGER = "write a whole number, without quotes"
BOOLEAN = "write true or false, without quotes"
LIST = 'write a list, each item on its own line after "- "'
MAPPING = "write a mapping, each line a key: value"
NAME = "use 1 to 63 lower-case letters, digits and '-', starting with a letter and not ending with '-'"
PORT = "write a whole number from 1 to 65535"
TIMEOUT = "write a whole number from 30 to 3600"
COUNT = "write a whole number from 1 to 3000"
IMAGE = "write [registry/]repository:tag, without spaces, the repository in lower case"
PINNED = 'pin it: add a tag other than "latest", or a digest (@sha256:…)'
QUANTITY = 'write a number with an optional unit, such as "500m", "2" or "512Mi"'
VARIABLE = "use at most 253 letters, digits and '_' for a variable's name, not starting with a digit"
OWN_VARIABLE = "variables named ENVFLEET_… are the fleet's own; choose another name"
LABEL_KEY = "write a key as name or prefix/name: letters, digits, '-', '_', '.', at most 63"
OWN_LABEL = "labels with this prefix are Kubernetes' and the fleet's own; use another prefix"
LABEL_VALUE = "use at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends"
HEALTH_PATH = 'write the path of a URL, beginning with "/" and without spaces, such as "/health"'
NAMESPACE = 'belongs to Kubernetes; choose another, such as "envfleet"'
OBJECT = (
    "write the name of an existing object: at most 253 lower-case letters, digits, '-' and '.', "
    "with a letter or digit at both ends of each part"
)
VISIBLE = 'write a text of visible characters, such as "{}"'
SECONDS = "write a whole number from 1 to 3600"
YEAR = "write a whole number from 1 to 31536000"
WEIGHT = "write a whole number from 1 to 100"
ID = "write a whole number from 0 to 2147483647"
NUL = "a process can't be handed text with a NUL character; remove it"
LONG = "a process can't be handed more than 128000 bytes at once; use a volume"
MEANT_ANNOTATION = "Kubernetes would take this annotation for an order of its own; use another prefix"
CIDR = 'write a network as address/length, with zeros after the length, such as "10.20.0.0/16"'
IPV4 = "holds IPv4 addresses; write them as IPv4"
METADATA = "is a cloud's metadata service, which environments never reach; remove it"
MOUNT_PATH = (
    'write an absolute path such as "/data", without spaces, ":", "." and "..", and no "/" at its end'
)
SUB_PATH = 'write a path within the volume, without "/" in front and without ".."'
CAPABILITY = "write a Linux capability in upper case and without CAP_, such as NET_BIND_SERVICE"
DEVICE = 'write the name by which nodes offer a device, such as "nvidia.com/gpu"'
SOURCES = "must have exactly one of empty_dir, ephemeral_claim, persistent_volume_claim, config_map, secret"
EXISTING_NAMESPACE = "write a namespace's name: 1 to 63 lower-case letters, digits and '-'"
SET_SECRET = "pulumi config set --secret --path secrets.NAME"
NO_SECRET = f"write the name of one of the stack's secrets (api-key); set a new one: {SET_SECRET}"
SECRET_NAME = "use 1 to 63 letters, digits, '-' and '_' for a secret's name"
ENCRYPTED = f"write one text, encrypted: {SET_SECRET}"
SERVER_KEYS = "image, port, service_type, node_port, resources, log_level, env"

# What to change in VALID, the line's part before the colon, and the part after it.
MISTAKES = [
    # Unknown keys, at every level.
    ("enviroments", 1, "enviroments", 'unknown key; did you mean "environments"?'),
    ("cluster.nodeImage", "x", "cluster.nodeImage", 'unknown key; did you mean "node_image"?'),
    (
        "cluster.port_mappings.0.hostport",
        1,
        "cluster.port_mappings[0].hostport",
        'unknown key; did you mean "host_port"?',
    ),
    ("server.replicas", 2, "server.replicas", f"unknown key; known are {SERVER_KEYS}"),
    ("server.resources.limit", {}, "server.resources.limit", 'unknown key; did you mean "limits"?'),
    (
        "environments.1.resources.limits.mem",
        "1Gi",
        "environments[1].resources.limits.mem",
        'unknown key; did you mean "memory"?',
    ),
    (
        "environments.0.health_path",
        "/",
        "environments[0].health_path",
        'unknown key; did you mean "health"?',
    ),
    # Missing keys.
    ("cluster", MISSING, "cluster", "is required: Where the fleet runs."),
    (
        "cluster",
        {},
        "cluster.provider",
        "is required; write the provider that runs the cluster, such as kind",
    ),
    ("server", MISSING, "server", "is required: The control server."),
    ("server.image", MISSING, "server.image", "is required: Image of the server, as `repository:tag`."),
    ("environments", MISSING, "environments", "is required: The environments to run; may be empty."),
    (
        "environments.1.image",
        MISSING,
        "environments[1].image",
        "is required: Image that serves the environment, as `repository:tag`.",
    ),
    (
        "environments.0.name",
        MISSING,
        "environments[0].name",
        "is required: Name, also in its URL; with `count`, followed by -0, -1, and so on.",
    ),
    # Wrong types.
    ("cluster", "kind", 'cluster = "kind"', MAPPING),
    ("server", [], "server = […]", MAPPING),
    ("environments", {}, "environments = {…}", LIST),
    ("environments.0", "echo", 'environments[0] = "echo"', MAPPING),
    ("environments.0.command", "ls", 'environments[0].command = "ls"', LIST),
    ("environments.0.args", [1], "environments[0].args[0] = 1", STRING),
    ("environments.0.image", None, "environments[0].image = null", STRING),
    ("environments.0.env", {"DEBUG": True}, "environments[0].env.DEBUG", STRING),
    ("environments.0.env", ["DEBUG"], "environments[0].env", MAPPING),
    ("cluster.feature_gates", {"Some": "true"}, 'cluster.feature_gates.Some = "true"', BOOLEAN),
    ("cluster.worker_nodes", "2", 'cluster.worker_nodes = "2"', INTEGER),
    ("server.port", True, "server.port = true", INTEGER),
    ("server.port", 80.5, "server.port = 80.5", INTEGER),
    # Choices.
    ("cluster.provider", "kid", 'cluster.provider = "kid"', "is not known; write 'kind', 'existing', 'aws'"),
    (
        "server.service_type",
        "Nodeport",
        'server.service_type = "Nodeport"',
        "write 'ClusterIP', 'NodePort' or 'LoadBalancer'",
    ),
    ("server.log_level", "INFO", 'server.log_level = "INFO"', "write 'debug', 'info', 'warning' or 'error'"),
    (
        "cluster.port_mappings.0.protocol",
        "tcp",
        'cluster.port_mappings[0].protocol = "tcp"',
        "write 'TCP', 'UDP' or 'SCTP'",
    ),
    # Numbers.
    ("server.port", 0, "server.port = 0", PORT),
    ("environments.1.port", 70000, "environments[1].port = 70000", PORT),
    ("environments.0.count", 0, "environments[0].count = 0", COUNT),
    ("environments.0.count", -1, "environments[0].count = -1", COUNT),
    ("environments.0.count", 10**9, "environments[0].count = 1000000000", COUNT),
    ("environments.0.count", True, "environments[0].count = true", INTEGER),
    ("cluster.worker_nodes", -1, "cluster.worker_nodes = -1", "write a whole number from 0 to 50"),
    ("cluster.control_plane_nodes", 0, "cluster.control_plane_nodes = 0", "write a whole number from 1 to 9"),
    (
        "cluster.control_plane_nodes",
        2,
        "cluster.control_plane_nodes = 2",
        "etcd keeps a majority only among an odd number of control plane nodes; write 1, 3 or 5",
    ),
    (
        "cluster.ready_timeout_seconds",
        1,
        "cluster.ready_timeout_seconds = 1",
        "write a whole number from 30 to 3600",
    ),
    # A cluster that exists.
    (
        "cluster",
        {**EXISTING, "context": MISSING},
        "cluster.context",
        (
            "is required: Context of the kubeconfig. "
            "It is never chosen for you, be it the current one or the only one."
        ),
    ),
    ("cluster", {**EXISTING, "context": " "}, 'cluster.context = " "', VISIBLE.format("staging")),
    ("cluster", {**EXISTING, "kubeconfig": ""}, 'cluster.kubeconfig = ""', VISIBLE.format("~/.kube/config")),
    (
        "cluster",
        {**EXISTING, "kubeconfig": MISSING},
        "cluster.kubeconfig",
        "is required: write the path of the file, or kubeconfig_secret",
    ),
    (
        "cluster",
        {**EXISTING, "kubeconfig_secret": "api-key"},
        'cluster.kubeconfig_secret = "api-key"',
        "contradicts kubeconfig; remove one of them",
    ),
    (
        "cluster",
        {**EXISTING, "kubeconfig": MISSING, "kubeconfig_secret": "other"},
        'cluster.kubeconfig_secret = "other"',
        f"write the name of one of the stack's secrets; set a new one: {SET_SECRET}",
    ),
    (
        "cluster",
        {**EXISTING, "images": ["envfleet/echo:0.1.0"]},
        "cluster.images",
        (
            "unknown key; known are provider, name, context, kubeconfig, kubeconfig_secret, "
            "enforces_network_policies"
        ),
    ),
    # Names.
    ("environments.1.name", "Echo_B", 'environments[1].name = "Echo_B"', NAME),
    ("environments.1.name", "1st", 'environments[1].name = "1st"', NAME),
    ("environments.1.name", "", 'environments[1].name = ""', NAME),
    ("environments.1.name", "a" * 64, f'environments[1].name = "{"a" * 64}"', NAME),
    (
        "environments.0.name",
        "a" * 62,
        f'environments[0].name = "{"a" * 62}"',
        f'is too long with its number, as in "{"a" * 62}-1"; shorten it by 1',
    ),
    (
        "environments.1.name",
        "server",
        'environments[1].name = "server"',
        "is the name of a part of the fleet itself; choose another",
    ),
    (
        "environments.1.name",
        "echo-1",
        'environments[1].name = "echo-1"',
        '"echo-1" is an environment of environments[0]; rename one',
    ),
    ("namespace", "kube-system", 'namespace = "kube-system"', NAMESPACE),
    ("namespace", "default", 'namespace = "default"', NAMESPACE),
    ("namespace", "My Fleet", 'namespace = "My Fleet"', NAME),
    ("cluster.name", "a" * 41, f'cluster.name = "{"a" * 41}"', NAME.replace("63", "40")),
    (
        "environments",
        [
            {
                "name": name,
                "image": "echo:1",
                "volumes": [{"name": volume, "mount_path": "/x", "ephemeral_claim": {"size": "1Gi"}}],
            }
            for name, volume in (("a", "b-c"), ("a-b", "c"))
        ],
        'environments[1].volumes[0].name = "c"',
        'its disk "a-b-c" would be that of environments[0]; rename the volume',
    ),
    # Images.
    ("server.image", "envfleet/ server:1", 'server.image = "envfleet/ server:1"', IMAGE),
    ("server.image", "Envfleet/Server:1", 'server.image = "Envfleet/Server:1"', IMAGE),
    ("server.image", "", 'server.image = ""', IMAGE),
    ("cluster.node_image", "kindest node", 'cluster.node_image = "kindest node"', IMAGE),
    ("environments.0.image", "echo", 'environments[0].image = "echo"', PINNED),
    ("environments.0.image", "echo:latest", 'environments[0].image = "echo:latest"', PINNED),
    (
        "cluster.images",
        ["echo:1", "echo:1"],
        'cluster.images[1] = "echo:1"',
        "is listed twice; remove one",
    ),
    # Resources.
    ("server.resources.limits.cpu", "two", 'server.resources.limits.cpu = "two"', QUANTITY),
    ("server.resources.limits.memory", "\u0665Gi", 'server.resources.limits.memory = "\u0665Gi"', QUANTITY),
    ("server.resources.limits.memory", "1GB", 'server.resources.limits.memory = "1GB"', QUANTITY),
    ("server.resources.requests.cpu", "-1", 'server.resources.requests.cpu = "-1"', QUANTITY),
    ("server.resources.requests.cpu", "0", 'server.resources.requests.cpu = "0"', "must be above zero"),
    ("server.resources.limits.cpu", 2, "server.resources.limits.cpu = 2", STRING),
    (
        "server.resources.requests.memory",
        "256m",
        'server.resources.requests.memory = "256m"',
        'is less than a mebibyte; write a unit, such as "256Mi"',
    ),
    (
        "server.resources.requests.cpu",
        "0.1m",
        'server.resources.requests.cpu = "0.1m"',
        'the smallest share of a processor is "1m"',
    ),
    (
        "environments.1.resources",
        {"requests": {"cpu": "2"}, "limits": {"cpu": "1500m"}},
        'environments[1].resources.limits.cpu = "1500m"',
        'is below requests.cpu, "2"; raise this or lower that',
    ),
    (
        "server.resources.limits.memory",
        "64Mi",
        'server.resources.limits.memory = "64Mi"',
        'is below requests.memory, "192Mi"; raise this or lower that',
    ),
    # Variables: their values are never shown.
    ("environments.0.env", {"MY-VAR": "x"}, "environments[0].env.MY-VAR", VARIABLE),
    ("environments.0.env", {"ENVFLEET_A": "x"}, "environments[0].env.ENVFLEET_A", OWN_VARIABLE),
    ("server.env", {"PORT": "80"}, "server.env.PORT", "write it as server.port instead"),
    # Labels.
    ("environments.0.labels", {"a b": "x"}, 'environments[0].labels["a b"] = "a b"', LABEL_KEY),
    (
        "environments.0.labels",
        {"app.kubernetes.io/name": "x"},
        'environments[0].labels["app.kubernetes.io/name"] = "app.kubernetes.io/name"',
        OWN_LABEL,
    ),
    ("environments.0.labels", {"x..y/z": "x"}, 'environments[0].labels["x..y/z"] = "x..y/z"', LABEL_KEY),
    ("environments.0.labels", {"team": "ü"}, 'environments[0].labels.team = "ü"', LABEL_VALUE),
    ("environments.0.labels", {"team": "a b"}, 'environments[0].labels.team = "a b"', LABEL_VALUE),
    # Networking.
    ("network.clients", {}, "network.clients = {…}", LIST),
    ("network.client", [], "network.client", 'unknown key; did you mean "clients"?'),
    (
        "network.clients.0.namespace",
        "My Fleet",
        'network.clients[0].namespace = "My Fleet"',
        EXISTING_NAMESPACE,
    ),
    ("network.clients.0.labels", {"a b": "x"}, 'network.clients[0].labels["a b"] = "a b"', LABEL_KEY),
    ("readiness", {"timeout_seconds": 1}, "readiness.timeout_seconds = 1", TIMEOUT),
    ("readiness", {"through_service": "yes"}, 'readiness.through_service = "yes"', BOOLEAN),
    (
        "cluster.port_mappings.1.host_port",
        8080,
        "cluster.port_mappings[1].host_port = 8080",
        "is taken by port_mappings[0]; choose a free port",
    ),
    (
        "cluster.port_mappings.0.listen_address",
        "localhost",
        'cluster.port_mappings[0].listen_address = "localhost"',
        'write an IP address: "127.0.0.1" for this machine only, "0.0.0.0" for all its networks',
    ),
    (
        "server.node_port",
        30080,
        "server.node_port = 30080",
        "works only with service_type: NodePort; add that, or remove node_port",
    ),
    (
        "server.service_type",
        "LoadBalancer",
        'server.service_type = "LoadBalancer"',
        "kind has no load balancers; write NodePort and add its node_port to cluster.port_mappings",
    ),
    (
        "cluster.feature_gates",
        {"some-gate": True},
        'cluster.feature_gates.some-gate = "some-gate"',
        "write a Kubernetes feature gate as it is documented, such as InPlacePodVerticalScaling",
    ),
]

# The same within the first environment.
AFFINITY, TERM = "affinity.node_affinity", "affinity.pod_affinity.required"
IN_ENVIRONMENT = [
    (
        "image_pull_policy",
        "always",
        'image_pull_policy = "always"',
        "write 'Always', 'IfNotPresent' or 'Never'",
    ),
    ("image_pull_secrets", ["My_Secret"], 'image_pull_secrets[0] = "My_Secret"', OBJECT),
    ("service_account", "a..b", 'service_account = "a..b"', OBJECT),
    ("runtime_class", "gVisor", 'runtime_class = "gVisor"', OBJECT),
    ("priority_class", "", 'priority_class = ""', OBJECT),
    ("startup_seconds", 0, "startup_seconds = 0", SECONDS),
    ("ttl_seconds", 31_536_001, "ttl_seconds = 31536001", YEAR),
    ("command", ["sh\0"], r'command[0] = "sh\u0000"', NUL),
    ("args", "--fast", 'args = "--fast"', LIST),
    ("annotations", {"a b": "x"}, 'annotations["a b"] = "a b"', LABEL_KEY),
    ("annotations", {"a": 1}, "annotations.a = 1", STRING),
    (
        "annotations",
        {"pulumi.com/skipAwait": "true"},
        'annotations["pulumi.com/skipAwait"] = "pulumi.com/skipAwait"',
        "annotations with this prefix are Pulumi's and the fleet's own; use another prefix",
    ),
    *(
        ("annotations", {key: "x"}, f'annotations["{key}"] = "{key}"', MEANT_ANNOTATION)
        for key in (
            "kubernetes.io/config.mirror",
            "controller.kubernetes.io/pod-deletion-cost",
            "scheduler.alpha.kubernetes.io/tolerations",
            "seccomp.security.alpha.kubernetes.io/pod",
            "container.apparmor.security.beta.kubernetes.io/environment",
        )
    ),
    (
        "annotations",
        {"a": "ü" * 2**16, "b": "x" * 2**17},
        "annotations = {…}",
        "an object has at most 256 KiB of annotations; use a volume for long texts",
    ),
    (
        "image_pull_secrets",
        ["a", "b", "a"],
        "image_pull_secrets = […]",
        '"a" is listed twice; remove one',
    ),
    ("node_selector", {"zone": "a b"}, 'node_selector.zone = "a b"', LABEL_VALUE),
    # Variables and secrets: their values are never shown.
    ("env", {"A": "x\0"}, "env.A", NUL),
    ("env", {"A": "ü" * 64_001}, "env.A", LONG),
    *(
        (key, value, key, "a process is handed at most 1 MiB of arguments and variables in all; use a volume")
        for key, value in (
            ("args", ["x" * 128_000] * 9),
            ("env", {f"A{number}": "x" * 128_000 for number in range(9)}),
        )
    ),
    ("env", {"A" * 254: "x"}, f"env.{'A' * 254}", VARIABLE),
    ("secret_env", {"MY-KEY": "api-key"}, "secret_env.MY-KEY", VARIABLE),
    ("secret_env", {"KEY": "other"}, "secret_env.KEY", NO_SECRET),
    ("secret_env", {"KEY": ""}, "secret_env.KEY", NO_SECRET),
    ("secret_env", {"KEY": ["api-key"]}, "secret_env.KEY", STRING),
    # Resources.
    (
        "resources",
        {"requests": {"ephemeral_storage": "3Gi"}},
        'resources.limits.ephemeral_storage = "2Gi"',
        'is below requests.ephemeral_storage, "3Gi"; raise this or lower that',
    ),
    (
        "resources",
        {"limits": {"ephemeral_storage": "512e3"}},
        'resources.limits.ephemeral_storage = "512e3"',
        'is less than a mebibyte; write a unit, such as "512Mi"',
    ),
    ("resources", {"extended": {"gpu": 1}}, 'resources.extended.gpu = "gpu"', DEVICE),
    *(
        ("resources", {"extended": {name: 1}}, f'resources.extended["{name}"] = {shown}', DEVICE)
        for name, shown in (
            ("kubernetes.io/gpu", '"kubernetes.io/gpu"'),
            ("requests.nvidia.com/gpu", '"requests.nvidia.com/gpu"'),
            ("hugepages-2mi.example.com/x", '"hugepages-2mi.example.com/x"'),
            ("a." * 122 + "a/gpu", '"' + "a." * 34 + "a…"),
        )
    ),
    (
        "resources",
        {"extended": {"nvidia.com/gpu": 0}},
        'resources.extended["nvidia.com/gpu"] = 0',
        "write a whole number from 1 to 1000",
    ),
    # Health.
    ("health", "/health", 'health = "/health"', MAPPING),
    ("health.path", "health", 'health.path = "health"', HEALTH_PATH),
    ("health.path", "/a b", 'health.path = "/a b"', HEALTH_PATH),
    ("health.port", 0, "health.port = 0", PORT),
    ("health.scheme", "https", 'health.scheme = "https"', "write 'HTTP' or 'HTTPS'"),
    ("health.timeout_seconds", 0, "health.timeout_seconds = 0", SECONDS),
    ("health.period_seconds", 3601, "health.period_seconds = 3601", SECONDS),
    ("health.failures", 0, "health.failures = 0", "write a whole number from 1 to 100"),
    ("health.restart_seconds", 0, "health.restart_seconds = 0", YEAR),
    (
        "health.restart_seconds",
        4,
        "health.restart_seconds = 4",
        "is below timeout_seconds, 5; raise this or lower that",
    ),
    # Volumes.
    ("volumes.0", "scratch", 'volumes[0] = "scratch"', MAPPING),
    ("volumes.0.empty_dir", MISSING, "volumes[0]", f"{SOURCES}; it has none"),
    ("volumes.0.secret", "x", "volumes[0]", f"{SOURCES}; it has empty_dir and secret"),
    ("volumes.0.name", "Scratch", 'volumes[0].name = "Scratch"', NAME),
    (
        "volumes.1.name",
        "scratch",
        'volumes[1].name = "scratch"',
        "is that of volumes[0] too; choose another",
    ),
    (
        "volumes.1.mount_path",
        "/scratch",
        'volumes[1].mount_path = "/scratch"',
        "is that of volumes[0] too; choose another",
    ),
    *(
        ("volumes.1.mount_path", path, f'volumes[1].mount_path = "{path}"', MOUNT_PATH)
        for path in ("/", "data", "/a:b", "/a b", "/a/../b", "/./a", "/scratch/", "//scratch")
    ),
    (
        "volumes.1.mount_path",
        "/proc/x",
        'volumes[1].mount_path = "/proc/x"',
        'belongs to the kernel; choose another, such as "/data"',
    ),
    *(
        ("volumes.0.sub_path", path, f'volumes[0].sub_path = "{path}"', SUB_PATH)
        for path in ("", "/a", "a/../b", "..")
    ),
    ("volumes.0.read_only", "yes", 'volumes[0].read_only = "yes"', BOOLEAN),
    ("volumes.0.empty_dir", True, "volumes[0].empty_dir = true", MAPPING),
    ("volumes.0.empty_dir.size_limit", "1GB", 'volumes[0].empty_dir.size_limit = "1GB"', QUANTITY),
    ("volumes.0.empty_dir.memory", 1, "volumes[0].empty_dir.memory = 1", BOOLEAN),
    (
        "volumes.1.ephemeral_claim.size",
        MISSING,
        "volumes[1].ephemeral_claim.size",
        'is required: Space, such as "10Gi".',
    ),
    (
        "volumes.1.ephemeral_claim.storage_class",
        "Fast",
        'volumes[1].ephemeral_claim.storage_class = "Fast"',
        OBJECT,
    ),
    *(
        ("volumes.0", {"name": "x", "mount_path": "/x", source: "X"}, f'volumes[0].{source} = "X"', OBJECT)
        for source in ("persistent_volume_claim", "config_map", "secret")
    ),
    # Egress.
    *(
        ("egress.0.cidr", cidr, f'egress[0].cidr = "{cidr}"', remedy)
        for cidr, remedy in (
            ("example.com", CIDR),
            ("10.20.0.1/16", CIDR),
            ("fe80::%eth0/64", CIDR),
            ("10.20.0.1", 'write its length too: "10.20.0.1/32" for this address alone'),
            ("169.254.169.254/32", METADATA),
            ("fd20:ce::254/128", METADATA),
            ("::ffff:169.254.169.254/128", IPV4),
        )
    ),
    ("egress.0.ports", [443, 0], "egress[0].ports[1] = 0", PORT),
    ("egress.0.protocol", "tcp", 'egress[0].protocol = "tcp"', "write 'TCP' or 'UDP'"),
    # Security.
    (
        "security.level",
        "none",
        'security.level = "none"',
        "write 'restricted', 'baseline' or 'privileged'",
    ),
    ("security.run_as_user", -1, "security.run_as_user = -1", ID),
    ("security.run_as_group", 2**31, "security.run_as_group = 2147483648", ID),
    ("security.fs_group", "1000", 'security.fs_group = "1000"', INTEGER),
    (
        "security.run_as_user",
        0,
        "security.run_as_user = 0",
        "is root, which level restricted forbids; choose another user, or write level: baseline",
    ),
    (
        "security.privileged",
        True,
        "security.privileged = true",
        "write level: privileged too, or remove it",
    ),
    *(
        ("security.capabilities", [name], f'security.capabilities[0] = "{name}"', CAPABILITY)
        for name in ("CAP_KILL", "kill", "ALL", "NET_BIND_SERVICES", "")
    ),
    (
        "security.capabilities",
        ["CHOWN"],
        'security.capabilities[0] = "CHOWN"',
        "level restricted does not allow it; remove it, or write level: baseline",
    ),
    (
        "security",
        {"level": "baseline", "capabilities": ["CHOWN", "SYS_ADMIN"]},
        'security.capabilities[1] = "SYS_ADMIN"',
        "level baseline does not allow it; remove it, or write level: privileged",
    ),
    # Scheduling.
    ("tolerations.0.key", "a b", 'tolerations[0].key = "a b"', LABEL_KEY),
    ("tolerations.0.operator", "exists", 'tolerations[0].operator = "exists"', "write 'Equal' or 'Exists'"),
    ("tolerations.0.value", "a b", 'tolerations[0].value = "a b"', LABEL_VALUE),
    (
        "tolerations.0.effect",
        "NoRun",
        'tolerations[0].effect = "NoRun"',
        "write 'NoSchedule', 'PreferNoSchedule' or 'NoExecute'",
    ),
    (
        "tolerations.0",
        {"value": "x"},
        "tolerations[0]",
        "without a key it tolerates every taint: write operator: Exists, or a key",
    ),
    (
        "tolerations.0",
        {"key": "gpu", "operator": "Exists", "value": "x"},
        'tolerations[0].value = "x"',
        "operator Exists compares with no value; remove it, or write operator: Equal",
    ),
    (
        "tolerations.0.toleration_seconds",
        60,
        "tolerations[0].toleration_seconds = 60",
        "works only with effect: NoExecute; add that, or remove it",
    ),
    (f"{AFFINITY}.required.0", {"key": "zone"}, f"{AFFINITY}.required[0] = {{…}}", LIST),
    (
        f"{AFFINITY}.required.0",
        [],
        f"{AFFINITY}.required[0]",
        "needs at least one requirement; add one, or remove the entry",
    ),
    (f"{AFFINITY}.required.0.0.key", "a b", f'{AFFINITY}.required[0][0].key = "a b"', LABEL_KEY),
    (f"{AFFINITY}.required.0.0.values", ["a b"], f'{AFFINITY}.required[0][0].values[0] = "a b"', LABEL_VALUE),
    (
        f"{AFFINITY}.required.0.0.operator",
        ["In"],
        f"{AFFINITY}.required[0][0].operator = […]",
        "write 'In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt' or 'Lt'",
    ),
    *(
        (
            f"{AFFINITY}.required.0.0",
            {"key": "zone", "operator": operator, "values": values},
            f"{AFFINITY}.required[0][0].values = […]",
            f"operator {operator} needs {wanted}",
        )
        for operator, values, wanted in (
            ("In", [], "at least one value"),
            ("NotIn", [], "at least one value"),
            ("Exists", ["a"], "no values"),
            ("DoesNotExist", ["a"], "no values"),
            ("Gt", [], "exactly one value"),
            ("Lt", ["1", "2"], "exactly one value"),
        )
    ),
    (
        f"{AFFINITY}.required.0.0",
        {"key": "zone", "operator": "Gt", "values": ["two"]},
        f'{AFFINITY}.required[0][0].values[0] = "two"',
        "operator Gt compares whole numbers",
    ),
    (f"{AFFINITY}.preferred.0.weight", 101, f"{AFFINITY}.preferred[0].weight = 101", WEIGHT),
    (
        f"{AFFINITY}.preferred.0.requirements",
        [],
        f"{AFFINITY}.preferred[0].requirements",
        "needs at least one requirement; add one, or remove the entry",
    ),
    (f"{TERM}.0.match_labels", {"a": "b c"}, f'{TERM}[0].match_labels.a = "b c"', LABEL_VALUE),
    (f"{TERM}.0.topology_key", "", f'{TERM}[0].topology_key = ""', LABEL_KEY),
    (f"{TERM}.0.namespaces", ["A"], f'{TERM}[0].namespaces[0] = "A"', EXISTING_NAMESPACE),
    ("affinity.pod_affinity.preferred.0.weight", 0, "affinity.pod_affinity.preferred[0].weight = 0", WEIGHT),
]
MISTAKES += [
    (f"environments.0.{path}", value, f"environments[0].{written}", remedy)
    for path, value, written, remedy in IN_ENVIRONMENT
]
