"""One simulated node: its disk, its NICs as they are now, and what it shares with the simulator."""

import asyncio
import contextlib
import json
import os
import re
import shutil
import time
import uuid
from pathlib import Path
from typing import Any

from sonic_sim.nodes.kernel_files import OTHER_TOOLS, PROGRAMS, TOOLS, gid_files, kernel_files, kernel_links
from sonic_sim.nodes.login import NodeListener
from sonic_sim.nodes.machines import FIRST_ID
from sonic_sim.nodes.netlink import NodeNetwork
from sonic_sim.nodes.nic import NodeNic
from sonic_sim.nodes.node_files import NodeFiles
from sonic_sim.nodes.session import LIBRARY
from sonic_sim.nodes.tools import TOOLS as NETWORK_TESTS
from sonic_sim.nodes.tools import Answer, ToolSocket
from sonic_sim.spec import SimHost

BOOT = f"{LIBRARY}/boot.py"
_NIC_TOOL = f"{LIBRARY}/nic.py"
_TOOL = f"{LIBRARY}/tool.py"
FACTORY = "/run/nics/factory.json"
STATE = "run/nics/state.json"
# Settings that programs of a node change show this late at most.
_SETTINGS_S = 0.25
# Counters of the driver of the interface; those of the RDMA device have files of their own.
_OF_ETHTOOL = re.compile(r"_phy$|prio\d|_pri\d+$|_blocks$|octets|discard|^[rt]x_(bytes|packets|pause)|storm")


