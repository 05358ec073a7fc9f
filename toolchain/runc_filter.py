#!/usr/bin/python3 -IS
"""An OCI runtime: runc, minus the capabilities that this machine itself may not use.

Where the capability bounding set lacks a capability (CAP_SYS_RESOURCE in some sandboxes), runc refuses
every privileged container with "unable to apply caps: operation not permitted". This removes what the
bounding set lacks from the container's specification before runc reads it. Standard library only, since it
starts with every container.
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

# linux/capability.h, by bit.
NAMES = (  # noqa: SIM905 (a list of 41 strings would be harder to compare with the header)
    "CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE "
    "NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT "
    "SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE "
    "AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ "
    "PERFMON BPF CHECKPOINT_RESTORE"
).split()


def missing_capabilities() -> set[str]:
    """The capabilities this process could never gain: absent from its bounding set."""
    status = Path("/proc/self/status").read_text()
    mask = next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapBnd:"))
    return {f"CAP_{name}" for bit, name in enumerate(NAMES) if not mask >> bit & 1}


def value_of(arguments: list[str], *flags: str) -> Iterator[str]:
    """Values of a flag in both spellings, `--flag value` and `--flag=value`."""
    for position, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name in flags:
            yield value if equals else arguments[position + 1]


def strip(process: dict[str, dict[str, list[str]]], missing: set[str]) -> None:
    """Remove the missing capabilities from every set of an OCI process."""
    for kind, names in (process.get("capabilities") or {}).items():
        process["capabilities"][kind] = [name for name in names if name not in missing]


def main(arguments: list[str]) -> None:
    """Filter the specification that the arguments point to, then become runc."""
    missing = missing_capabilities()
    if {"create", "run"} & set(arguments):
        path = Path(next(value_of(arguments, "--bundle", "-b"), ".")) / "config.json"
        spec = json.loads(path.read_text())
        strip(spec["process"], missing)
        path.write_text(json.dumps(spec))
    elif "exec" in arguments:
        for value in value_of(arguments, "--process", "-p"):
            process = json.loads(Path(value).read_text())
            strip(process, missing)
            Path(value).write_text(json.dumps(process))
    os.execvp("runc", ["runc", *arguments])  # noqa: S606 (becoming runc is the purpose)


if __name__ == "__main__":
    main(sys.argv[1:])
