"""The switch that the management commands act on: this container's Redis, files, FRR and kernel.

A command works on the rows as they were when it began. Its changes are written in one transaction at its end, field by
field, so that concurrent writes to other fields survive.
"""

import fcntl
import json
import os
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab_node import frr, kernel, supervisor
from lab_node.files import RealFiles
from lab_node.redis import CONFIG_DB, Redis
from sonic_sim.clock import Clock
from sonic_sim.configdb import ConfigDb, Hash
from sonic_sim.device import SWSS_READY_S, Device
from sonic_sim.frr.running import Frr
from sonic_sim.image import Image
from sonic_sim.locks import Holder, Locks
from sonic_sim.spec import SimDevice

NODE_FILE = Path("/lab/node.json")
COMMANDS_RELEASE = "202505"
"""The release of SONiC whose management commands a node has, unless FRR prints as another one's."""
BOOTED_FILE = Path("/run/railweave-booted")
_ADDRESSES_S = 10.0


class RealLocks(Locks):
    """Lock files of this machine."""

    def take(self, path: str) -> Holder | None:
        """Return a holder, or None if another process has the lock."""
        # The handle stays open as long as the process: the lock ends with it.
        handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            return None
        return super().take(path)

    def release(self, holder: Holder) -> None:
        """Forget the holder; the kernel releases the lock when the process ends."""
        super().release(holder)


class RealFrr(Frr):
    """FRR's daemons of this container."""

    def start(self, text: str, hostname: str, **when: object) -> None:
        """Start the daemons with a boot configuration; they take the time that they take."""
        frr.start(text)
        self.running = True

    def stop(self) -> None:
        """Stop the daemons; their configuration is lost."""
        frr.stop()
        self.running = False

    def rename(self, hostname: str) -> None:
        """Do nothing: FRR reads the host's name itself."""

    def show(self, daemon: str = "") -> str:
        """Return the text of ``show running-config``."""
        return frr.vtysh(f"show running-config {daemon}".strip()).stdout


class Databases(dict[int, dict[str, Hash]]):
    """The databases beside CONFIG_DB, each read when it is first asked for."""

    def __init__(self) -> None:
        """Begin without any database."""
        super().__init__()
        # The rows as they were read, by database.
        self.read: dict[int, dict[str, Hash]] = {}

    def get(self, number: int, default: Any = None) -> Any:
        """Return the rows of a database, read from Redis the first time; ``default`` is never needed."""
        if number not in self:
            self[number] = Redis(number).rows()
            self.read[number] = {key: dict(row) for key, row in self[number].items()}
        return self[number]

    def setdefault(self, number: int, default: Any = None) -> Any:
        """Return the rows of a database."""
        return self.get(number)


