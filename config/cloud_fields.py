"""The kinds of value that a cluster in a cloud is made of; see `config.fields`."""

import ipaddress
import re
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator

from config.fields import between

# Which CloudWatch offers.
_LOG_DAYS = (
    *(1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180),
    *(365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653),
)


def _like(pattern: str, example: str) -> AfterValidator:
    def check(text: str) -> str:
        if not re.fullmatch(pattern, text, re.ASCII):
            raise ValueError(f'write it as in "{example}"')
        return text

    return AfterValidator(check)


def _pool_name(text: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9]{0,11}", text):  # Azure's rule, the narrowest
        raise ValueError("use 1 to 12 lower-case letters and digits, starting with a letter")
    return text


def _owner(text: str) -> str:
    # What tags of AWS and Azure and labels of Google all accept.
    if not re.fullmatch(r"[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?", text):
        raise ValueError("use at most 63 lower-case letters, digits, '-' and '_', such as \"team-rl\"")
    return text


def _expiry(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ValueError('write a moment with its time zone, such as "2027-01-31T18:00Z"')
    return text


def _private_cidr(text: str) -> str:
    try:
        network = ipaddress.IPv4Network(text)
    except ValueError:
        network = None
    if network is None or not network.is_private or not 16 <= network.prefixlen <= 24:
        raise ValueError(
            'write a private IPv4 network from /16 to /24, zeros after its length, such as "10.0.0.0/16"'
        )
    return str(network)


def _log_days(days: int) -> int:
    if days not in _LOG_DAYS:
        raise ValueError(f"write one of {', '.join(map(str, _LOG_DAYS))}")
    return days


PoolName = Annotated[str, AfterValidator(_pool_name)]
NodeCount = Annotated[int, between(0, 1000)]
DiskGib = Annotated[int, between(20, 16_000)]
Owner = Annotated[str, AfterValidator(_owner)]
Expiry = Annotated[str, AfterValidator(_expiry)]
PrivateCidr = Annotated[str, AfterValidator(_private_cidr)]
AwsRegion = Annotated[str, _like(r"[a-z]{2}(-[a-z]+)+-\d", "eu-central-1")]
Zone = Annotated[str, _like(r"[a-z]{2}(-[a-z]+)+-\d[a-z]", "eu-central-1a")]
InstanceType = Annotated[str, _like(r"[a-z]+[0-9][a-z0-9-]*\.[a-z0-9-]+", "m7i.large")]
AwsPrincipal = Annotated[
    str,
    _like(r"arn:aws[a-z-]*:iam::\d{12}:(role|user)/[\w+=,.@/-]+", "arn:aws:iam::111122223333:role/platform"),
]
LogDays = Annotated[int, AfterValidator(_log_days)]
