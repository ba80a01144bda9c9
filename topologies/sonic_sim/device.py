"""One simulated switch: its databases, files and routing daemons, at boot and reload."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sonic_sim.bgpcfgd import shift_lines
from sonic_sim.buffermgr import Seen, make_lossless_rows
from sonic_sim.clock import Clock
from sonic_sim.configdb import ConfigDb, Hash, to_json
from sonic_sim.faults import FaultKind, Faults
from sonic_sim.files import Files
from sonic_sim.frr.boot import boot_configuration
from sonic_sim.frr.daemons import LISTENS_S, LOADS_S
from sonic_sim.frr.running import DAEMONS, Frr
from sonic_sim.image import Image
from sonic_sim.locks import Locks
from sonic_sim.network import Address, Network
from sonic_sim.orchagent import SYSLOG, Orchagent, crash_lines
from sonic_sim.spec import SimDevice, SimState

if TYPE_CHECKING:
    from railweave_switch.guard import Guard

CONFIG_FILE = "/etc/sonic/config_db.json"
INIT_FILE = "/etc/sonic/init_cfg.json"
VERSION_FILE = "/etc/sonic/sonic_version.yml"
FRR_FILE = "/etc/sonic/frr/frr.conf"
# A reload is refused until swss has been up for so long.
SWSS_READY_S = 120
# Seconds of the switch: the management interface is down while its services restart, and bgp comes up last.
_MANAGEMENT_GONE_S = 10
_FRR_STARTS_S = 45


class Effect(StrEnum):
    """An effect of a command outside the switch, for the server to act on."""

    DROP_SESSIONS = "drop-sessions"
    TIMER = "timer"
    OFFLINE = "offline"


@dataclass(slots=True)
class Times:
    """Moments in real seconds since 1970."""

    booted: float = 0.0
    swss_up: float = 0.0
    management_up: float = 0.0
    frr_up: float = 0.0
    # How many connections are not answered after that, however late they come.
    unanswered: int = 0


@dataclass(slots=True)
class Link:
    """An interface that was made by ``ip link add``; one with a ``peer`` has a carrier while that is up.

    ``addresses``: each with whether zebra ran when it was given.
    """

    peer: str = ""
    up: bool = False
    addresses: dict[str, bool] = field(default_factory=dict)


@dataclass(slots=True)
class ByHand:
    """What somebody set on the interface of a port behind the databases: ``mtu`` while ``mtu_over`` is configured, None
    where it is as configured; and further addresses."""

    mtu: int | None = None
    mtu_over: int = 0
    addresses: list[str] = field(default_factory=list)


class Device:
    """A switch. ``daemons`` False leaves out what reacts to CONFIG_DB (hostcfgd, buffermgrd), as in the recordings.

    ``patching`` are the configurations that patches which are still being applied began with.
    ``busy_s`` are the seconds of the switch's own clock that its commands took.
    """

    def __init__(self, spec: SimDevice, clock: Clock, *, daemons: bool = True) -> None:
        """Make a switch that has never booted."""
        self.spec = spec
        self.name = spec.name
        self.clock = clock
        self.daemons = daemons
        self.db = ConfigDb()
        self.other: dict[int, dict[str, Hash]] = {}
        self.plain: dict[int, dict[str, str]] = {}
        self.initialized = True
        self.files = Files()
        self.frr = self.routing()
        self.hostname = "sonic"
        self.times = Times()
        self.locks = Locks()
        self.patching: list[dict[str, Any]] = []
        self.faults = Faults()
        self.bfdd = False
        self.busy_s = 0.0
        self.guard: Guard | None = None
        self.processes: set[int] = set()
        self.links: dict[str, Link] = {}
        self.by_hand: dict[str, ByHand] = {}
        self.orchagent = Orchagent()
        self._reacted_to = -1
        self._lossless_seen: Seen = {}
        self._shifted = "false"
        self.network = Fabric()
        self.network.devices[self.name] = self
        self.on_effect: Callable[[Device, Effect], None] | None = None

    def addresses(self) -> Iterator[Address]:
        """Yield the addresses that FRR sees: those that the daemons set, and those given by hand."""
        for name, link in self.links.items():
            for prefix in link.addresses:
                address, _, length = prefix.partition("/")
                # An address without a length is a host's.
                host_length = 128 if ":" in address else 32
                yield Address(name, address, int(length or host_length))
        if self.daemons:
            yield from self.network.addresses(self)

    def link_up(self, name: str) -> bool:
        """Tell whether an interface is up. One that was made by ``ip link add`` is up while both of its ends are."""
        if name in self.links:
            link = self.links[name]
            return link.up and self.links.get(link.peer, Link()).up
        if not self.daemons:
            return False
        return name.startswith("Loopback") or self.network.link_up(self, name)

    def emit(self, effect: Effect) -> None:
        """Report an effect to the server."""
        if self.on_effect is not None:
            self.on_effect(self, effect)

    def revision(self) -> tuple[int, ...]:
        """Return a value that changes with everything that is kept on disk."""
        return (self.db.version, self.files.version, self.frr.version, self.faults.version, self.guard is not None)

    def containers(self) -> tuple[str, ...]:
        """Return which of the containers that programs ask for run; in the recordings there are none."""
        return ("bgp",) if self.daemons else ()

    def image(self) -> Image:
        """Return the software that runs."""
        return Image()

    def routing(self) -> Frr:
        """Return the routing daemons, which do not run yet."""
        daemons = tuple(name for name in DAEMONS if name not in self.spec.without)
        return Frr(self.image().frr, daemons, vrfs=self._kernel_vrfs, beside=self.more_daemons, age_s=self._frr_age_s)

    def _frr_age_s(self) -> float:
        return self.clock.now() - self.times.frr_up

    @property
    def platform(self) -> str:
        """The platform string, hardware that no configuration changes."""
        value = self.spec.factory.get("DEVICE_METADATA", {}).get("localhost", {}).get("platform", "")
        return str(value) or "x86_64-kvm_x86_64-r0"

    def routing_mode(self) -> str:
        """Return ``docker_routing_config_mode``; the start script takes a missing field for ``separated``."""
        return self.db.get("DEVICE_METADATA|localhost").get("docker_routing_config_mode", "separated")

    def _kernel_vrfs(self) -> tuple[str, ...]:
        """Return the VRFs that daemons make in the kernel: the management one by hostcfgd, the others by vrfmgrd."""
        if not self.daemons:
            return ()
        vrfs = tuple(self.db.table("VRF"))
        if self.db.get("MGMT_VRF_CONFIG|vrf_global").get("mgmtVrfEnabled") == "true":
            return ("mgmt", *vrfs)
        return vrfs

    def install(self) -> None:
        """Put the image and the factory configuration on the switch and boot it."""
        text = to_json(self.spec.factory).encode()
        now = self.clock.now()
        if not self.files.exists(INIT_FILE):
            self.files.write(INIT_FILE, b"{}", now=now)
        self.files.write(CONFIG_FILE, text, now=now)
        self.files.write(VERSION_FILE, self.image().version_file(self.spec.asic).encode(), now=now)
        self.boot()
        self.times.swss_up = now - SWSS_READY_S
        self.times.management_up = self.times.frr_up = now
        self.frr.all_up()

    def take_over(self, state: SimState) -> None:
        """Take the recorded state of a switch, as if the switch had been in this state for long."""
        now = self.clock.now()
        self.files.write(CONFIG_FILE, to_json(state.startup).encode(), now=now)
        if state.startup_frr is not None:
            self.files.write(FRR_FILE, state.startup_frr.encode(), now=now)
        if state.version_file:
            self.files.write(VERSION_FILE, state.version_file.encode(), now=now)
        self.db.replace_all(state.running)
        self.hostname = self.db.get("DEVICE_METADATA|localhost").get("hostname") or self.hostname
        self.bfdd = self.db.get("SYSTEM_DEFAULTS|software_bfd").get("status") == "enabled"
        self.orchagent.start(self.db)
        self._lossless_seen.clear()
        self.frr.stop()
        if state.frr is not None:
            self.frr.start(state.frr, self.hostname)
        # What bgpcfgd once wrote for TSA is in FRR's text already.
        self._shifted = self.db.get("BGP_DEVICE_GLOBAL|STATE").get("tsa_enabled", "false")
        self.react()

    def boot(self) -> None:
        """Start from the files: load the startup configuration, drop timers and locks."""
        self.guard = None
        self.processes.clear()
        self.links.clear()
        self.by_hand.clear()
        self.locks.held.clear()
        self.patching.clear()
        self.other.clear()
        self.times.booted = self.clock.now()
        if not self.files.exists(CONFIG_FILE):
            self.files.write(CONFIG_FILE, to_json(self.spec.factory).encode(), now=self.clock.now())
        self.load_files(CONFIG_FILE)
        self.start_services()

    def lose_power(self, *, with_configuration: bool = False, unanswered: int = 0) -> None:
        """Lose power and boot again, ``with_configuration`` without its configuration, as it came from the factory.

        A boot here is so short that a busy client may not notice it, so the next ``unanswered`` connections fail.
        """
        if with_configuration:
            for path in (CONFIG_FILE, FRR_FILE):
                if self.files.exists(path):
                    self.files.remove(path)
        self.boot()
        self.times.unanswered = unanswered
        self.emit(Effect.TIMER)
        self.emit(Effect.DROP_SESSIONS)

    def answers(self) -> bool:
        """Tell whether a connection that is made now is answered; one of those that fail after a boot is counted."""
        if self.times.unanswered:
            self.times.unanswered -= 1
            return False
        return self.clock.now() >= self.times.management_up

    def load_files(self, path: str) -> None:
        """Fill CONFIG_DB with ``init_cfg.json`` and a file, and migrate it. Raises ValueError, OSError."""
        tables: dict[str, dict[str, Any]] = {}
        if self.files.exists(INIT_FILE):
            tables = json.loads(self.files.read(INIT_FILE))
        for table, rows in json.loads(self.files.read(path)).items():
            merged_rows = tables.setdefault(table, {})
            for key, fields in rows.items():
                # A row without fields may be null in either file.
                merged_rows[key] = {**(merged_rows.get(key) or {}), **(fields or {})}
        self.db.replace_all(tables)
        self.initialized = True
        self.migrate()

    def migrate(self) -> None:
        """Migrate a current configuration as ``db_migrator.py`` does."""
        self.db.put("VERSIONS|DATABASE", {"VERSION": "version_202505_01"})
        for key, row in self.db.rows.items():
            if key.startswith("PORT|"):
                row.setdefault("dhcp_rate_limit", "300")

    def start_services(self) -> None:
        """Start swss, bgp and the rest. FRR gets the boot configuration of the switch's routing mode."""
        now = self.clock.now()
        if self.faults.strike(FaultKind.NO_RETURN) is not None:
            self.faults.add(FaultKind.UNREACHABLE)
            self.faults.add(FaultKind.LINK_DOWN)
            self.emit(Effect.OFFLINE)
        self._lossless_seen.clear()
        self.orchagent.start(self.db)
        self.times.swss_up = now
        self.times.management_up = now + self.clock.real_s(_MANAGEMENT_GONE_S)
        self.react()
        self.start_frr()

    def start_frr(self, after_s: float = _FRR_STARTS_S) -> None:
        """Start the bgp container: zebra listens after ``after_s`` seconds of the switch, the other daemons later."""
        now = self.clock.now()
        self.times.frr_up = now + self.clock.real_s(after_s)
        # bgpcfgd starts bfdd, from 202505 (sonic-bgpcfgd managers_bfd.py).
        self.bfdd = self.db.get("SYSTEM_DEFAULTS|software_bfd").get("status") == "enabled"
        text, keep_file = boot_configuration(self.routing_mode(), self.db, self.files, self.hostname, now)
        if not keep_file and self.files.exists(FRR_FILE):
            self.files.remove(FRR_FILE)
        self.frr.start(text, self.hostname, starting=self._start_delays(), loads_s=self.clock.real_s(LOADS_S))
        # bgpcfgd takes TSA to be off when it starts.
        self._shifted = "false"
        self._shift_traffic()

    def _start_delays(self) -> dict[str, float]:
        """Return after how many real seconds each of FRR's daemons listens; those that listen at once are left out."""
        delays_s = {}
        for name in self.frr.daemons:
            seconds = LISTENS_S.get(name, 0.0)
            fault = self.faults.strike(FaultKind.LATE_DAEMON, name)
            if fault is not None:
                # Later than the boot configuration is loaded, so that the daemon misses it.
                seconds += LOADS_S + fault.seconds
            if seconds:
                delays_s[name] = self.clock.real_s(seconds)
        return delays_s

    def more_daemons(self) -> tuple[str, ...]:
        """Return the daemons that run beside the usual ones, as the container's supervisord starts them."""
        if self.db.get("DEVICE_METADATA|localhost").get("frr_mgmt_framework_config") == "true":
            return ("ospfd", "pimd", "bfdd", "pathd")
        return ("bfdd",) if self.bfdd else ()

    def frr_answers(self) -> bool:
        """Tell whether vtysh reaches the daemons now."""
        return self.frr.running and self.clock.now() >= self.times.frr_up

    def react(self) -> None:
        """Let the daemons that watch CONFIG_DB do their work."""
        if self.orchagent.crashed:
            self.restart_swss(self.clock.now())
        if not self.daemons or self._reacted_to == self.db.version:
            return
        hostname = self.db.get("DEVICE_METADATA|localhost").get("hostname")
        if hostname and hostname != self.hostname:
            self.hostname = hostname
            self.frr.rename(hostname)
        make_lossless_rows(self.db, self._lossless_seen)
        if self.orchagent.follow(self.db):
            self._report_crash()
            # Links are down without orchagent: what is derived from the rows has to be made again.
            self.db.version += 1
        self._shift_traffic()
        self._reacted_to = self.db.version

    def _report_crash(self) -> None:
        """Note when orchagent crashed, and log it."""
        now = self.clock.now()
        self.orchagent.ended_at = now
        log = self.files.read(SYSLOG) if self.files.exists(SYSLOG) else b""
        self.files.write(SYSLOG, log + crash_lines(self.hostname, now).encode(), now=now)

    def restart_swss(self, now: float) -> None:
        """Let systemd start orchagent again if that is due."""
        if self.orchagent.start_again(self.db, now):
            # Links come up again: what is derived from the rows has to be made again.
            self.db.version += 1

    def _shift_traffic(self) -> None:
        """Let bgpcfgd follow TSA and TSB, which it takes to be off when it starts."""
        tsa_enabled = self.db.get("BGP_DEVICE_GLOBAL|STATE").get("tsa_enabled", "false")
        if self.daemons and self.frr.running and tsa_enabled != self._shifted:
            self._shifted = tsa_enabled
            self.frr.apply(shift_lines(self.frr.show(), away=tsa_enabled == "true"))


class Fabric(Network[Device]):
    """The network of simulated switches; each knows the one that it is in."""

    def add_device(self, device: Device) -> None:
        """Take a switch into the fabric, in the place of one with its name; cables stay in their ports."""
        super().add_device(device)
        device.network = self
