"""A fabric of switches in memory behind NAPALM drivers, with faults on demand."""

import json
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import orjson
import pytest
from driven_clock import DrivenClock
from napalm.base import NetworkDriver
from napalm.base.exceptions import CommitError, ConnectionClosedException, ConnectTimeoutError

from nornir_railweave.events import Event
from nornir_railweave.rollout.deploying import deploy
from nornir_railweave.rollout.planning import plan
from nornir_railweave.target.connect import build
from nornir_railweave.target.model import Address, Source, Target
from nornir_railweave.target.policy import Policy
from nornir_railweave.target.rollout import Rollout
from nornir_railweave.target.sessions import close_sessions
from nornir_railweave.tasks.verifying import verify
from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.devices import HostPort
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.plan.consent import DeployOptions
from railweave.plan.model import Plan
from railweave.plan.outcome import DeployResult, VerifyResult
from railweave.sonic.delta.change import Delta
from railweave.sonic.delta.diff import diff
from railweave.sonic.delta.merge import apply as merged
from railweave.sonic.delta.merge import merge_document
from railweave.sonic.document import RunningConfig, parse_running
from railweave.sonic.render.configure import Configurator
from railweave.sonic.rows import DeviceConfig
from railweave.switch_driver import (
    STATE,
    AppliedChange,
    Capability,
    CommitStatus,
    ConfigReading,
    ObserveRequest,
    SwitchDriver,
    SwitchView,
)
from railweave.templates import find_templates

DRIVER = "railweavefake"
ROOT = Path(__file__).resolve().parents[3]
FAST = Rollout(workers=4, max_failures=1, revert_in_s=60, verify_timeout_s=0.15, verify_interval_s=0.02)


def factory(platform: str) -> RunningConfig:
    """What a switch runs that nobody has configured, with rows that are nobody's of ours."""
    return RunningConfig(
        {
            "DEVICE_METADATA": {"localhost": {"hostname": "sonic", "platform": platform, "mac": "02:00:00:00:00:01"}},
            "MGMT_INTERFACE": {"eth0|192.0.2.9/24": {"gwaddr": "192.0.2.1"}},
            "SNMP_COMMUNITY": {"public": {"TYPE": "RO"}},
        },
        "frr version 10.3\nfrr defaults traditional\n",
    )


def printed(running: RunningConfig) -> str:
    """Return the document that a switch prints, made once for each configuration, but for its layout."""
    if "printed" not in running.__dict__:
        document = {**running.config_db, "bgpraw": running.frr}
        running.__dict__["printed"] = orjson.dumps(document, default=dict, option=orjson.OPT_SORT_KEYS).decode()
    return str(running.__dict__["printed"])


@dataclass
class Switch:
    """A switch in memory. ``faults`` maps a step to what happens there: an exception raised, or a function called."""

    running: RunningConfig
    saved: RunningConfig = field(default_factory=lambda: RunningConfig({}, None))
    before: RunningConfig | None = None
    pending: bool = False
    locked: bool = False
    faults: dict[str, Any] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    alive: int = 0
    commit_id: str = ""
    message: str = ""
    drained: tuple[str, ...] = ()
    drained_before: tuple[str, ...] = ()
    prefixes: int = 10
    announced: int | None = None
    losing: int = 0
    lost: int = 0
    busy: bool = False
    packets: int = 0
    steady_s: float = 0.0

    def step(self, name: str) -> None:
        self.calls.append(name)
        fault = self.faults.get(name)
        if isinstance(fault, list):
            fault = fault.pop(0) if fault else None
        if callable(fault):
            fault()
        elif fault is not None:
            raise fault


_CONFIGS: list[tuple[Fabric, dict[str, DeviceConfig]]] = []


def configs_of(fabric: Fabric) -> dict[str, DeviceConfig]:
    """Return what the switches of a fabric should run, rendered once for all tests of a process."""
    for known, configs in _CONFIGS:
        if known is fabric:
            return configs
    configurator = Configurator(fabric, find_templates())
    _CONFIGS.append((fabric, {switch.name: configurator.device(switch) for switch in fabric.switches}))
    return _CONFIGS[-1][1]


