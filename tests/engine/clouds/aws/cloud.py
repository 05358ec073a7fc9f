"""Amazon's side: moto's backends for EC2, IAM, KMS and CloudWatch Logs, `eks.Eks` for EKS, `rules` on top.

There is one of it at a time in a process, in one region: moto's backends are global.
"""

import copy
import datetime
import json
import os
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

from botocore import xform_name
from botocore.exceptions import ClientError
from moto.backends import get_backend
from moto.core import DEFAULT_ACCOUNT_ID
from moto.core.botocore_stubber import BotocoreStubber
from moto.iam.aws_managed_policies import aws_managed_policies_data
from moto.iam.models import AWSManagedPolicy

from tests.engine.clouds.aws import inventory, model, rules
from tests.engine.clouds.aws.eks import Eks
from tests.engine.clouds.aws.kubernetes import Kubernetes
from tests.engine.clouds.cloud import Cloud, CloudError

ACCOUNT = DEFAULT_ACCOUNT_ID
REGION = "eu-central-1"
SERVICES = ("ec2", "iam", "kms", "logs", "sts")  # that moto has, and we use
os.environ["MOTO_EC2_LOAD_DEFAULT_AMIS"] = "false"  # a second, for each account, and nobody starts instances


class AwsCloud(Cloud):
    """An account of Amazon's, in one region. Its EKS clusters all lead to one API server, if there is one."""

    sdk_version = version("pulumi-aws")

    def __init__(self, kubernetes: Kubernetes | None = None, latency: float = 0.05) -> None:
        super().__init__(latency)
        for service in SERVICES:
            get_backend(service).clear()
        managed = {arn: copy.copy(policy) for arn, policy in _managed_policies().items()}
        self.backend("iam", "aws").managed_policies.update(managed)
        self._clients: dict[str, Any] = {}
        self._stubber = BotocoreStubber()
        self._stubber.enabled = True
        self._answers: dict[tuple[str, str], Any] = {}
        self.region = REGION
        self.issuer_host = f"oidc.eks.{REGION}.amazonaws.com"
        self.caller = self.ask("sts:GetCallerIdentity")["Arn"]
        self.eks = Eks(self, kubernetes)
        self._before = set(self.inventory())

    def is_change(self, operation: str) -> bool:
        return model.is_change(operation)

    def execute(self, operation: str, parameters: Mapping[str, Any]) -> Any:
        model.judge(operation, parameters)
        given = [parameters[token] for token in model.tokens(operation) if token in parameters]
        sent_before = (operation, given[0]) if given else None
        if sent_before in self._answers:
            return self._answers[sent_before]
        rules.check(self, operation, parameters)
        answer = self.ask(operation, **parameters)
        rules.follow(self, operation, answer)
        if sent_before:
            self._answers[sent_before] = answer
        return answer

    def inventory(self) -> list[str]:
        return list(inventory.everything(self))

    def ask(self, operation: str, **parameters: Any) -> Any:
        """Do it without rules, faults or a note in the log."""
        service, _, action = operation.partition(":")
        try:
            if service == "eks":
                return self.eks.answer(action, parameters)
            answer = getattr(self._client(service), xform_name(action))(**parameters)
        except ClientError as error:
            raise CloudError(error.response["Error"]["Code"], error.response["Error"]["Message"]) from None
        return {key: value for key, value in answer.items() if key != "ResponseMetadata"}

    def backend(self, service: str, region: str = REGION) -> Any:
        """Moto's own objects, for what its API has no call for."""
        return get_backend(service)[ACCOUNT][region]

    def arn(self, service: str, resource: str) -> str:
        return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{resource}"

    def now(self) -> datetime.datetime:
        return datetime.datetime.now(datetime.UTC)

    def _client(self, service: str) -> Any:
        if service not in self._clients:
            client = model.session().create_client(service, region_name=REGION)
            # Only this client's requests end in moto; nothing of the process is patched.
            client.meta.events.register("before-send", self._stubber)
            self._clients[service] = client
        return self._clients[service]


@cache
def _managed_policies() -> dict[str, AWSManagedPolicy]:
    """Amazon's own, which moto would read anew for each account."""
    found = json.loads(aws_managed_policies_data)
    policies = [AWSManagedPolicy.from_data(name, ACCOUNT, REGION, data) for name, data in found.items()]
    return {policy.arn: policy for policy in policies}
