"""The Kubernetes objects of the server and of environments, as their builders make them."""

import pytest

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
    assert container.resources.requests == {"cpu": "1", "memory": "1Gi"}
    assert container.resources.limits == {"cpu": "2", "memory": "2Gi"}


def test_all_three_probes_of_an_environment_ask_its_health_path():
    (container,) = environment.pod(environment_args(health_path="/ok", port=9000)).spec.containers
    for probe in (container.startup_probe, container.readiness_probe, container.liveness_probe):
        assert (probe.http_get.path, probe.http_get.port) == ("/ok", container.ports[0].name)


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
    assert environment.service(environment_args()).metadata.annotations == {"pulumi.com/skipAwait": "true"}
    assert server.service(server_args()).metadata.annotations == {"pulumi.com/skipAwait": "true"}
    assert server.service(server_args(service_type="LoadBalancer")).metadata.annotations is None


def test_the_server_is_reached_as_configured():
    service = server.service(server_args(service_type="NodePort", node_port=30001, port=9)).spec
    assert (service.type, service.ports[0].node_port, service.ports[0].port) == ("NodePort", 30001, 9)
