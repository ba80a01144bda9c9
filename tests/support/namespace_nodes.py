"""GPU nodes that are network namespaces, two rails by default: the kernel is real, vendors' tools are recorders."""

import json
import secrets
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sonic_sim.nodes.kernel_files import PROGRAMS, TOOLS, kernel_files, kernel_links
from sonic_sim.spec import SimNic

PREFIXES = {"mlx5_": "nvidia", "bnxt_re": "broadcom", "ionic_": "amd"}
# A Pollara has no single port of 100G.
SPEEDS_GBPS = {"mlx5_": 100, "bnxt_re": 100, "ionic_": 400}
RAILS = ("rail0", "rail1")


def ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True, timeout=10).stdout


class Node:
    """A GPU node: a namespace with its NICs, their part of /sys, and the vendor's tools on its path."""

    def __init__(self, folder: Path, name: str, rdma_prefix: str, rails: Sequence[str] = RAILS) -> None:
        self.name, self.folder = name, folder / name
        self.namespace = f"rw{secrets.token_hex(4)}"
        vendor = PREFIXES[rdma_prefix]
        speed = SPEEDS_GBPS[rdma_prefix]
        ip("netns", "add", self.namespace)
        for number, rail in enumerate(rails):
            self.ip("link", "add", rail, "type", "veth", "peer", "name", f"leaf{number}")
            self.ip("link", "set", f"leaf{number}", "up", "mtu", "9100")
            self._sysfs(SimNic(rail, "", f"{rdma_prefix}{number}", f"0000:{number}a:00.0", vendor, speed))
        tools = self.folder / "bin"
        tools.mkdir()
        for tool in TOOLS[vendor]:
            shutil.copy(PROGRAMS / "nic_tools.py", tools / tool)
            (tools / tool).chmod(0o755)
        self.python = tools / "node-python"
        self.python.write_text(
            f"#!/bin/sh\nexport PATH={tools}:$PATH RECORDER={self.folder}\n"
            f'exec ip netns exec {self.namespace} /usr/bin/python3 "$@"\n'
        )
        self.python.chmod(0o755)

    def _sysfs(self, nic: SimNic) -> None:
        for path, text in kernel_files(nic).items():
            self.file(path).parent.mkdir(parents=True, exist_ok=True)
            self.file(path).write_text(text)
        for path, target in kernel_links(nic).items():
            self.file(path).symlink_to(target)

    def ip(self, *words: str) -> str:
        return ip("-n", self.namespace, *words)

    def file(self, path: str) -> Path:
        return self.folder / path.lstrip("/")

    def sysctl(self, key: str) -> str:
        command = ["netns", "exec", self.namespace, "cat", f"/proc/sys/{key.replace('.', '/')}"]
        return ip(*command).strip()

    def nic(self) -> Any:
        return json.loads((self.folder / "state.json").read_text())

    def calls(self) -> list[str]:
        calls = self.folder / "calls"
        return calls.read_text().splitlines() if calls.exists() else []

    def remove(self) -> None:
        ip("netns", "del", self.namespace)


def write_target(path: Path, nodes: Iterable[Node], /, **keys: Any) -> None:
    """Write the target that reaches ``nodes``."""
    reached = {one.name: {"python": str(one.python), "root": str(one.folder)} for one in nodes}
    hosts = {"connection": "local", "nodes": reached, **keys}
    path.write_text(json.dumps({"source": "addresses", "address": "{name}.invalid", "hosts": hosts}), encoding="utf-8")