class World:
    """All switches of a fabric, and what they see of each other."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self._configs = configs_of(fabric)
        self.switches = {switch.name: Switch(factory(switch.panel.platform)) for switch in fabric.switches}
        self.swapped: dict[tuple[str, str], tuple[str, str]] = {}
        self.still_up: set[tuple[str, str]] = set()

    def intended(self, name: str) -> DeviceConfig:
        return self._configs[name]

    def grow(self, fabric: Fabric) -> None:
        """Take another fabric; switches that exist stay as they are."""
        grown = World(fabric)
        grown.switches.update(self.switches)
        self.__dict__.update(grown.__dict__)

    def row(self, device: str, table: str, key: str) -> dict[str, Any]:
        return dict(self.switches[device].running.config_db.get(table, {}).get(key, {}))

    def hostname(self, device: str) -> str:
        return str(self.row(device, "DEVICE_METADATA", "localhost").get("hostname"))

    def enabled(self, device: str, port: str) -> bool:
        return self.row(device, "PORT", port).get("admin_status") == "up"

    def ends(self, device: str) -> Iterator[tuple[Any, str, str, str, str]]:
        """Yield (link, own port, far device, far port, own peer address's owner) of a switch."""
        for link in self.fabric.links_of[device]:
            upper = link.upper == device
            own, index = (device, link.upper_port) if upper else (device, link.lower_port)
            far, far_index = (link.lower, link.lower_port) if upper else (link.upper, link.upper_port)
            port = self.fabric.switch_of[own].panel.ports[index].name
            yield link, port, far, self._port(far, far_index), "upper" if upper else "lower"

    def _port(self, device: str, index: int) -> str:
        if device in self.fabric.switch_of:
            return self.fabric.switch_of[device].panel.ports[index].name
        port: HostPort = self.fabric.host_of[device].ports[index]
        return port.name

    def up(self, device: str, port: str, far: str, far_port: str) -> bool:
        return self.enabled(device, port) and (far not in self.switches or self.enabled(far, far_port))

    def remote_as(self, device: str, peer: str) -> int | None:
        for line in (self.switches[device].running.frr or "").splitlines():
            words = line.split()
            if words[:1] == ["neighbor"] and words[1:3] == [peer, "remote-as"]:
                return int(words[3])
        return None


class Timer:
    """What the driver reports about the switch's own timer."""

    def __init__(self, switch: Switch) -> None:
        self._switch = switch

    def status(self) -> Any:
        self._switch.step("has_pending")
        switch = self._switch
        return types.SimpleNamespace(
            commit_id=switch.commit_id, pending=switch.pending, overdue=False, message=switch.message, last=""
        )


@dataclass(frozen=True)
class FakeCounters:
    """The counters of a switch at one moment."""

    at_s: float
    ports: dict[str, dict[str, int]]


class FakeView(SwitchView):
    """What a switch shows while it is asked."""

    def __init__(self, driver: "FakeDriver", counted: tuple[FakeCounters, ...]) -> None:
        self.driver = driver
        self._counted = counted

    @property
    def counted(self) -> tuple[FakeCounters, ...]:
        return self._counted

    @property
    def waiting(self) -> str:
        return "a commit waits for its confirmation" if self.driver.switch.pending else ""

    def get_interfaces(self) -> dict[str, Any]:
        return self.driver.get_interfaces()

    def get_interfaces_ip(self) -> dict[str, Any]:
        return self.driver.get_interfaces_ip()

    def get_lldp_neighbors_detail(self) -> dict[str, Any]:
        return self.driver.get_lldp_neighbors_detail()

    def get_bgp_neighbors(self) -> dict[str, Any]:
        return self.driver.get_bgp_neighbors()


_parsed = lru_cache(maxsize=128)(parse_running)


class FakeSwitchDriver(SwitchDriver):
    """What tasks ask of a driver, by the methods of the NAPALM driver, at whose steps faults happen."""

    capabilities = frozenset(
        {
            Capability.READ,
            Capability.OBSERVE,
            Capability.APPLY_WITH_TIMER,
            Capability.SAVE,
            Capability.DRAIN,
            Capability.ROLLBACK_DOCUMENTS,
            Capability.SECOND_LOGIN,
        }
    )

    def __init__(self, driver: "FakeDriver") -> None:
        self.driver = driver

    def read(self, request: ObserveRequest | None = None) -> ConfigReading:
        status = self.status()
        return ConfigReading(_parsed(self.printed("running")), status)

    def status(self) -> CommitStatus:
        shown = self.driver.revert_timer.status()
        return CommitStatus(shown.pending, shown.commit_id, shown.message, shown.last, shown.overdue)

    def printed(self, which: str) -> str:
        return self.driver.get_config(retrieve=which)[which]

    def serial_number(self) -> str:
        return ""

    def observe(self, request: ObserveRequest = STATE) -> SwitchView:
        counted: list[FakeCounters] = []
        if request.counters:
            counted.append(self._counted(FAST.verify_interval_s))
        if request.counters and request.over_s:
            counted.append(self._counted(request.over_s))
        return FakeView(self.driver, tuple(counted))

    def _counted(self, later_s: float) -> FakeCounters:
        """Return counters so much later, by the switch's own clock: that of the test is the rollout's."""
        self.driver.switch.steady_s += later_s
        return FakeCounters(self.driver.switch.steady_s, self.driver.get_interfaces_counters())

    def interfaces(self) -> dict[str, Any]:
        return self.driver.get_interfaces()

    def apply(
        self,
        delta: Delta,
        *,
        message: str,
        revert_in: int | None,
        commit_id: str,
        request: ObserveRequest | None = None,
        generation: Mapping[str, Any] | None = None,
        restores: bool = False,
    ) -> AppliedChange:
        self.driver.next_id = commit_id
        self.driver.load_merge_candidate(config=json.dumps(merge_document(delta)))
        if not self.driver.compare_config():
            self.driver.discard_config()
            return AppliedChange("")
        self.driver.commit_config(message=message, revert_in=revert_in)
        return AppliedChange(self.status().commit_id)

    def confirm(self, commit_id: str, *, only: ConfigReading | None = None) -> bool:
        self.driver.confirm_commit()
        return True

    def revert(self, commit_id: str, *, pending: bool) -> None:
        self.driver.rollback()

    def save(self) -> None:
        self.driver.save()

    def drain(
        self,
        peers: Sequence[str] | None,
        *,
        revert_in: int | None,
        message: str,
        request: ObserveRequest | None = None,
        hold: str = "",
    ) -> None:
        self.driver.drain(peers, revert_in=revert_in, message=message)

    def undrain(self, request: ObserveRequest | None = None) -> None:
        self.driver.undrain()

    def drained(self) -> tuple[str, ...]:
        return self.driver.drained()

    def rollback_document(self, commit_id: str) -> Mapping[str, Any]:
        return self.driver.rollback_document(commit_id)

    def log_in_again(self) -> None:
        self.driver.log_in_again()


class FakeDriver(NetworkDriver):  # type: ignore[misc]
    """The part of NAPALM's contract that tasks use, on a ``Switch``."""

    world: World

    def __init__(
        self,
        hostname: str,
        username: str,
        password: str,
        timeout: int = 60,
        optional_args: dict[str, Any] | None = None,
    ) -> None:
        self.name = hostname
        self.switch = self.world.switches[hostname]
        self.candidate: dict[str, Any] | None = None
        self.session = -1
        self.draining = False
        self.next_id = ""
        self.revert_timer = Timer(self.switch)
        self.switch_driver = FakeSwitchDriver(self)

    def _step(self, name: str) -> None:
        if self.session != self.switch.alive:
            raise ConnectionClosedException("the session is closed")
        try:
            self.switch.step(name)
        except ConnectionClosedException:
            self.switch.alive += 1
            raise

    def open(self) -> None:
        self.switch.step("open")
        self.session = self.switch.alive

    def is_alive(self) -> dict[str, bool]:
        return {"is_alive": self.session == self.switch.alive}

    def close(self) -> None:
        self.switch.calls.append("close")
        self.session = -1

    def get_config(self, retrieve: str = "all", **_: Any) -> dict[str, str]:
        self._step("get_config")
        held = {"running": self.switch.running, "startup": self.switch.saved}
        return {
            name: printed(held[name]) if name in held and retrieve in ("all", name) else ""
            for name in ("running", "startup", "candidate")
        }

    def load_merge_candidate(self, filename: str | None = None, config: str | None = None) -> None:
        self._step("load")
        self.candidate = json.loads(config or "{}")

    def compare_config(self) -> str:
        self._step("compare")
        assert self.candidate is not None
        after = merged(self.candidate, self.switch.running)
        return "" if printed(after) == printed(self.switch.running) else "different"

    def commit_config(self, message: str = "", revert_in: int | None = None) -> None:
        self._step("commit")
        if self.switch.pending and not self.draining:
            raise CommitError("a commit is pending")
        assert self.candidate is not None
        if not self.draining:
            self.switch.drained_before = self.switch.drained
        self.switch.before = self.switch.running
        self.switch.pending = revert_in is not None
        self.switch.message = message
        self.switch.commit_id = self.next_id
        self.switch.running = merged(self.candidate, self.switch.running)
        self._step("committed")

    def has_pending_commit(self) -> bool:
        self._step("has_pending")
        return self.switch.pending

    def log_in_again(self) -> None:
        self._step("log_in_again")

    def confirm_commit(self) -> None:
        self._step("confirm")
        if not self.switch.pending:
            raise CommitError("nothing to confirm")
        self.switch.pending = False
        self._step("confirmed")
        self.switch.saved = self.switch.running

    def rollback_document(self, commit_id: str) -> dict[str, Any]:
        raise CommitError(f"the rollback document of commit {commit_id} is gone")

    def save(self) -> None:
        self._step("save")
        self.switch.saved = self.switch.running

    def discard_config(self) -> None:
        self._step("discard")
        self.candidate = None

    def rollback(self) -> None:
        self._step("rollback")
        if self.switch.before is None:
            raise CommitError("nothing to roll back")
        self.switch.running = self.switch.before
        self.switch.drained = self.switch.drained_before
        if not self.switch.pending:
            self.switch.saved = self.switch.running
        self.switch.pending = False

    def drain(self, peers: Any, *, revert_in: int | None, message: str) -> None:
        self._step("drain")
        if self.switch.pending:
            raise CommitError("a commit is pending")
        self.switch.before, self.switch.drained_before = self.switch.running, self.switch.drained
        self.switch.pending = self.draining = revert_in is not None
        self.switch.drained = ("*",) if peers is None else tuple(peers)
        self._step("drain-set")

    def undrain(self) -> None:
        self._step("undrain")
        self.switch.drained = ()
        self._step("undrained")

    def drained(self) -> tuple[str, ...]:
        self._step("drained")
        return self.switch.drained

    def get_interfaces_counters(self) -> dict[str, dict[str, int]]:
        self._step("counters")
        self.switch.lost += self.switch.losing
        self.switch.packets += 0 if self.switch.drained and not self.switch.busy else 1_000_000
        counted = {
            f"{way}_{kind}_packets": self.switch.packets
            for way in ("rx", "tx")
            for kind in ("unicast", "multicast", "broadcast")
        }
        counted |= {"rx_errors": self.switch.lost, "tx_errors": 0, "rx_discards": -1, "tx_discards": -1}
        return {port: dict(counted) for port in self.switch.running.config_db.get("PORT", {})}

    def get_interfaces(self) -> dict[str, Any]:
        self._step("observe")
        far = {port: (device, end) for _, port, device, end, _ in self.world.ends(self.name)}
        return {
            port: {
                "is_enabled": self.world.enabled(self.name, port),
                "is_up": (self.name, port) in self.world.still_up
                or (port in far and self.world.up(self.name, port, *far[port])),
                "mtu": int(str(fields.get("mtu", "9100"))),
            }
            for port, fields in self.switch.running.config_db.get("PORT", {}).items()
        }

    def get_interfaces_ip(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for table in ("INTERFACE", "LOOPBACK_INTERFACE"):
            for key in self.switch.running.config_db.get(table, {}):
                port, bar, address = key.partition("|")
                if bar:
                    ip, _, length = address.partition("/")
                    found.setdefault(port, {"ipv4": {}})["ipv4"][ip] = {"prefix_length": int(length)}
        return found

    def get_lldp_neighbors_detail(self, interface: str = "") -> dict[str, Any]:
        seen: dict[str, Any] = {}
        for _, port, far, far_port, _ in self.world.ends(self.name):
            device, end = self.world.swapped.get((self.name, port), (far, far_port))
            if self.world.up(self.name, port, far, far_port):
                name = self.world.hostname(device) if device in self.world.switches else device
                seen[port] = [{"remote_system_name": name, "remote_port": end, "remote_port_description": ""}]
        return seen

    def get_bgp_neighbors(self) -> dict[str, Any]:
        self._step("bgp")
        peers: dict[str, Any] = {}
        for link, port, far, far_port, side in self.world.ends(self.name):
            if link.is_access:
                continue
            own, other = (link.network, link.network + 1) if side == "upper" else (link.network + 1, link.network)
            remote = self.world.remote_as(self.name, _dotted(other))
            if remote is not None:
                back = self.world.remote_as(far, _dotted(own)) if far in self.world.switches else None
                up = self.world.up(self.name, port, far, far_port) and back is not None
                peers[_dotted(other)] = {
                    "remote_as": remote,
                    "is_up": up and not self.switch.faults.get("bgp-down"),
                    "address_family": {"ipv4": self._family()},
                }
        return {"global": {"router_id": "", "peers": peers}}

    def _family(self) -> dict[str, int]:
        sent = {} if self.switch.announced is None else {"sent_prefixes": self.switch.announced}
        return {"accepted_prefixes": self.switch.prefixes, **sent}


def _dotted(address: int) -> str:
    return ".".join(str(address >> shift & 255) for shift in (24, 16, 8, 0))


@dataclass
class Bench:
    """A world with everything that a test does to it."""

    world: World
    folder: Path
    events: list[Event] = field(default_factory=list)
    processors: tuple[Any, ...] = ()
    rollout: Rollout = FAST
    clock: DrivenClock = field(default_factory=DrivenClock)
    without_address: tuple[str, ...] = ()
    driver: str = DRIVER

    def nornir(self) -> Any:
        known = {name: Address(name) for name in self.world.switches if name not in self.without_address}
        target = Target("fake", Source.ADDRESSES, driver=self.driver, devices=known, rollout=self.rollout)
        return build(self.world.fabric, target, processors=self.processors, partial=bool(self.without_address))

    @contextmanager
    def connected(self) -> Iterator[Any]:
        nr = self.nornir()
        try:
            yield nr
        finally:
            close_sessions(nr)

    def plan(self, **options: Any) -> Plan:
        with self.connected() as nr:
            return plan(
                nr,
                self.world.fabric,
                self.world.intended,
                target="fake",
                intent_sha256="0" * 64,
                clock=self.clock,
                **options,
            )

    def deploy(
        self,
        made: Plan | None = None,
        *,
        provision: bool = True,
        control: Any = None,
        journal: Any = None,
        **options: Any,
    ) -> DeployResult:
        agreed = {field.name: options.pop(field.name) for field in fields(DeployOptions) if field.name in options}
        policy = Policy(
            consent=DeployOptions(provision=provision, **agreed),
            rollout=self.rollout,
            reconnect_s=0.05,
            journal_dir=self.folder / "journal",
            clock=self.clock,
            **options,
        )
        made = made or self.plan(remove_conflicting=policy.consent.remove_conflicting)
        with self.connected() as nr:
            return deploy(
                nr,
                self.world.fabric,
                made,
                self.world.intended,
                policy=policy,
                events=self.events.append,
                control=control,
                journal=journal,
            )

    def verify(self) -> VerifyResult:
        with self.connected() as nr:
            return verify(nr, self.world.fabric)

    def outcomes(self, result: DeployResult) -> dict[str, str]:
        return {name: device.outcome.value for name, device in result.devices.items()}


def fabric_of(text: str) -> Fabric:
    outcome = design(load_intent_text(text, "intent/lab-4.yml"), load_catalog())
    assert outcome.fabric is not None, outcome.diagnostics
    return outcome.fabric


@pytest.fixture(scope="session")
def lab_text() -> str:
    return (ROOT / "intent" / "lab-4.yml").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def lab(lab_text: str) -> Fabric:
    return fabric_of(lab_text)


@pytest.fixture(scope="session")
def redesign(lab_text: str) -> Callable[..., Fabric]:
    """Return a function that designs the lab's intent with some of its text replaced; each result is made once."""

    @cache
    def redesigned(*replacements: tuple[str, str]) -> Fabric:
        text = lab_text
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new, 1)
        return fabric_of(text)

    return redesigned


@pytest.fixture
def bench_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Fabric], Bench]:
    """Return a function that makes a bench of factory-new switches; the newest one is reached."""

    def made(fabric: Fabric) -> Bench:
        world = World(fabric)

        class RailweavefakeDriver(FakeDriver):
            pass

        RailweavefakeDriver.world = world
        RailweavefakeDriver.__module__ = f"custom_napalm.{DRIVER}"
        module = types.ModuleType(f"custom_napalm.{DRIVER}")
        module.RailweavefakeDriver = RailweavefakeDriver  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "custom_napalm", types.ModuleType("custom_napalm"))
        monkeypatch.setitem(sys.modules, f"custom_napalm.{DRIVER}", module)
        return Bench(world, tmp_path)

    return made


