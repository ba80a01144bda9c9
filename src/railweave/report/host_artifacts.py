"""Writing the files of GPU nodes below ``hosts/``, a folder a node.

Files that all nodes of a kind share are written once and linked, because a file costs ten times what a link does.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from railweave.fabric.model import Fabric, Host
from railweave.hosts.render import PROGRAM, HostRenderer

_PROGRAM_MODE = 0o755


def file_count(fabric: Fabric, renderer: HostRenderer) -> int:
    """Return how many files the nodes of ``fabric`` have."""
    counts: dict[tuple[str, str], int] = {}
    total = 0
    for host in fabric.hosts:
        kind = (host.kind, host.nic_model)
        if kind not in counts:
            counts[kind] = len(renderer.files(host))
        total += counts[kind]
    return total


def write_hosts(renderer: HostRenderer, hosts: Sequence[Host], folder: Path) -> None:
    """Write the files of ``hosts`` below ``folder``, which exists."""
    written: dict[int, dict[str, str]] = {}
    for host in hosts:
        own = f"{folder}/{host.name}"
        os.mkdir(own)
        os.mkdir(f"{own}/networkd")
        for name, content in renderer.own(host).items():
            _write(f"{own}/{name}", content)
        shared = renderer.shared(host)
        # Nodes of one kind have the very same mapping.
        _link(shared, written.setdefault(id(shared), {}), own)


def _link(shared: Mapping[str, bytes], written: dict[str, str], own: str) -> None:
    for name, content in shared.items():
        path = f"{own}/{name}"
        try:
            os.link(written[name], path)
        except (KeyError, OSError):
            # The first of its kind, a file system without links, or one file with as many as it can have.
            _write(path, content)
            if name == PROGRAM:
                os.chmod(path, _PROGRAM_MODE)
            written[name] = path


def _write(path: str, content: bytes) -> None:
    with open(path, "wb", buffering=0) as file:
        file.write(content)
