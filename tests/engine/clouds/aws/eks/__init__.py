"""EKS, kept here: moto's knows neither access entries, add-ons and upgrades nor that anything takes time.

Requests are judged by Amazon's model before they get here, and our answers after. What a cluster needs of
the rest of the account is asked of it: roles that EKS may assume and their policies, subnets in two zones, a
usable key, a way out for the nodes.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from botocore import xform_name
from botocore.validate import ParamValidator

from tests.engine.clouds.aws import model
from tests.engine.clouds.aws.eks.access import Access
from tests.engine.clouds.aws.eks.addons import Addons
from tests.engine.clouds.aws.eks.clusters import Clusters
from tests.engine.clouds.aws.eks.nodegroups import Nodegroups
from tests.engine.clouds.aws.kubernetes import Kubernetes

if TYPE_CHECKING:
    from tests.engine.clouds.aws.cloud import AwsCloud


class Eks:
    """The service: operations are methods of its parts, by the names that Amazon's own client gives them."""

    def __init__(self, cloud: "AwsCloud", kubernetes: Kubernetes | None) -> None:
        self.clusters = Clusters(cloud, kubernetes)
        self.access = Access(self.clusters)
        self.nodegroups = Nodegroups(self.clusters, self.access)
        self.addons = Addons(self.clusters, self.nodegroups)
        self._parts = (self.clusters, self.access, self.nodegroups, self.addons)

    def answer(self, action: str, parameters: Mapping[str, Any]) -> Any:
        method = xform_name(action)
        part = next(part for part in self._parts if hasattr(part, method))
        answer = getattr(part, method)(dict(parameters))
        report = ParamValidator().validate(answer, model.operation(f"eks:{action}").output_shape)
        assert not report.has_errors(), f"our answer to {action} is not Amazon's: {report.generate_report()}"
        return answer

    def inventory(self) -> Iterator[str]:
        for kind, names in {
            "cluster": self.clusters.kept,
            "nodegroup": self.nodegroups.kept,
            "addon": self.addons.kept,
            "access-entry": self.access.entries,
            "pod-identity": self.access.pods,
        }.items():
            yield from (f"{kind} {name if isinstance(name, str) else '/'.join(name)}" for name in names)