@pytest.fixture
def bench(lab: Fabric, bench_of: Callable[[Fabric], Bench]) -> Bench:
    """A factory-new lab of two leaves and two spines."""
    return bench_of(lab)


def _settle(bench: Bench) -> Bench:
    for name, switch in bench.world.switches.items():
        switch.running = switch.saved = _settled(bench.world.intended(name), switch.running)
    return bench


_SETTLED: list[tuple[DeviceConfig, RunningConfig, RunningConfig]] = []


def _settled(wanted: DeviceConfig, running: RunningConfig) -> RunningConfig:
    """Return what a switch runs after its deployment, found once for the same start and end."""
    for known, before, after in _SETTLED:
        if known is wanted and before == running:
            return _copied(after)
    needed = diff(wanted.device, running, wanted)
    _SETTLED.append((wanted, running, merged(merge_document(needed.delta), running)))
    return _copied(_SETTLED[-1][2])


def _copied(running: RunningConfig) -> RunningConfig:
    """Return a configuration whose rows a test may change."""
    tables = {table: {key: dict(row) for key, row in rows.items()} for table, rows in running.config_db.items()}
    return running.with_tables(tables)


@pytest.fixture(scope="session")
def settle() -> Callable[[Bench], Bench]:
    """Return what brings a bench to a deployed and healthy state without the time that a deployment takes."""
    return _settle


@pytest.fixture
def deployed(bench: Bench) -> Bench:
    """A lab that is deployed and healthy."""
    return _settle(bench)


@pytest.fixture(autouse=True)
def no_pause_for_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look again at once whether a journal is still locked: no test holds it for an instant only."""
    monkeypatch.setattr("nornir_railweave.rollout.claim._LOCK_PAUSE_S", 0.0)


@pytest.fixture(scope="session", autouse=True)
def documents_parsed_once() -> Iterator[None]:
    """Parse what a switch prints once, as long as it prints the same: the same text is the same frozen value."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("nornir_railweave.device.reading.parse_running", lru_cache(maxsize=128)(parse_running))
        yield


@pytest.fixture
def unreachable() -> ConnectTimeoutError:
    return ConnectTimeoutError("no route to host")
