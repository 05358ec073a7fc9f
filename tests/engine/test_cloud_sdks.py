"""A stack loads no SDK but that of its own cloud: each takes seconds and a hundred megabytes."""

import subprocess
import sys

import pytest

SDKS = {"pulumi_aws", "pulumi_gcp", "pulumi_azure_native", "boto3"}


@pytest.mark.parametrize(("provider", "own"), [("kind", set()), ("existing", set()), ("aws", {"pulumi_aws"})])
def test_a_stack_loads_no_sdk_but_that_of_its_cloud(provider, own):
    code = f"import sys, components.fleet, config, providers.{provider}; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert SDKS & set(ran.stdout.split()) == own
