"""A kind node image built on this machine, for machines that reach no image registry.

A Debian root with systemd and containerd, the Kubernetes programs that toolchain.tools has, and the
cluster's own images (API server, etcd, CoreDNS, …) preloaded into containerd's content store.
What kind expects of a node image stands in its documentation ("Node Image" in the design pages) and in
kind's source; `rootfs/` holds the files, this module puts them together.
"""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from toolchain import debian, tools
from toolchain.engine import docker, import_root
from toolchain.layout import BIN, VERSIONS
from toolchain.progress import StepError, run, step
from toolchain.scratch import scratch

ROOTFS = Path(__file__).parent / "rootfs"
# Tools that are in the image.
PROGRAMS = ("hyperkube", "etcd", "coredns", "kube-network-policies")
KUBERNETES = VERSIONS["hyperkube"]["version"]
NODE_PACKAGES = (
    "systemd,systemd-sysv,dbus,iptables,iproute2,util-linux,mount,kmod,ethtool,conntrack,ebtables,procps,"
    "ca-certificates,containerd,runc,containernetworking-plugins,gzip,tar"
)
PROXY_PACKAGES = "iptables,conntrack,libnetfilter-conntrack3,ca-certificates,busybox-static,tini"
# Units that only cost time, or that disturb the host, in a container.
MASKED_UNITS = (  # noqa: SIM905 (as in a shell script, for reading)
    "systemd-udevd.service systemd-logind.service getty.target console-getty.service getty@tty1.service "
    "systemd-resolved.service systemd-networkd.service systemd-timesyncd.service e2scrub_reap.service "
    "apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer fstrim.timer"
).split()
# The tags of `kubeadm config images list`.
REGISTRY = "registry.k8s.io"
KUBE_IMAGES = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy")
ETCD_IMAGE = f"{REGISTRY}/etcd:3.6.5-0"
COREDNS_IMAGE = f"{REGISTRY}/coredns/coredns:v1.12.1"
PAUSE_IMAGE = f"{REGISTRY}/pause:3.10.1"
CONTENT_STORE_TIMEOUT_SECONDS = 20


def build(tag: str, label: str) -> None:
    """Build the node image with this tag and LABEL instruction."""
    tools.ensure(*PROGRAMS)
    debian.unpack("Fetch the Debian image builder", "mmdebstrap", "containerd")
    with scratch("node-image") as work:
        with step("Build the node image: Debian root"):
            node, proxy = work / "node", work / "proxy"
            debian.bootstrap(node, "minbase", NODE_PACKAGES)
            debian.bootstrap(proxy, "extract", PROXY_PACKAGES)
        with step("Build the node image: cluster images"):
            images = [*_kube_images(proxy), _etcd_image(work / "etcd"), _coredns_image(work / "coredns")]
            images.append(_pause_image(work / "pause", proxy))
            docker("save", "--output", work / "images.tar", *images)
            docker("rmi", *images)
        with step("Build the node image: assemble"):
            _assemble(node)
            _preload(work / "images.tar", node, work / "containerd")
            start = 'ENTRYPOINT ["/usr/local/bin/entrypoint","/sbin/init"]'
            import_root(node, tag, start, "ENV container=docker", label)


def _kube_images(root: Path) -> list[str]:
    """One image under the names of all Kubernetes programs; kube-proxy needs iptables and a shell."""
    programs = root / "usr" / "local" / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    for program in ("hyperkube", "kube-network-policies"):
        shutil.copy(BIN / program, programs)
    for name in ("kubectl", *KUBE_IMAGES):
        (programs / name).symlink_to("hyperkube")
    debian.link_iptables(root)
    for applet in ("sh", "ip", "sleep", "cat", "ls"):
        (root / "bin" / applet).symlink_to("busybox")
    tags = [f"{REGISTRY}/{name}:v{KUBERNETES}" for name in KUBE_IMAGES]
    import_root(root, tags[0])
    for tag in tags[1:]:
        docker("tag", tags[0], tag)
    return tags


