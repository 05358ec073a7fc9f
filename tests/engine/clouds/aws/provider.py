"""The AWS provider: its configuration, its functions, and how it talks to Amazon."""

# ruff: noqa: N802 (the service's methods, as the protocol names them)
import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from tests.engine.clouds.aws import model
from tests.engine.clouds.aws.cli import GET_TOKEN
from tests.engine.clouds.aws.cloud import REGION, AwsCloud
from tests.engine.clouds.aws.table import TABLE
from tests.engine.clouds.cloud import NoAnswer
from tests.engine.clouds.provider import Provider, ProviderError
from tests.engine.clouds.resource import Resource, Values
from tests.engine.clouds.schema import outputs
from tests.engine.clouds.wire import UNKNOWN

ATTEMPTS = 3  # 25, with the real provider


class AwsProvider(Provider):
    package = "aws"
    table = TABLE
    own_inputs = frozenset({"region", "tags"})
    cloud: AwsCloud

    def handle(self, method: str, request: bytes) -> bytes:
        if method == GET_TOKEN:
            return json.dumps(self._credential(request.decode())).encode()
        return super().handle(method, request)

    def Configure(self, request: Any) -> Any:
        response = super().Configure(request)
        if (region := self.config.get("region")) != REGION:
            raise ProviderError(f"the simulated account is in {REGION}, not in {region}")
        return response

    def call(self, operation: str, parameters: Mapping[str, Any]) -> Any:
        """Ask Amazon, again if no answer comes, as its SDKs do.

        Where Amazon has a token to recognise a repeated request by, the answer is the first one's. Where
        names are unique it is that there is such a thing already. Elsewhere a second thing is made, and
        nobody will ever know of the first: VPCs, internet gateways, addresses and keys leak without any
        error.
        """
        given = {**dict.fromkeys(model.tokens(operation), str(uuid.uuid4())), **parameters}
        for attempt in range(ATTEMPTS):
            try:
                return self.cloud.call(self.session, operation, given)
            except NoAnswer:
                if attempt == ATTEMPTS - 1:
                    raise
        raise AssertionError

    def completed(self, resource: Resource, inputs: Values) -> dict[str, Any]:
        has = outputs(resource.type)
        added: dict[str, Any] = {}
        if "tagsAll" in has:
            own = inputs.get("tags", {})
            added["tagsAll"] = UNKNOWN if own == UNKNOWN else {**self._default_tags(), **own}
        if "region" in has:
            added["region"] = REGION
        return {**inputs, **added}

    def shown(self, resource: Resource, inputs: Values, state: dict[str, Any]) -> dict[str, Any]:
        if "tagsAll" in state:
            defaults, own = self._default_tags(), inputs.get("tags", {})
            state["tags"] = {
                key: value
                for key, value in state["tagsAll"].items()
                if key in own or defaults.get(key) != value
            }
        return state

    def invoke(self, token: str, arguments: dict[str, Any]) -> dict[str, Any]:
        functions = {
            "aws:index/getAvailabilityZones:getAvailabilityZones": self._availability_zones,
            "aws:index/getCallerIdentity:getCallerIdentity": self._caller_identity,
        }
        if token not in functions:
            raise ProviderError(f"the simulated cloud has no function {token}", "UNIMPLEMENTED")
        return functions[token](**arguments)

    def _default_tags(self) -> dict[str, str]:
        tags: dict[str, str] = self.config.get("defaultTags", {}).get("tags", {})
        return tags

    def _availability_zones(
        self, state: str = "available", region: str = REGION, filters: Sequence[Values] = ()
    ) -> dict[str, Any]:
        found = self.call("ec2:DescribeAvailabilityZones", {})["AvailabilityZones"]
        zones = [zone for zone in found if zone["State"] == state]
        for each in filters:
            member = {"opt-in-status": "OptInStatus"}[each["name"]]
            # Of zones of which the model of moto does not tell it, no account needs to opt in.
            zones = [zone for zone in zones if zone.get(member, "opt-in-not-required") in each["values"]]
        return {
            "id": region,
            "region": region,
            "state": state,
            "names": [zone["ZoneName"] for zone in zones],
            "zoneIds": [zone["ZoneId"] for zone in zones],
            "groupNames": [region for _ in zones],
        }

    def _caller_identity(self) -> dict[str, Any]:
        who = self.call("sts:GetCallerIdentity", {})
        account = who["Account"]
        return {"id": account, "accountId": account, "arn": who["Arn"], "userId": who["UserId"]}

    def _credential(self, cluster: str) -> dict[str, Any]:
        """What `aws eks get-token` prints: a token that the API server knows, if Amazon let the caller in."""
        kubernetes, access = self.cloud.eks.clusters.kubernetes, self.cloud.eks.access
        admitted = kubernetes and access.is_admin(cluster, self.cloud.caller)
        status = kubernetes.token() if kubernetes and admitted else {"token": "k8s-aws-v1.of-a-stranger"}
        return {
            "kind": "ExecCredential",
            "apiVersion": "client.authentication.k8s.io/v1beta1",
            "spec": {},
            "status": status,
        }
