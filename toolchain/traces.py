"""What our own container engine changes on the machine and leaves behind: observed before, undone after."""

import re
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from toolchain.progress import StepError, run

BRIDGE = re.compile(r"docker0|br-[0-9a-f]{12}")
# dockerd sets those of `net`, kubelet in a kind node the others.
SYSCTLS = (
    "net/ipv4/ip_forward",
    "net/ipv6/conf/all/forwarding",
    "net/ipv6/conf/default/forwarding",
    "net/bridge/bridge-nf-call-iptables",
    "net/bridge/bridge-nf-call-ip6tables",
    "kernel/panic",
    "kernel/panic_on_oops",
    "vm/overcommit_memory",
)
# dockerd 20.10 and its containerd make these, whatever the options, and leave them behind empty.
FOLDERS = (
    Path("/opt/containerd/bin"),
    Path("/opt/containerd/lib"),
    Path("/opt/containerd"),
    Path("/run/containerd/s"),
    Path("/run/containerd"),
    Path("/run/docker/plugins"),
    Path("/run/docker"),
)
CGROUPS = Path("/sys/fs/cgroup")
PROC_SYS = Path("/proc/sys")


def observe(environ: Mapping[str, str]) -> dict[str, Any]:
    """How the machine is, for `undo`; `environ` finds iptables."""
    folders = [*FOLDERS, CGROUPS / "docker", *(top / "docker" for top in CGROUPS.iterdir())]
    return {
        "sysctls": {name: value for name in SYSCTLS if (value := sysctl(name))},
        "links": list(psutil.net_if_stats()),
        "forward_policy": run("iptables", "-S", "FORWARD", env=environ).split()[2],
        "absent": [str(folder) for folder in folders if not folder.exists()],
    }


def undo(before: dict[str, Any], environ: Mapping[str, str]) -> None:
    """Put the machine back as `before`; what others have changed since stays.

    Raises:
        StepError: Not everything could be undone.
    """
    failed = []
    for part in (
        partial(_undo_firewall, before["forward_policy"], environ),
        partial(_undo_links, before["links"], environ),
        partial(_undo_sysctls, before["sysctls"]),
        partial(_undo_folders, before["absent"]),
    ):
        try:
            part()
        except (StepError, OSError) as error:
            failed.append(str(error))
    if failed:
        raise StepError("\n".join(("the container engine left traces on this machine:", *failed)))


def _undo_firewall(forward_policy: str, environ: Mapping[str, str]) -> None:
    for family in ("iptables", "ip6tables"):
        rules = run(f"{family}-save", env=environ).splitlines()
        kept = [line for line in rules if "docker" not in line.lower() and not BRIDGE.search(line)]
        if kept != rules:
            run(f"{family}-restore", env=environ, stdin="\n".join([*kept, ""]))
    run("iptables", "-P", "FORWARD", forward_policy, env=environ)


def _undo_links(before: list[str], environ: Mapping[str, str]) -> None:
    for link in set(psutil.net_if_stats()) - set(before):
        if BRIDGE.fullmatch(link):
            run("ip", "link", "delete", link, env=environ)


def _undo_sysctls(before: dict[str, str]) -> None:
    for name, value in before.items():
        if sysctl(name) not in (value, ""):
            (PROC_SYS / name).write_text(value)


def _undo_folders(absent: list[str]) -> None:
    for folder in absent:
        with suppress(OSError):  # not there, or no longer only ours
            Path(folder).rmdir()


def sysctl(name: str) -> str:
    """A kernel setting, empty where this kernel has none of that name."""
    path = PROC_SYS / name
    return path.read_text().strip() if path.exists() else ""
