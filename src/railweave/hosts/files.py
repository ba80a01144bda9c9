"""Where a node's files are installed, and which names on the node are railweave's to replace and remove."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from railweave.fabric.policy import NetworkBackend
from railweave.hosts.render import PROGRAM, UNIT

_MODE = 0o644
_PROGRAM_MODE = 0o755
_NETPLAN_MODE = 0o600
"""netplan warns of files that others can read."""

_PLACES = {
    "sysctl.conf": "/etc/sysctl.d/90-railweave.conf",
    "nccl.conf": "/etc/nccl.conf",
    "nccl.env": "/etc/railweave/nccl.env",
    "rails.json": "/etc/railweave/rails.json",
    UNIT: f"/etc/systemd/system/{UNIT}",
    PROGRAM: f"/usr/local/sbin/{PROGRAM}",
}

OWNED = ("/etc/systemd/network/10-railweave-*", "/etc/netplan/90-railweave*.yaml")
"""Patterns of files that are removed where they are not wanted: of a rail that is gone, of the other backend."""

START_AT_BOOT = (f"/etc/systemd/system/multi-user.target.wants/{UNIT}", f"../{UNIT}")
"""The link that enables the unit, and what it points to: what ``systemctl enable`` makes."""


@dataclass(frozen=True, slots=True)
class InstalledFile:
    """A file on the node: absolute path, permission bits, content."""

    path: str
    mode: int
    content: bytes


def installed_files(files: Mapping[str, bytes], backend: NetworkBackend) -> Iterator[InstalledFile]:
    """Yield the files of a node as they are installed; those of the other network backend are left out."""
    for name, content in files.items():
        if name in _PLACES:
            yield InstalledFile(_PLACES[name], _PROGRAM_MODE if name == PROGRAM else _MODE, content)
        elif name.endswith(".link") or (name.startswith("networkd/") and backend is NetworkBackend.NETWORKD):
            # udev names interfaces by .link files, whatever configures them afterwards.
            yield InstalledFile("/etc/systemd/network/" + name.removeprefix("networkd/"), _MODE, content)
        elif name == "netplan.yaml" and backend is NetworkBackend.NETPLAN:
            yield InstalledFile("/etc/netplan/90-railweave.yaml", _NETPLAN_MODE, content)
