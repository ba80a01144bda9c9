"""GPU nodes that are network namespaces, two rails by default: the kernel is real, vendors' tools are recorders."""

import json
import secrets
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

TOOLS = Path(__file__).parents[1] / "e2e" / "host_nic_tools.py"
NAMES = {
    "mlx5_": ("mlnx_qos", "ethtool", "cma_roce_mode", "cma_roce_tos", "mlxconfig"),
    "bnxt_re": ("ethtool", "bnxt_setupcc.sh", "dcb"),
    "ionic_": ("ethtool", "nicctl"),
}
RAILS = ("rail0", "rail1")


def ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True, timeout=10).stdout


class Node:
    """A GPU node: a namespace with its NICs, their part of /sys, and the vendor's tools on its path."""

    def __init__(self, folder: Path, name: str, rdma_prefix: str, rails: Sequence[str] = RAILS) -> None:
        self.name, self.folder = name, folder / name
        self.namespace = f"rw{secrets.token_hex(4)}"
        ip("netns", "add", self.namespace)
        for number, rail in enumerate(rails):
            self.ip("link", "add", rail, "type", "veth", "peer", "name", f"leaf{number}")
            self.ip("link", "set", f"leaf{number}", "up", "mtu", "9100")
            self._sysfs(rail, f"{rdma_prefix}{number}", f"0000:{number}a:00.0")
        tools = self.folder / "bin"
        tools.mkdir()
        for tool in NAMES[rdma_prefix]:
            shutil.copy(TOOLS, tools / tool)
            (tools / tool).chmod(0o755)
        self.python = tools / "node-python"
        self.python.write_text(
            f"#!/bin/sh\nexport PATH={tools}:$PATH RECORDER={self.folder}\n"
            f'exec ip netns exec {self.namespace} /usr/bin/python3 "$@"\n'
        )
        self.python.chmod(0o755)

    def _sysfs(self, rail: str, device: str, pci: str) -> None:
        sys_class = self.folder / "sys/class"
        (self.folder / "sys/devices" / pci / "infiniband" / device).mkdir(parents=True)
        (sys_class / "net" / rail).mkdir(parents=True)
        (sys_class / "net" / rail / "device").symlink_to(f"../../../devices/{pci}")
        for point in ("roce_np", "roce_rp"):
            (sys_class / "net" / rail / "ecn" / point / "enable").mkdir(parents=True)
            (sys_class / "net" / rail / "ecn" / point / "enable/3").write_text("0\n")
        for name in ("cnp_dscp", "cnp_802p_prio"):
            (sys_class / "net" / rail / "ecn/roce_np" / name).write_text("0\n")
        (sys_class / "infiniband" / device / "tc/1").mkdir(parents=True)
        (sys_class / "infiniband" / device / "tc/1/traffic_class").write_text("")
        for kernel in (f"bnxt_re/{device}/ports/1/cc", f"rdma_cm/{device}/ports/1"):
            (self.folder / "sys/kernel/config" / kernel).mkdir(parents=True)

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