def _etcd_image(root: Path) -> str:
    (root / "tmp").mkdir(parents=True)
    (root / "usr" / "local" / "bin").mkdir(parents=True)
    shutil.copy(BIN / "etcd", root / "usr" / "local" / "bin")
    import_root(root, ETCD_IMAGE, "ENV PATH=/usr/local/bin")
    return ETCD_IMAGE


def _coredns_image(root: Path) -> str:
    root.mkdir()
    shutil.copy(BIN / "coredns", root)
    import_root(root, COREDNS_IMAGE, 'ENTRYPOINT ["/coredns"]')
    return COREDNS_IMAGE


def _pause_image(root: Path, packages: Path) -> str:
    """The process that holds a pod's namespaces: it waits, reaps orphans and ends at once when told."""
    root.mkdir()
    shutil.copy(packages / "usr" / "bin" / "tini-static", root / "tini")
    shutil.copy(packages / "bin" / "busybox", root / "busybox")
    import_root(root, PAUSE_IMAGE, 'ENTRYPOINT ["/tini","--","/busybox","sleep","2147483647"]')
    return PAUSE_IMAGE


def _assemble(node: Path) -> None:
    shutil.copytree(ROOTFS, node, dirs_exist_ok=True, symlinks=True)
    (node / "kind" / "version").write_text(f"v{KUBERNETES}\n")
    manifest = node / "kind" / "manifests" / "default-cni.yaml"
    manifest.write_text(manifest.read_text().replace("KUBERNETES_VERSION", f"v{KUBERNETES}"))
    programs = node / "usr" / "local" / "bin"
    shutil.copy(BIN / "hyperkube", programs)
    for name in ("kubelet", "kubeadm", "kubectl"):
        (programs / name).symlink_to("hyperkube")
    debian.chroot(node, "systemctl", "enable", "containerd", "kubelet")
    for unit in MASKED_UNITS:
        link = node / "etc" / "systemd" / "system" / unit
        link.unlink(missing_ok=True)
        link.symlink_to("/dev/null")
    for unneeded in ("lib/apt/lists", "cache/apt"):
        shutil.rmtree(node / "var" / unneeded, ignore_errors=True)
    for unneeded in ("doc", "man", "locale"):
        shutil.rmtree(node / "usr" / "share" / unneeded, ignore_errors=True)


def _preload(images: Path, node: Path, work: Path) -> None:
    """Put the images, not unpacked, into the content store that the node's containerd will find."""
    with _containerd(work) as socket:
        ctr = ("ctr", "--address", socket, "--namespace=k8s.io")
        run(*ctr, "images", "import", "--no-unpack", images, env=debian.environ())
    shutil.copytree(work / "root", node / "var" / "lib" / "containerd", dirs_exist_ok=True)


@contextmanager
def _containerd(work: Path) -> Iterator[Path]:
    """A throw-away containerd that is only a content store; yields its socket."""
    work.mkdir()
    # Under /run: the path of a Unix socket may have 107 bytes, a clone's path may be long.
    with tempfile.TemporaryDirectory(prefix="envfleet-", dir="/run") as state:
        socket = Path(state) / "containerd.sock"
        (work / "config.toml").write_text(
            f'version = 2\nroot = "{work}/root"\nstate = "{state}"\n'
            f'disabled_plugins = ["io.containerd.grpc.v1.cri"]\n[grpc]\naddress = "{socket}"\n'
        )
        log = (work / "log").open("w")
        daemon = subprocess.Popen(
            ["containerd", "--config", work / "config.toml"], env=debian.environ(), stdout=log, stderr=log
        )
        try:
            deadline = time.monotonic() + CONTENT_STORE_TIMEOUT_SECONDS
            while not socket.exists():
                if daemon.poll() is not None or time.monotonic() > deadline:
                    raise StepError(f"containerd did not start:\n{(work / 'log').read_text()[-2000:]}")
                time.sleep(0.1)
            yield socket
        finally:
            daemon.terminate()
            daemon.wait()
