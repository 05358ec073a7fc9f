"""Linux capabilities, and which of them Pod Security allows to add."""

from typing import Annotated

from pydantic import AfterValidator

RESTRICTED = frozenset({"NET_BIND_SERVICE"})
BASELINE = RESTRICTED | {
    *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL"),
    *("MKNOD", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
}
# Level privileged allows all that there are. Of any other name, a container runtime refuses to start the pod.
_ALL = BASELINE | {
    *("AUDIT_CONTROL", "AUDIT_READ", "BLOCK_SUSPEND", "BPF", "CHECKPOINT_RESTORE", "DAC_READ_SEARCH"),
    *("IPC_LOCK", "IPC_OWNER", "LEASE", "LINUX_IMMUTABLE", "MAC_ADMIN", "MAC_OVERRIDE", "NET_ADMIN"),
    *("NET_BROADCAST", "NET_RAW", "PERFMON", "SYSLOG", "SYS_ADMIN", "SYS_BOOT", "SYS_MODULE", "SYS_NICE"),
    *("SYS_PACCT", "SYS_PTRACE", "SYS_RAWIO", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "WAKE_ALARM"),
}


def _capability(text: str) -> str:
    if text not in _ALL:
        raise ValueError("write a Linux capability in upper case and without CAP_, such as NET_BIND_SERVICE")
    return text


Capability = Annotated[str, AfterValidator(_capability)]
