"""Rules that hold for every component, read from its source."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted([*ROOT.glob("components/**/*.py"), *ROOT.glob("providers/**/*.py")])


def components_of(tree: ast.AST) -> list[ast.ClassDef]:
    """The classes whose constructor registers a component, by passing its type on."""
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        and any(
            isinstance(call, ast.Call)
            and ast.unparse(call.func) == "super().__init__"
            and call.args
            and isinstance(call.args[0], ast.Constant)
            and str(call.args[0].value).startswith("envfleet:")
            for call in ast.walk(node)
        )
    ]


COMPONENTS = [
    pytest.param(component, id=f"{module.relative_to(ROOT)}:{component.name}")
    for module in MODULES
    for component in components_of(ast.parse(module.read_text()))
]


def test_the_components_are_found():
    names = {parameter.values[0].name for parameter in COMPONENTS}
    assert {"Fleet", "Namespace", "Rbac", "Network", "Server", "Environments", "KindCluster"} <= names


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_component_registers_its_outputs_once_and_last(component):
    calls = [node for node in ast.walk(component) if _is_call(node, "register_outputs")]
    constructor = next(
        node for node in component.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"
    )
    assert len(calls) == 1
    assert _is_call(constructor.body[-1].value, "register_outputs")
    assert ast.unparse(calls[0].args[0]) != "{}", "outputs say what the component made"


@pytest.mark.parametrize("component", COMPONENTS)
def test_children_are_named_after_their_component(component):
    for call in ast.walk(component):
        if _makes_object(call) and call.args and isinstance(call.args[0], ast.JoinedStr):
            first, second, *_ = call.args[0].values
            assert ast.unparse(first.value) == "name", ast.unparse(call)
            assert second.value.startswith("-"), ast.unparse(call)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(ROOT)))
def test_only_providers_make_a_kubernetes_provider_and_none_uses_the_users_kubeconfig(module):
    source = module.read_text()
    for call in (node for node in ast.walk(ast.parse(source)) if _is_call(node, "kubernetes.Provider")):
        assert module.is_relative_to(ROOT / "providers"), "components get their provider through the options"
        given = {keyword.arg for keyword in call.keywords}
        assert {"kubeconfig", "cluster_identifier"} <= given, "without them it takes the user's kubeconfig"
    assert ".kube/config" not in source
    assert "load_kube_config" not in source


def _is_call(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and f".{ast.unparse(node.func)}".endswith(f".{name}")


def _makes_object(node: ast.AST) -> bool:
    """Whether it is the call of a class, by how those are spelled."""
    return isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2][0].isupper()
