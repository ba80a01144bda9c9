"""The daemon of a node: boots the switch, then applies CONFIG_DB and keeps the state databases, as swss and lldp do.

It listens to Redis' keyspace notifications, so a row is applied whoever wrote it, and to events of links and neighbors
by the kernel and lldpd. Polling them every second would be too much load with many nodes.
"""

import json
import select
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lab_node import filters, kernel, kernel_counters, lldp, state, supervisor
from lab_node.device import BOOTED_FILE, NODE_FILE, NodeDevice, interfaces, take_name
from lab_node.news import LinkNews, NeighborNews
from lab_node.redis import APPL_DB, CONFIG_DB, COUNTERS_DB, STATE_DB, Redis
from sonic_sim.device import CONFIG_FILE, INIT_FILE, VERSION_FILE

# Between two readings of counters and cables, while a port is enabled and while none is. Changes are handled at once.
_TICK_S = 1.0
_IDLE_TICK_S = 5.0
# Between two readings of queueing disciplines and nft counters, each of which starts two processes.
_QUEUES_AGAIN_S = 5.0

# How long after the watch began lldpd may fail to report neighbors that it has.
_LLDP_STARTS_S = 3.0
# After so long lldpd is asked although it reported nothing.
_LLDP_ANYWAY_S = 30.0

# How long lldpd may take to follow a change of the interfaces.
_LLDP_FOLLOWS_S = 5.0

_SETTLE_S = 0.05
_COUNTERS = Path("/proc/net/dev")
_FACTORY = Path("/lab/config_db.json")
_LOGIN = Path("/lab/authorized_keys")
_SYSCTLS = {
    "net.ipv4.ip_forward": "1",
    "net.ipv4.fib_multipath_hash_policy": "1",
    "net.ipv4.conf.all.ignore_routes_with_linkdown": "1",
    "net.ipv4.conf.default.ignore_routes_with_linkdown": "1",
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv4.conf.default.rp_filter": "0",
    "net.ipv6.conf.all.disable_ipv6": "0",
    "net.ipv6.conf.default.disable_ipv6": "0",
    "net.ipv6.conf.all.forwarding": "1",
    "net.ipv6.conf.all.keep_addr_on_down": "1",
}


def main() -> None:
    """Boot the switch unless it was booted before, then keep it up to date until the container ends."""
    for name, value in _SYSCTLS.items():
        set_sysctl(name, value)
    wait_for_redis()
    if not BOOTED_FILE.exists():
        boot()
    Follower(json.loads(NODE_FILE.read_bytes())["ports"]).run()


def wait_for_redis() -> None:
    """Wait until Redis answers; exit if it does not start within about 10 s."""
    for _ in range(200):
        try:
            Redis(CONFIG_DB)
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit("Redis does not start")


def boot() -> None:
    """Create the ports, load the startup configuration, and start routing and SSH."""
    ip("route del default", force=True)
    node = json.loads(NODE_FILE.read_bytes())
    ip(*kernel.port_commands(node["ports"], interfaces()))
    prepare_login()
    if not Path(CONFIG_FILE).exists():
        Path(CONFIG_FILE).write_bytes(_FACTORY.read_bytes())
        Path(INIT_FILE).write_text("{}")
    BOOTED_FILE.touch()
    # The addresses must be there before FRR starts, and no `Follower` applies CONFIG_DB yet.
    device = NodeDevice(on_services=lambda node_device: apply(node_device.db.rows))
    Path(VERSION_FILE).write_text(device.image().version_file(device.spec.asic))
    device.load_files(CONFIG_FILE)
    device.start_services()
    supervisor.start("sshd")


def prepare_login() -> None:
    """Install the lab's public key for sshd, if the lab has one.

    It is a copy, because sshd insists on the owner and the mode of the file.
    """
    if not _LOGIN.exists():
        return
    keys = Path("/etc/ssh/authorized_keys")
    keys.write_bytes(_LOGIN.read_bytes())
    keys.chmod(0o644)


def ip(*commands: str, force: bool = False) -> None:
    """Run ``ip`` commands in one process; one that fails does not stop the others.

    The failure is printed, unless ``force`` says that it is expected.
    """
    if not commands:
        return
    done = subprocess.run(
        ["ip", "-force", "-batch", "-"], input="\n".join(commands) + "\n", capture_output=True, text=True, check=False
    )
    if done.returncode and not force:
        print(f"ip: {done.stderr.strip()} in {commands}", flush=True)


