"""Fixtures for tests on simulated clouds.

    def test_something(aws, aws_stack):
        aws_stack.up(program)          # with pulumi_aws and the explicit provider of `aws_provider()`
        aws.refuse(3)                  # the third change from now on: see `clouds.cloud`
        assert aws.changes() == [...]  # so far; `aws.calls` has all calls, and how each ended
        aws_stack.destroy()
        assert aws.left() == []

- `aws`: an empty account; its EKS clusters lead to `cloud_plane`, nodes of their node groups included.
- `aws_stack`: a PulumiStack whose engine finds the simulated plugin, and `aws eks get-token` on PATH.
- `cloud_plane`: one control plane for the session, without nodes of its own.
- `run_cloud(cloud, provider, ...)`: what stacks of any simulated cloud need.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pulumi_aws
import pytest

from tests.engine.clouds import serving
from tests.engine.clouds.aws import cli
from tests.engine.clouds.aws.cloud import REGION, AwsCloud
from tests.engine.clouds.aws.kubernetes import Kubernetes
from tests.engine.clouds.aws.provider import AwsProvider
from tests.engine.clouds.cloud import Cloud
from tests.engine.clouds.provider import Provider
from tests.engine.control_plane import ControlPlane, run_control_plane
from tests.engine.decoy import Decoy
from tests.engine.pulumi_stack import PulumiStack, run_stack


@pytest.fixture(scope="session")
def cloud_plane(toolchain: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with run_control_plane(tmp_path_factory.mktemp("cloud-plane"), toolchain / "bin", nodes=0) as running:
        yield running


@pytest.fixture
def aws(cloud_plane: ControlPlane) -> AwsCloud:
    return AwsCloud(Kubernetes(cloud_plane))


@pytest.fixture
def aws_stack(
    aws: AwsCloud, toolchain: Path, decoy: Decoy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[PulumiStack]:
    with run_cloud(aws, AwsProvider, toolchain, tmp_path / "cloud", {"aws": cli.__file__}) as (tools, path):
        # Inline programs run in this process, and may use a kubeconfig too.
        monkeypatch.setenv("PATH", path)
        (tmp_path / "stack").mkdir()
        with run_stack(tmp_path / "stack", tools, {"HOME": str(decoy.home), "PATH": path}) as stack:
            yield stack
            aws.heal()


@contextmanager
def run_cloud(
    cloud: Cloud, provider: type[Provider], toolchain: Path, directory: Path, programs: Mapping[str, str]
) -> Iterator[tuple[Path, str]]:
    """Serve a cloud; yields a toolchain that has its plugin too, and a PATH with the cloud's own programs.

    `programs`: Python files by the program's name. They get the cloud's socket as their first argument.
    """
    plugins, path = directory / "pulumi" / "plugins", directory / "path"
    plugins.mkdir(parents=True)
    path.mkdir()
    (directory / "bin").symlink_to(toolchain / "bin")
    for plugin in (toolchain / "pulumi" / "plugins").glob("*-v*[0-9]"):
        (plugins / plugin.name).mkdir()  # the engine takes no link for a plugin's folder
        for file in plugin.iterdir():
            (plugins / plugin.name / file.name).symlink_to(file)
    with serving.serve(cloud, provider) as socket:
        serving.install(plugins, provider.package, cloud.sdk_version, socket)
        for name, file in programs.items():
            serving.write_program(path / name, sys.executable, file, str(socket))
        yield directory, f"{path}:{os.environ['PATH']}"


def aws_provider(**arguments: object) -> pulumi_aws.Provider:
    """Inside a program: the explicit provider that our own programs declare."""
    return pulumi_aws.Provider(
        "aws",
        region=REGION,
        skip_credentials_validation=True,
        skip_requesting_account_id=True,
        skip_metadata_api_check=True,
        **arguments,
    )
