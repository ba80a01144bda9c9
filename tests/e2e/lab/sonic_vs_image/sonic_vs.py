"""What docker-sonic-vs does otherwise than railweave's node image (sonic-buildimage platform/vs/docker-sonic-vs).

``files`` writes the boot files as its start script does, ``load`` fills CONFIG_DB, ``syncd`` makes the ports beside
Containerlab's interfaces, ``orchagent`` ends where a port has none, ``managers`` follow CONFIG_DB key by key: what a
FLUSHDB takes away nobody tells them. ``config`` is SONiC's, whose ``reload`` ends with ``sudo monit reload``.
"""

import json
import queue
import select
import signal
import socket
import sys
import threading
import time
from pathlib import Path

from lab_node import daemon, device, kernel
from lab_node.redis import CONFIG_DB, Redis

_SONIC = Path("/etc/sonic")
_CONFIG, _INIT = _SONIC / "config_db.json", _SONIC / "init_cfg.json"
_TEMPLATE = Path("/usr/share/sonic/templates/init_cfg.json.j2")
_EVENT = f"__keyspace@{CONFIG_DB}__:"


def _ports() -> dict[str, str]:
    """Return the interface behind every port of the SKU."""
    found: dict[str, str] = json.loads(device.NODE_FILE.read_bytes())["ports"]
    return found


def _here(interface: str) -> bool:
    return (Path("/sys/class/net") / interface).exists()


def files() -> None:
    """Write init_cfg.json, and config_db.json merged over it; without one that of the ports that have an interface."""
    mac = Path("/sys/class/net/eth0/address").read_text().strip()
    text = _TEMPLATE.read_text().replace("{{ system_mac }}", mac).replace("{{ switch_type }}", "switch")
    _INIT.write_text(text)
    ports = {port: {"admin_status": "down", "mtu": "9100"} for port, behind in _ports().items() if _here(behind)}
    own = json.loads(_CONFIG.read_bytes()) if _CONFIG.exists() else {"PORT": ports}
    merged = json.loads(text)
    for table, rows in own.items():
        for key, fields in rows.items():
            merged.setdefault(table, {})[key] = {**merged.get(table, {}).get(key, {}), **fields}
    _CONFIG.write_text(json.dumps(merged, indent=4))


def load() -> None:
    """Fill CONFIG_DB from config_db.json."""
    booting = device.NodeDevice()
    booting.load_files(str(_CONFIG))
    booting.flush()
    booting.redis.call("SET", "CONFIG_DB_INITIALIZED", "1")


def syncd() -> None:
    """Hold a device EthernetN for every port with an interface; they go with the process, as the real one's taps do."""
    ports = [(port, behind) for port, behind in _ports().items() if _here(behind)]
    for port, behind in ports:
        daemon.ip(
            f"link set dev {behind} up", f"link add link {behind} name {port} type macvlan mode bridge", force=True
        )
    _wait_for_the_end()
    daemon.ip(*(f"link del dev {port}" for port, _ in ports), force=True)


def orchagent() -> None:
    """End with a fault where a row of PORT has no interface; else wait."""
    lost = [key[5:] for key in Redis(CONFIG_DB).rows("PORT|*") if not _here(_ports().get(key[5:], "-"))]
    if lost:
        sys.exit(f"orchagent: {', '.join(lost)}: the port cannot be created")
    _wait_for_the_end()


def _wait_for_the_end() -> None:
    signal.sigwait({signal.SIGTERM, signal.SIGINT})


class Managers(daemon.Follower):
    """The managers of swss: they know the rows that events named, and the switch has no LLDP and no host name."""

    def __init__(self) -> None:
        """Begin with the rows of now; loopbacks of an earlier run go. No cable is theirs: syncd made the ports."""
        super().__init__(cables={})
        while not all(_here(port) for port, behind in _ports().items() if _here(behind)):
            time.sleep(0.2)
        left = {one["ifname"] for one in device.interfaces()}
        daemon.ip(
            *(f"link del dev {name}" for name in left if name.startswith("Loopback") and name.endswith(kernel.FAR))
        )
        self.rows = self.config.rows()
        self.named: queue.SimpleQueue[str] = queue.SimpleQueue()
        subscribed = self.events
        self.events, self.told = socket.socketpair()  # type: ignore[assignment]
        threading.Thread(target=self.hear, args=(subscribed,), daemon=True).start()

    def hear(self, subscribed: Redis) -> None:
        """Read every event in a thread: `select` does not report what the connection has read ahead."""
        while True:
            event = subscribed.read()
            if event[0] == "pmessage":
                self.named.put(event[2].removeprefix(_EVENT))
                self.told.send(b".")

    def drain(self) -> None:
        """Wait for the end of a burst of events."""
        while select.select([self.events], [], [], 0.05)[0]:
            self.events.recv(4096)  # type: ignore[attr-defined]

    def follow(self) -> None:
        """Apply the rows that events named."""
        for key in {self.named.get() for _ in range(self.named.qsize())}:
            if row := self.config.rows(key.replace("*", r"\*")).get(key):
                self.rows[key] = row
            else:
                self.rows.pop(key, None)
        daemon.ip(*kernel.changes(self.rows, device.interfaces()))
        for port in kernel.routed_ports(self.rows):
            daemon.set_sysctl(f"net.ipv6.conf.{port}.disable_ipv6", "0")

    def lldp(self) -> None:
        """There is none."""


def managers() -> None:
    """Follow for ever."""
    Managers().run()


class _Switch(device.NodeDevice):
    """The switch of one `config`: a reload empties the database at once and then fails for want of monit."""

    reloads = False

    def flush(self) -> None:
        """Write what the command changed; a reload writes all of it anew."""
        if self.reloads and self.db.rows != self.before:
            self.redis.call("FLUSHDB")
            self.before, self.was_initialized = {}, False
        super().flush()

    def start_services(self) -> None:
        """Fail as the image does."""
        self.flush()
        sys.stdout.flush()
        print("sudo: monit: command not found", file=sys.stderr)
        sys.exit(127)


def config() -> None:
    """Run SONiC's `config` as it is on the image."""
    from lab_node import program

    _Switch.reloads = sys.argv[1:2] == ["reload"]
    program.main(_Switch)


if __name__ == "__main__":
    if sys.argv[1] in ("syncd", "orchagent"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    {"files": files, "load": load, "syncd": syncd, "orchagent": orchagent, "managers": managers}[sys.argv[1]]()