def set_sysctl(name: str, value: str) -> None:
    """Write a kernel setting; a setting that this kernel lacks is skipped."""
    path = Path("/proc/sys") / name.replace(".", "/")
    if path.exists() and path.read_text().strip() != value:
        path.write_text(value)


_applied_ruleset = ""
"""The filters that the kernel has."""


def filter_ports(rows: kernel.Rows) -> None:
    """Apply the ACLs of CONFIG_DB, all at once, if they have changed."""
    global _applied_ruleset  # noqa: PLW0603  what the kernel has
    text = filters.ruleset(rows)
    if text == _applied_ruleset:
        return
    done = subprocess.run(["nft", "-f", "-"], input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"nft: {done.stderr.strip()}", flush=True)
    else:
        _applied_ruleset = text


def apply(rows: kernel.Rows) -> None:
    """Apply CONFIG_DB to the kernel, the host's name and LLDP."""
    filter_ports(rows)
    ip(*kernel.changes(rows, interfaces()))
    for port in kernel.routed_ports(rows):
        set_sysctl(f"net.ipv6.conf.{port}.disable_ipv6", "0")
    name = rows.get("DEVICE_METADATA|localhost", {}).get("hostname")
    if name:
        take_name(name)


class Follower:
    """Keeps the kernel and the state databases up to date."""

    def __init__(self, cables: Mapping[str, str]) -> None:
        """Subscribe before anything is read, so that no change is missed; ``cables`` are the interfaces of ports."""
        # CONFIG_DB: its notifications, a connection for reading, and its rows as they were applied last.
        self.events = Redis(CONFIG_DB, timeout_s=None)
        self.events.call("PSUBSCRIBE", f"__keyspace@{CONFIG_DB}__:*")
        self.config = Redis(CONFIG_DB)
        self.rows: dict[str, dict[str, str]] = {}
        # The state databases by number, and their rows as they were written last.
        self.state = {number: Redis(number) for number in (APPL_DB, COUNTERS_DB, STATE_DB)}
        self.written: dict[int, state.Table] = {number: redis.rows() for number, redis in self.state.items()}
        # The kernel's interfaces: their events, and as they were read last. Times are seconds of the steady clock.
        self.links = LinkNews()
        self.present: list[Any] = []
        self.interfaces_read_at = 0.0
        self.interfaces_changed = True
        # The interfaces of ports, and those of them that were missing in the last reading.
        self.cables = cables
        self.missing_cables: set[str] = set()
        # LLDP: lldpd's events while it runs, its neighbors, and the names that were given to it.
        self.neighbor_news: NeighborNews | None = None
        self.news_since = 0.0
        self.neighbors: state.Table = {}
        self.neighbors_read_at = 0.0
        self.lldp_name = ""
        self.ports_named_at = 0.0
        # Counters of queueing disciplines and of nft.
        self.queues_read_at = float("-inf")
        self.drops: dict[str, int] = {}
        self.queue_counters: dict[str, kernel_counters.NftCounter] = {}

    def run(self) -> None:
        """Handle events as they come, and do the other work in every tick, for ever."""
        self.follow()
        self.look()
        tick_at = time.monotonic()
        while True:
            sources: list[Any] = [self.events, self.links]
            if self.neighbor_news is not None:
                sources.append(self.neighbor_news)
            ready, _, _ = select.select(sources, [], [], max(0.0, tick_at - time.monotonic()))
            if self.events in ready:
                self.drain()
                self.follow()
                self.look()
            if self.links in ready:
                self.links.drain(_SETTLE_S)
                self.look()
            if self.neighbor_news in ready:
                self.listen()
            if ready:
                self.publish()
            if time.monotonic() >= tick_at or self.events in ready:
                self.tick()
                tick_s = _TICK_S if self.enabled() else _IDLE_TICK_S
                tick_at = time.monotonic() + tick_s

    def look(self) -> None:
        """Read the kernel's interfaces after a change."""
        self.present = interfaces()
        self.interfaces_changed = True
        self.interfaces_read_at = time.monotonic()

    def enabled(self) -> bool:
        """Tell whether any port is configured to be up."""
        return any(row.get("admin_status") == "up" for row in state.ports_by_name(self.rows).values())

    def drain(self) -> None:
        """Read the notifications of one burst of writes."""
        while select.select([self.events], [], [], _SETTLE_S)[0]:
            self.events.read()

    def follow(self) -> None:
        """Read CONFIG_DB and apply it, unless it is empty."""
        self.rows = self.config.rows()
        if self.rows:
            apply(self.rows)

    def tick(self) -> None:
        """Do the work that no event announces."""
        if self.interfaces_changed or self.missing_cables:
            self.interfaces_changed = False
            self.take_cables()
        self.lldp()
        self.publish()
        if self.rows:
            self.count()

    def count(self) -> None:
        """Write what the kernel has counted into COUNTERS_DB."""
        now = time.monotonic()
        if now - self.queues_read_at >= _QUEUES_AGAIN_S:
            self.queues_read_at = now
            self.drops = kernel_counters.root_drops(kernel_counters.read(["tc", "-j", "-s", "qdisc", "show"]))
            counters_text = kernel_counters.read(["nft", "-j", "list", "counters"])
            self.queue_counters = kernel_counters.named_counters(counters_text)
        rows = state.counter_rows(self.rows, state.counters(_COUNTERS.read_text()))
        self.put(COUNTERS_DB, kernel_counters.with_kernel_counters(rows, self.drops, self.queue_counters))

    def take_cables(self) -> None:
        """Rename cables that were connected while the switch runs to their ports."""
        missing = set(self.cables) - {interface["ifname"] for interface in self.present}
        # A port that is missing for the first time may be in the middle of a renaming, so it gets no tap yet.
        just_missing = missing - self.missing_cables
        settled_cables = {port: cable for port, cable in self.cables.items() if port not in just_missing}
        self.missing_cables = missing
        commands = kernel.port_commands(settled_cables, self.present)
        if commands:
            ip(*commands)
            apply(self.rows)
            self.look()

    def publish(self) -> None:
        """Write the state of ports and neighbors into STATE_DB and APPL_DB."""
        if not self.rows:
            return
        up = {interface["ifname"] for interface in self.present if interface["operstate"] == "UP"}
        # lldpd keeps a neighbor until it expires, also while the link is down.
        neighbors = {key: row for key, row in self.neighbors.items() if key.partition(":")[2] in up}
        self.put(STATE_DB, state.link_rows(self.rows))
        changes = kernel_counters.carrier_changes(state.ports_by_name(self.rows))
        ports = kernel_counters.with_flaps(state.port_rows(self.rows, self.present), changes)
        self.put(APPL_DB, {**ports, **neighbors})

    def put(self, number: int, rows: state.Table) -> None:
        """Write the difference between ``rows`` and those written last into a database."""
        self.state[number].write(self.written[number], rows)
        self.written[number] = rows

    def lldp(self) -> None:
        """Set the names that lldpd announces, and read the neighbors if lldpd may not have reported some of them."""
        if not self.rows:
            return
        name = self.rows.get("DEVICE_METADATA|localhost", {}).get("hostname", "sonic")
        if name != self.lldp_name and lldp.take_name(name):
            self.lldp_name = name
        now = time.monotonic()
        # lldpd forgets the name of a port whose interface is new.
        are_names_due = now - self.interfaces_read_at < _LLDP_FOLLOWS_S or now - self.ports_named_at > _LLDP_ANYWAY_S
        if are_names_due and lldp.name_ports(self.rows):
            self.ports_named_at = now
        if self.neighbor_news is None:
            self.neighbor_news = NeighborNews()
            self.news_since = now
        are_neighbors_due = now - self.news_since < _LLDP_STARTS_S or now - self.neighbors_read_at > _LLDP_ANYWAY_S
        if are_neighbors_due:
            self.ask_neighbors()

    def listen(self) -> None:
        """Read the neighbors after lldpd reported a change, or ended; then the next tick listens to it again."""
        if self.neighbor_news is not None and not self.neighbor_news.drain(_SETTLE_S):
            self.neighbor_news = None
        self.ask_neighbors()

    def ask_neighbors(self) -> None:
        """Ask lldpd for the neighbors; they stay as they were if it does not answer."""
        self.neighbors_read_at = time.monotonic()
        answer = lldp.asked("neighbors")
        if answer:
            self.neighbors = state.lldp_rows(answer)


if __name__ == "__main__":
    main()
