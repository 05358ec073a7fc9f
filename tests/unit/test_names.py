"""Thousands of names: what is accepted is valid in Kubernetes, the same each time, and nobody else's."""

import random
import re
from collections.abc import Iterator

from pydantic import TypeAdapter

from components import environment
from components.environment import EnvironmentArgs
from components.fleet import FleetArgs, environment_args
from components.identity import instance_of
from components.network import NetworkArgs, policies
from config import ConfigError, EnvironmentConfig, NetworkConfig, StackConfig, parse
from config.environment import expand
from config.fields import EnvironmentName

NAMES = 10_000
HOST = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")  # RFC 1035: for Services; DNS-1123 has these and more
SUBDOMAIN = re.compile(rf"(?=.{{1,253}}\Z){HOST.pattern}(\.{HOST.pattern})*")
LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
NAME = TypeAdapter(EnvironmentName)
OPEN = EnvironmentConfig(name="x", image="x:1", egress=[{"cidr": "10.0.0.0/8"}])


def random_names(characters: str, longest: int) -> Iterator[str]:
    """The same names in every run, half of them about as long as a label may be, in pairs much alike."""
    source = random.Random(0)
    for _ in range(NAMES // 2):
        length = source.choice([source.randint(1, longest), source.randint(61, 65)])
        name = "".join(source.choices(characters, k=length))
        yield name
        place = source.randrange(length)
        yield name[:place] + source.choice(characters) + name[place + 1 :]


def accepted(name: str) -> EnvironmentArgs | None:
    try:
        NAME.validate_python(name, strict=True)
    except ValueError:
        return None
    return EnvironmentArgs(name, "fleet", "dev", "x:1", OPEN)


def test_just_the_names_that_kubernetes_takes_are_accepted_and_each_object_is_called_differently():
    names = set(random_names("abcdefghijklm019-" * 20 + "A_.", longest=70))
    environments = [args for name in names if (args := accepted(name))]

    assert {args.name for args in environments} == {name for name in names if HOST.fullmatch(name)}
    assert len(environments) > NAMES / 10
    found = policies(NetworkArgs("fleet", "dev", NetworkConfig(), environments))
    assert sum(name.endswith(".egress") for name in found) == len(environments)
    for name, policy in found.items():
        assert SUBDOMAIN.fullmatch(name)
        assert policy.metadata.name == name
        assert all(LABEL.fullmatch(value) for value in policy.metadata.labels.values())
    for args in environments:
        metadata = environment.service(args).metadata
        assert metadata.name == args.name
        assert all(LABEL.fullmatch(value) for value in metadata.labels.values())


def fleet(source: random.Random) -> dict:
    """Some environments, several of a kind, and with disks of their own, under names that are much alike."""

    def name(longest: int) -> str:
        text = "a" + "".join(source.choices("ab-0", k=source.randint(0, longest))).rstrip("-")
        return text if source.random() < 0.9 else text.ljust(source.randint(58, 63), "x")

    return {
        "cluster": {"provider": "kind"},
        "server": {"image": "x:1"},
        "environments": [
            {
                "name": name(4),
                "image": "x:1",
                "count": source.choice([None, 1, 3]),
                "volumes": [{"name": name(3), "mount_path": "/x", "ephemeral_claim": {"size": "1Gi"}}],
            }
            for _ in range(source.randint(1, 6))
        ],
    }


def claims(config: StackConfig) -> list[str]:
    """The names that Kubernetes gives to the environments' own disks."""
    args = environment_args(FleetArgs(config, "dev", "", image=lambda reference: reference))
    return [f"{each.name}-{volume.name}" for each in args for volume in each.settings.volumes]


def test_numbered_environments_and_their_disks_never_share_a_name_and_a_refusal_says_which_would():
    source = random.Random(0)
    seen, refused = 0, set()
    while seen < NAMES / 4:
        raw = fleet(source)
        names = [name for each in raw["environments"] for name in expand(each["name"], each["count"])]
        seen += len(names)
        try:
            config = parse(raw, "dev")
        except ConfigError as error:
            refused |= {
                re.sub(r'".*?"|\d+', "…", f"{problem.path[-1]} {problem.remedy}")
                for problem in error.problems
            }
            continue
        assert all(map(HOST.fullmatch, names))
        assert len(set(names)) == len(names)
        assert len(set(claims(config))) == len(names)
    assert refused == {
        "name … is an environment of environments[…]; rename one",
        "name is too long with its number, as in …; shorten it by …",
        "name its disk … would be that of environments[…]; rename the volume",
    }


def test_every_stack_has_an_instance_label_of_its_own():
    stacks = set(random_names("abXY09-_.", longest=100))
    instances = {stack: instance_of(stack) for stack in stacks}

    assert all(map(LABEL.fullmatch, instances.values()))
    assert len(set(instances.values())) == len(stacks)
    assert instances == {stack: instance_of(stack) for stack in stacks}
