"""The Kubernetes objects of the server and of environments, as their builders make them."""

import dataclasses

import pytest
from pydantic import SecretStr

from components import environment, rbac, server
from components.environment import EnvironmentArgs
from components.server import ServerArgs
from config import EnvironmentConfig, ServerConfig


def environment_args(**settings) -> EnvironmentArgs:
    config = EnvironmentConfig(name="echo", image="echo:1", **settings)
    return EnvironmentArgs("echo-0", "fleet", "dev", "echo:1-abc", config)


def server_args(**settings) -> ServerArgs:
    return ServerArgs("fleet", "dev", "server:1-abc", ServerConfig(image="server:1", **settings))


ENVIRONMENT_POD = environment.pod(environment_args()).spec
SERVER_POD = server.deployment(server_args()).spec.template.spec
PODS = pytest.mark.parametrize("pod", [ENVIRONMENT_POD, SERVER_POD], ids=["environment", "server"])


@PODS
def test_pods_meet_pod_security_restricted(pod):
    assert pod.security_context.run_as_non_root is True
    assert pod.security_context.seccomp_profile.type == "RuntimeDefault"
    for container in pod.containers:
        assert container.security_context.allow_privilege_escalation is False
        assert container.security_context.capabilities.drop == ["ALL"]


@PODS
def test_pods_get_no_variables_of_other_services(pod):
    assert pod.enable_service_links is False


def test_only_the_server_gets_a_token_and_each_role_has_its_own_account():
    assert (SERVER_POD.service_account_name, SERVER_POD.automount_service_account_token) == ("server", True)
    assert ENVIRONMENT_POD.service_account_name == "environment"
    assert ENVIRONMENT_POD.automount_service_account_token is False


def test_the_server_may_read_pods_and_services_of_its_namespace_and_nothing_else():
    args = rbac.RbacArgs("fleet", "dev")
    (rule,) = rbac.server_role(args).rules
    assert (rule.api_groups, rule.resources, rule.verbs) == (
        [""],
        ["pods", "services"],
        ["list"],
    )
    binding = rbac.server_role_binding(args)
    assert (binding.role_ref.kind, binding.role_ref.name) == ("Role", "server")
    (subject,) = binding.subjects
    assert (subject.kind, subject.name, subject.namespace) == ("ServiceAccount", "server", "fleet")


def test_accounts_hand_out_no_token_unasked():
    args = rbac.RbacArgs("fleet", "dev")
    assert rbac.service_account(args, rbac.ENVIRONMENT).automount_service_account_token is False