class Node:
    """A node, running or not."""

    def __init__(self, host: SimHost, folder: Path, listener: NodeListener, answer: Answer) -> None:
        """``folder`` is its own in the simulator's; ``answer`` answers its network tests."""
        self.host = host
        # What it is from its next start on.
        self.next_host = host
        self.folder = folder
        self.listener = listener
        self.nics: tuple[NodeNic, ...] = ()
        self._tools = ToolSocket(self.shared, answer, host.name)
        self._network: NodeNetwork | None = None
        self._files: NodeFiles | None = None
        self._published: dict[Path, str] = {}
        # When the settings of the NICs were read, on the monotonic clock.
        self._settings_at = float("-inf")

    @property
    def disk(self) -> Path:
        """The folder that is the root of the node; it keeps what the node writes."""
        return self.folder / "disk"

    @property
    def shared(self) -> Path:
        """The folder that the node sees as /run/railweave-sim, and cannot change."""
        return self.folder / "shared"

    def prepare(self) -> None:
        """Make what the node needs of this machine before it boots."""
        self.host = self.next_host
        self.nics = tuple(map(NodeNic, self.host.nics))
        if not self.disk.exists():
            self.disk.mkdir(parents=True)
            os.chown(self.disk, FIRST_ID, FIRST_ID)
        # Counters and the socket are of one boot.
        shutil.rmtree(self.shared, ignore_errors=True)
        self.shared.mkdir(mode=0o755)
        (self.shared / "boot_id").write_text(f"{uuid.uuid4()}\n", encoding="ascii")
        self._published.clear()

    def boot_request(self) -> dict[str, Any]:
        """Return the request that boots the node (`sonic_sim.nodes.machines`)."""
        files = _base_files(self.host)
        links = {"/etc/os-release": "../usr/lib/os-release"}
        factory = {}
        tools = set(OTHER_TOOLS)
        for nic in self.host.nics:
            files |= kernel_files(nic)
            links |= kernel_links(nic)
            factory[nic.name] = {"speed": nic.speed_gbps * 1000, "fec": nic.fec}
            tools.update(TOOLS.get(nic.vendor, ()))
        files[FACTORY] = json.dumps(factory)
        links |= {f"/usr/local/bin/{name}": _NIC_TOOL for name in tools}
        links |= {f"/usr/local/bin/{name}": _TOOL for name in NETWORK_TESTS}
        macs = {nic.name: nic.mac for nic in self.host.nics}
        if self.host.frontend:
            macs.setdefault(self.host.frontend, self.host.mac)
        return {
            "disk": str(self.disk),
            "shared": str(self.shared),
            "hostname": self.host.name,
            "files": files,
            "links": links,
            "nics": [{"name": name, "mac": mac} for name, mac in macs.items()],
        }

    async def begin(self, pid: int) -> None:
        """Begin to follow the node, which has just booted with the first process ``pid``. Raises OSError."""
        self.listener.pid = pid
        self._files = NodeFiles(pid)
        self._network = NodeNetwork(pid)
        asyncio.get_running_loop().add_reader(self._network.changes, self._take_network)
        await self._tools.open()
        self._take_network()

    def has_boot_work(self) -> bool:
        """Tell whether the node's disk has settings or units that are applied when it starts."""
        etc = self.disk / "etc"
        folders = (etc / "sysctl.d", etc / "systemd/system/multi-user.target.wants")
        return any(_has_entries(folder) for folder in folders)

    async def lose_power(self) -> int:
        """Close the node's sessions and sockets, and reset its NICs.

        Return the id of its first process, which the caller has to kill; 0 if the node does not run.
        """
        pid = self.listener.pid
        self.listener.pid = 0
        await self.listener.close()
        self._tools.close()
        if self._network is not None:
            asyncio.get_running_loop().remove_reader(self._network.changes)
            self._network.close()
            self._network = None
        if self._files is not None:
            self._files.close()
            self._files = None
        for nic in self.nics:
            nic.power_off()
        return pid

    def current_nics(self) -> tuple[NodeNic, ...]:
        """Return the node's NICs with the values in force; none while the node is off."""
        if self._files is None or self._network is None:
            return ()
        if self._network.has_changed():
            self._take_network()
        if time.monotonic() - self._settings_at >= _SETTINGS_S:
            self._settings_at = time.monotonic()
            self._take_settings(self._files)
        return self.nics

    def _take_settings(self, files: NodeFiles) -> None:
        """Take over the settings that the vendors' tools have made."""
        # The node's root user may write anything there; the NICs after such a mistake stay as they were.
        with contextlib.suppress(ValueError, TypeError, AttributeError):
            state = json.loads(files.text(STATE) or "{}")
            for nic in self.nics:
                nic.take_settings(state, files.text)

    def forget_settings(self) -> None:
        """Make the next ``current_nics`` read the settings again, however recently they were read."""
        self._settings_at = float("-inf")

    def _take_network(self) -> None:
        """Take over links and addresses, and write the GIDs that follow from them."""
        if self._network is None:
            return
        self._network.has_changed()
        links = self._network.links()
        for nic in self.nics:
            nic.take_link(links.get(nic.name))
            if nic.rdma:
                self._publish_gids(nic)

    def _publish_gids(self, nic: NodeNic) -> None:
        """Write the GIDs of a NIC to where the node reads them, and remove those that it has no longer."""
        folder = self.shared / "rdma" / nic.rdma
        files = {folder / path: text for path, text in gid_files(nic).items()}
        for path, text in files.items():
            self._publish(path, text)
        for path in tuple(self._published):
            is_gid = path.is_relative_to(folder) and "hw_counters" not in path.parts
            if is_gid and path not in files:
                path.unlink()
                del self._published[path]

    def publish(self) -> None:
        """Write the counters of RDMA devices that have changed to where the node reads them."""
        if self._files is None:
            return
        for nic in self.nics:
            for name, value in nic.counters.items():
                if nic.rdma and not _OF_ETHTOOL.search(name):
                    self._publish(self.shared / "rdma" / nic.rdma / "hw_counters" / name, f"{value}\n")

    def statistics(self, interface: str) -> str:
        """Return the counters of an interface's driver as ethtool prints them; empty for one that has none."""
        lines: list[str] = []
        for nic in self.nics:
            if nic.name == interface:
                names = [name for name in nic.counters if _OF_ETHTOOL.search(name)]
                lines += (f"     {name}: {nic.counters[name]}\n" for name in names)
        return "".join(lines)

    def _publish(self, path: Path, text: str) -> None:
        """Write a file that the node reads, unless it has this text."""
        if self._published.get(path) != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="ascii")
            self._published[path] = text


def _has_entries(folder: Path) -> bool:
    """Tell whether a folder of a node's disk has entries; a link is not followed, as it may lead out of the disk."""
    return not folder.is_symlink() and folder.is_dir() and any(folder.iterdir())


def _base_files(host: SimHost) -> dict[str, str]:
    """Return the files that a node begins with."""
    programs = {f"{LIBRARY}/{path.name}": path.read_text(encoding="utf-8") for path in PROGRAMS.glob("*.py")}
    return {
        **programs,
        "/etc/hostname": f"{host.name}\n",
        "/etc/hosts": f"127.0.0.1 localhost\n127.0.1.1 {host.name}\n",
        "/etc/passwd": "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
        "/etc/group": "root:x:0:\nnogroup:x:65534:\n",
        "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
        "/var/log/boot.log": "",
    }