class NodeDevice(Device):
    """The container as a switch."""

    def __init__(self, *, on_services: Callable[["NodeDevice"], None] | None = None) -> None:
        """Read the node's file and CONFIG_DB. ``on_services`` is called when the services start."""
        node: dict[str, Any] = {}
        if NODE_FILE.exists():
            node = json.loads(NODE_FILE.read_bytes())
        factory = {"DEVICE_METADATA": {"localhost": {"platform": node.get("platform", "")}}}
        spec = SimDevice(os.uname().nodename, factory, node.get("serial", "N/A"), node.get("mac", ""))
        super().__init__(spec, Clock(scale=0.0), daemons=False)
        self.files = RealFiles()
        self.locks = RealLocks()
        self.other: Databases = Databases()
        self.hostname = os.uname().nodename
        self.on_services = on_services
        booted = BOOTED_FILE.stat().st_mtime if BOOTED_FILE.exists() else time.time()
        self.times.booted = booted
        # All services are ready from the boot on.
        ready_at_boot = booted - SWSS_READY_S
        self.times.swss_up = ready_at_boot
        self.times.management_up = ready_at_boot
        self.times.frr_up = ready_at_boot
        self.redis = Redis(CONFIG_DB)
        self.read_config()

    def containers(self) -> tuple[str, ...]:
        """Return the containers that a switch has and this node runs without: their programs run directly."""
        return ("bgp",)

    def routing(self) -> RealFrr:
        """Return FRR's daemons of this container."""
        return RealFrr()

    def image(self) -> Image:
        """Return the versions of this node, which is not a SONiC image."""
        debian = Path("/etc/debian_version").read_text().strip()
        printed = subprocess.run(["/usr/lib/frr/zebra", "--version"], capture_output=True, text=True, check=False)
        version = re.search(r"version (\S+)", printed.stdout)
        frr_version = version[1] if version else "of unknown version"
        release = json.loads(NODE_FILE.read_bytes()).get("frr")
        # FRR may print as another release's does, so that the driver can be tried with it.
        simulated = f" printing as SONiC's {release} (simulated)" if release else ""
        return Image(
            version=f"railweave lab node, FRR {frr_version}{simulated}, Debian {debian}",
            distribution=f"Debian {debian}",
            kernel=os.uname().release,
            commit="N/A",
            date=time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime(Path(__file__).stat().st_mtime)),
            built_by="railweave",
            release=release or COMMANDS_RELEASE,
        )

    def read_config(self) -> None:
        """Read the rows of CONFIG_DB as they are now."""
        self.before = self.redis.rows()
        self.db = ConfigDb(self.before)
        self.initialized = self.redis.call("GET", "CONFIG_DB_INITIALIZED") == "1"
        self.was_initialized = self.initialized

    def flush(self) -> None:
        """Write the changes of all databases since their rows were read."""
        self.redis.write(self.before, self.db.rows)
        self.before = {key: dict(row) for key, row in self.db.rows.items()}
        if self.initialized != self.was_initialized:
            if self.initialized:
                self.redis.call("SET", "CONFIG_DB_INITIALIZED", "1")
            else:
                self.redis.call("DEL", "CONFIG_DB_INITIALIZED")
            self.was_initialized = self.initialized
        for number, rows in self.other.items():
            before = self.other.read[number]
            if before != rows:
                Redis(number).write(before, rows)

    def start_services(self) -> None:
        """Start the daemons that follow CONFIG_DB, then FRR with the boot configuration of the routing mode."""
        self.flush()
        name = self.db.get("DEVICE_METADATA|localhost").get("hostname", "sonic")
        take_name(name)
        self.hostname = name
        if self.on_services is not None:
            self.on_services(self)
        elif BOOTED_FILE.exists():
            # The addresses, which the daemon sets, must be there before FRR starts.
            wait_for_addresses(self.db.rows)
        self.start_frr()

    def start_frr(self, after_s: float = 0.0) -> None:
        """Start FRR, and bfdd after its configuration is loaded, as bgpcfgd does."""
        super().start_frr(after_s)
        if self.bfdd:
            supervisor.start("bfdd")

    def frr_answers(self) -> bool:
        """Tell whether vtysh reaches the daemons now."""
        return frr.answers()

    def react(self) -> None:
        """Do nothing: the daemons that watch CONFIG_DB run by themselves."""


def wait_for_addresses(rows: kernel.Rows) -> None:
    """Wait until the daemon has set the addresses of the rows in the kernel, at most ``_ADDRESSES_S``."""
    # zebra loses the address of an interface that is created while it reads them (FRR 8.4, seen under load).
    deadline_s = time.monotonic() + _ADDRESSES_S
    while not kernel.has_addresses(rows, interfaces()) and time.monotonic() < deadline_s:
        time.sleep(0.05)


def interfaces() -> list[Any]:
    """Return the kernel's interfaces with addresses and counters."""
    done = subprocess.run(["ip", "-j", "-s", "addr", "show"], capture_output=True, text=True, check=True)
    # ip prints an empty object for an interface that went meanwhile.
    return [interface for interface in json.loads(done.stdout) if interface]


def take_name(name: str) -> None:
    """Give the host a name that resolves."""
    if os.uname().nodename != name:
        subprocess.run(["hostname", name], check=True)
    # sudo looks the name up with every command.
    hosts = Path("/etc/hosts")
    lines = [line for line in hosts.read_text().splitlines() if not line.startswith("127.0.1.1")]
    text = "\n".join([*lines, f"127.0.1.1 {name}", ""])
    if hosts.read_text() != text:
        # The file is a bind mount: it can be written, not replaced.
        hosts.write_text(text)