def test_an_environment_is_what_its_settings_say():
    args = environment_args(
        port=9000,
        env={"A": "1", "B": "2"},
        command=["run"],
        args=["--fast"],
        resources={"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "2Gi"}},
    )
    (container,) = environment.pod(args).spec.containers
    assert container.image == "echo:1-abc"
    assert [(variable.name, variable.value) for variable in container.env] == [("A", "1"), ("B", "2")]
    assert (container.command, container.args) == (["run"], ["--fast"])
    assert container.ports[0].container_port == 9000
    assert container.resources.requests == {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "64Mi"}
    assert container.resources.limits == {"cpu": "2", "memory": "2Gi", "ephemeral-storage": "2Gi"}


def test_devices_are_requested_and_limited_alike():
    resources = {"limits": {"ephemeral_storage": "8Gi"}, "extended": {"nvidia.com/gpu": 2}}
    (container,) = environment.pod(environment_args(resources=resources)).spec.containers
    assert container.resources.requests["nvidia.com/gpu"] == "2"
    assert container.resources.limits["nvidia.com/gpu"] == "2"
    assert container.resources.limits["ephemeral-storage"] == "8Gi"


def probes(**settings):
    (container,) = environment.pod(environment_args(**settings)).spec.containers
    return container, [container.startup_probe, container.readiness_probe, container.liveness_probe]


def test_all_three_probes_of_an_environment_ask_its_health_path():
    container, asked = probes(port=9000, health={"path": "/ok", "scheme": "HTTPS", "timeout_seconds": 7})
    for probe in asked:
        assert (probe.http_get.path, probe.http_get.port) == ("/ok", container.ports[0].name)
        assert (probe.http_get.scheme, probe.timeout_seconds) == ("HTTPS", 7)


def test_health_may_be_asked_for_at_another_port_which_its_service_has_too():
    settings = {"port": 9000, "health": {"port": 9001}}
    container, asked = probes(**settings)
    ports = {port.name: port.container_port for port in container.ports}
    assert ports == {"http": 9000, "health": 9001}
    assert {ports[probe.http_get.port] for probe in asked} == {9001}
    service = environment.service(environment_args(**settings)).spec
    assert {port.name: (port.port, port.target_port) for port in service.ports} == {
        "http": (9000, "http"),
        "health": (9001, "health"),
    }


def test_an_environment_is_given_the_time_that_it_may_take():
    _, (startup, readiness, liveness) = probes(
        startup_seconds=600, health={"period_seconds": 4, "failures": 2, "restart_seconds": 95}
    )
    assert startup.period_seconds * startup.failure_threshold == 600
    assert (readiness.period_seconds, readiness.failure_threshold) == (4, 2)
    assert 95 <= liveness.period_seconds * liveness.failure_threshold < 95 + liveness.period_seconds


def test_an_environment_may_hang_for_ever():
    _, (*_, liveness) = probes(health={"restart_seconds": None})
    assert liveness is None


def test_secret_variables_come_from_the_environments_own_secret(event_loop_for_pulumi):
    settings = {"env": {"A": "1"}, "secret_env": {"KEY": "api-key"}}
    args = dataclasses.replace(environment_args(**settings), secrets={"KEY": SecretStr("hünter2")})
    (container,) = environment.pod(args).spec.containers
    plain, key = container.env
    assert (plain.name, plain.value) == ("A", "1")
    assert (key.name, key.value) == ("KEY", None)
    source = key.value_from.secret_key_ref
    secret = environment.secret(args)
    assert (source.name, source.key) == (secret.metadata.name, "KEY") == ("echo-0", "KEY")
    assert secret.metadata.namespace == "fleet"
    assert secret.data.keys() == {"KEY"}


def test_what_is_left_unsaid_is_left_to_kubernetes():
    spec = ENVIRONMENT_POD
    assert spec.active_deadline_seconds is spec.runtime_class_name is spec.priority_class_name is None
    assert spec.node_selector is spec.affinity is spec.image_pull_secrets is spec.volumes is None


def test_a_pod_is_placed_pulled_and_ended_as_its_settings_say():
    pod = environment.pod(
        environment_args(
            image_pull_policy="Always",
            image_pull_secrets=["registry"],
            ttl_seconds=60,
            service_account="simulator",
            runtime_class="gvisor",
            priority_class="training",
            node_selector={"zone": "a"},
            annotations={"example.com/owner": "me"},
            labels={"team": "x"},
        )
    )
    assert pod.spec.containers[0].image_pull_policy == "Always"
    assert [each.name for each in pod.spec.image_pull_secrets] == ["registry"]
    assert pod.spec.active_deadline_seconds == 60
    assert pod.spec.service_account_name == "simulator"
    assert pod.spec.automount_service_account_token is False
    assert (pod.spec.runtime_class_name, pod.spec.priority_class_name) == ("gvisor", "training")
    assert pod.spec.node_selector == {"zone": "a"}
    assert pod.metadata.annotations["example.com/owner"] == "me"
    assert pod.metadata.labels["team"] == "x"


def security(**settings):
    pod = environment.pod(environment_args(security=settings))
    return pod, pod.spec.security_context, pod.spec.containers[0].security_context


def test_users_and_groups_are_those_that_are_configured():
    _, pod, container = security(run_as_user=1, run_as_group=2, fs_group=3, read_only_root_filesystem=True)
    assert (pod.run_as_user, pod.run_as_group, pod.fs_group) == (1, 2, 3)
    assert container.read_only_root_filesystem is True


def test_restricted_adds_only_what_is_asked_for():
    pod, context, container = security(capabilities=["NET_BIND_SERVICE"])
    assert (container.capabilities.drop, container.capabilities.add) == (["ALL"], ["NET_BIND_SERVICE"])
    assert context.run_as_non_root is True
    assert "envfleet.dev/pod-security" not in pod.metadata.labels


@pytest.mark.parametrize("level", ["baseline", "privileged"])
def test_a_less_strict_level_allows_root_and_marks_the_pod(level):
    pod, context, container = security(level=level, run_as_user=0, capabilities=["CHOWN"])
    assert (context.run_as_non_root, context.run_as_user) == (None, 0)
    assert (container.capabilities.drop, container.capabilities.add) == (None, ["CHOWN"])
    assert container.allow_privilege_escalation is True
    assert container.privileged is False
    assert context.seccomp_profile.type == "RuntimeDefault", "baseline allows no other"
    assert pod.metadata.labels["envfleet.dev/pod-security"] == level


def test_a_privileged_container_is_one():
    *_, container = security(level="privileged", privileged=True)
    assert container.privileged is True
    assert container.allow_privilege_escalation is True, "Kubernetes refuses anything else"


def test_the_servers_readiness_depends_on_kubernetes_and_its_liveness_does_not():
    (container,) = SERVER_POD.containers
    assert container.startup_probe.http_get.path == "/healthz"
    assert container.liveness_probe.http_get.path == "/healthz"
    assert container.readiness_probe.http_get.path == "/readyz"
    assert container.readiness_probe.timeout_seconds >= 5, "/readyz makes two calls of 2 s at most"


def test_a_lost_node_frees_its_environments_soon():
    conditions = {toleration.key: toleration for toleration in ENVIRONMENT_POD.tolerations}
    assert conditions.keys() == {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}
    for toleration in conditions.values():
        assert toleration.effect == "NoExecute"
        assert toleration.toleration_seconds < 60


def test_environments_restart_and_stop_in_time():
    assert ENVIRONMENT_POD.restart_policy == "Always"
    assert ENVIRONMENT_POD.termination_grace_period_seconds == 10


def test_there_is_never_more_than_one_server():
    spec = server.deployment(server_args()).spec
    assert spec.replicas == 1
    assert spec.strategy.type == "Recreate"
    assert "replicas" not in ServerConfig.model_fields


def test_the_server_is_told_its_namespace_port_and_log_level():
    (container,) = server.deployment(
        server_args(port=9, log_level="debug", env={"A": "1"})
    ).spec.template.spec.containers
    variables = {variable.name: variable for variable in container.env}
    assert variables["ENVFLEET_NAMESPACE"].value_from.field_ref.field_path == "metadata.namespace"
    assert variables["PORT"].value == "9"
    assert variables["LOG_LEVEL"].value == "debug"
    assert variables["A"].value == "1"


def test_a_service_leads_to_its_pod():
    args = environment_args(port=9000, labels={"team": "x"})
    pod, service = environment.pod(args), environment.service(args)
    assert pod.metadata.name == service.metadata.name == "echo-0"
    assert pod.metadata.namespace == service.metadata.namespace == "fleet"
    assert service.spec.selector.items() <= pod.metadata.labels.items()
    (port,) = service.spec.ports
    assert (port.port, port.target_port) == (9000, pod.spec.containers[0].ports[0].name)


def test_selectors_hold_nothing_that_can_change():
    (plain, labelled) = (environment.service(environment_args(labels=more)) for more in ({}, {"team": "x"}))
    assert plain.spec.selector == labelled.spec.selector
    assert plain.spec.selector.keys() == {"app.kubernetes.io/name", "app.kubernetes.io/instance"}


def test_the_servers_service_leads_to_it():
    deployment, service = server.deployment(server_args()), server.service(server_args())
    labels = deployment.spec.template.metadata.labels
    assert service.spec.selector.items() <= labels.items()
    assert deployment.spec.selector.match_labels.items() <= labels.items()
    assert service.spec.ports[0].target_port == SERVER_POD.containers[0].ports[0].name


def test_only_a_load_balancer_is_awaited():
    services = [
        environment.service(environment_args()),
        server.service(server_args()),
        server.service(server_args(service_type="LoadBalancer")),
    ]
    skipped = [each.metadata.annotations.get("pulumi.com/skipAwait") for each in services]
    assert skipped == ["true", "true", None]


def test_the_server_is_reached_as_configured():
    service = server.service(server_args(service_type="NodePort", node_port=30001, port=9)).spec
    assert (service.type, service.ports[0].node_port, service.ports[0].port) == ("NodePort", 30001, 9)
