"""Runners that take capacity from one fabric and share nothing: one sleeps at a step, and the other does all it wants.

All in one process: the switches are ``virtual_switch.World``, each with the real program and rendered FRR lines, and
one clock. After every change of FRR's lines on any switch the paths between leaves are counted.
"""

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import pytest
from frozen_runners import FleetWorld, RunnerHost
from napalm.base.exceptions import ConnectionClosedException
from nornir.core import Nornir
from nornir.core.configuration import Config
from nornir.core.inventory import Defaults, Groups, Hosts, Inventory
from program_session import ProgramSession
from virtual_switch import VirtualHost, encoded, frr_lines

from napalm_sonic import driver as driver_module
from napalm_sonic.session import Completed, Session
from nornir_railweave.checked_driver import checked
from nornir_railweave.device.jobs import JobReading
from nornir_railweave.device.reading import running_of
from nornir_railweave.rollout.rolling_out import RolledOut, roll_out
from nornir_railweave.rollout.rollout_context import RolloutContext
from nornir_railweave.target.policy import Policy
from nornir_railweave.target.rollout import Rollout
from nornir_railweave.target.runner import FabricRunner
from nornir_railweave.tasks import draining
from nornir_railweave.tasks.holding import MANUAL_S, Holding
from railweave.fabric.model import Fabric
from railweave.plan.away import away_of
from railweave.plan.capacity import Service
from railweave.plan.expectation import Expectation
from railweave.plan.manual_drain import DrainLimits, DrainResult, choose
from railweave.plan.policy import DEFAULT_POLICY
from railweave.plan.waves import WaveGate
from railweave.sonic.delta.diff import DeviceDiff
from railweave.sonic.delta.digest import running_sha256
from railweave.sonic.delta.merge import delta_of
from railweave.sonic.delta.snapshot import Snapshot, snapshot_before
from railweave.sonic.document import RunningConfig
from railweave.sonic.frr import parse_frr
from railweave.sonic.frr.drain import drained_peers
from railweave.sonic.rows import DeviceConfig, Row
from railweave_switch import frr
from railweave_switch.host import Done

REVERT_IN_S = 60
PORT, WISHED = "Ethernet0", "9000"


PROGRAM_STEPS = ("write_file", "remove_file", "run")
"""What of the program on a switch is a step of whoever called it: others see the switch before it and after it."""


@functools.cache
def peers_drained(lines: tuple[frr.Line, ...]) -> tuple[str, ...]:
    return drained_peers(parse_frr("frr version 10.3\n" + frr.text_of(lines)))


class CountedWorld(FleetWorld):
    """A switch whose fabric is counted after every change of its FRR lines, and whose processes step with a runner."""

    changed: Callable[[], None] = staticmethod(lambda: None)
    route: Callable[[str], str] = staticmethod(lambda prefix: "{}")
    stepped: Callable[[], None] | None = None

    def start(self, kind: str) -> VirtualHost:
        host = super().start(kind)
        if self.stepped is not None and kind in ("foreground", "worker"):
            for name in PROGRAM_STEPS:
                setattr(host, name, partial(self._step, self.stepped, getattr(host, name)))
        return host

    def _step(self, step: Callable[[], None], method: Callable[..., Any], *arguments: Any) -> Any:
        step()
        return method(*arguments)

    def execute(self, words: Any, stdin: str) -> Any:
        if words[-1].startswith("show ip route "):
            return Done(0, self.route(words[-1].split()[3]), "")
        before = tuple(self.lines)
        done = super().execute(words, stdin)
        if tuple(self.lines) != before:
            self.changed()
        return done


@dataclass
class Race:
    """The switches of a fabric, and the sleeper: the step at which the runner ``sleeper`` sleeps, and what others do
    meanwhile."""

    fabric: Fabric
    configs: Mapping[str, DeviceConfig]
    worlds: dict[str, CountedWorld] = field(default_factory=dict)
    sleeper: str = ""
    sleeps_at: int = -1
    meanwhile: Callable[[], None] = lambda: None
    steps: int = 0
    story: list[str] = field(default_factory=list)
    crossed: list[str] = field(default_factory=list)
    cut_off: tuple[str, str] = ("", "")
    """A runner, and a switch that it does not reach."""
    least: int = 1
    """The paths that are to be left between any two leaves."""

    def __post_init__(self) -> None:
        self._service = Service(self.fabric)
        for switch in self.fabric.switches:
            self.worlds[switch.name] = world = CountedWorld()
            config = self.configs[switch.name]
            localhost = {"hwsku": "S", "mac": "m", "platform": "p", "docker_routing_config_mode": "split-unified"}
            tables = {"PORT": {PORT: {"mtu": "9100"}}, "DEVICE_METADATA": {"localhost": localhost}}
            world.rows = {f"{table}|{key}": encoded(row) for table, rows in tables.items() for key, row in rows.items()}
            world.lines = list(frr_lines(config.frr))
            world.save()
            world.changed = self.count
            world.route = partial(self.route, switch.name)

    # Time and steps

    def monotonic(self) -> float:
        return max(world.now for world in self.worlds.values())

    def sleep(self, seconds: float) -> None:
        until_s = self.monotonic() + max(0.0, seconds)
        for world in self.worlds.values():
            world.advance(max(0.0, until_s - world.now))

    def step(self, runner: str) -> None:
        """One step of a runner: the sleeper sleeps at its own."""
        if runner != self.sleeper:
            return
        self.steps += 1
        if self.steps == self.sleeps_at:
            self.story.append(f"{runner} sleeps")
            self.meanwhile()
            self.story.append(f"{runner} wakes")

    # Counting

    def drained(self) -> dict[str, tuple[str, ...]]:
        return {name: peers_drained(tuple(world.lines)) for name, world in self.worlds.items()}

    def count(self) -> None:
        """Count the paths that are left, and note where two leaves have too few."""
        away = away_of(self.fabric, self.drained())
        paths = self._service.least_paths(away.out, away.down)
        if paths is not None and paths < self.least:
            self.crossed.append("\n".join([f"{paths} paths are left", str(self.drained()), *self.story]))

    def route(self, device: str, prefix: str) -> str:
        """Return how a leaf reaches another one: over every spine that is not drained."""
        panel = self.fabric.switch_of[device].panel.ports
        drained = self.drained()
        ways = [link for link in self.fabric.uplinks_of[device] if not drained[link.upper]]
        hops = [{"fib": True, "interfaceName": panel[link.lower_port].name} for link in ways]
        return json.dumps({prefix: [{"selected": True, "nexthops": hops}]})

    # Runners

    def nornir(self, runner: str) -> Nornir:
        hosts = Hosts({name: RunnerHost(name, hostname=name, username=runner) for name in self.worlds})
        return Nornir(inventory=Inventory(hosts, Groups(), Defaults()), runner=FabricRunner(1), config=Config())

    def drain(self, runner: str, device: str, links: Sequence[str] = ()) -> DrainResult:
        """Drain as the command does; where one path is enough, with the consent to several switches of a plane."""
        nr, targets = self.nornir(runner), choose(self.fabric, [device], links)

        holding = Holding(nr, self.fabric, "drain", MANUAL_S)
        limits = DrainLimits(self.fabric, several=self.least == 1)
        (result,) = draining.drain(nr, targets, wait_s=0, packets_per_s=100, limits=limits, holding=holding)
        self.story.append(f"{runner}: {result}")
        return result

    def roll_out(self, runner: str, drains: Mapping[str, tuple[str, ...]]) -> RolledOut:
        """Roll a change out to switches, one a wave, each drained as ``drains`` says while it is changed."""
        nr = self.nornir(runner)
        jobs = {name: self._job(nr, runner, name, peers) for name, peers in drains.items()}
        policy = Policy(
            rollout=replace(Rollout(), workers=1, max_failures=1, revert_in_s=REVERT_IN_S, verify_timeout_s=2.0,
                            verify_interval_s=1.0),
            reconnect_s=5.0, message=runner, clock=RaceClock(self),
        )  # fmt: skip
        gate = WaveGate(self.fabric, DEFAULT_POLICY, disruptive=jobs)
        context = RolloutContext(gate, policy)
        result = roll_out(nr, cast(Any, jobs), [(name,) for name in jobs], context)
        self.story.append(f"{runner}: {result}")
        return result

    def _job(self, nr: Nornir, runner: str, device: str, peers: tuple[str, ...]) -> "MtuJob":
        driver = checked(nr.inventory.hosts[device].get_connection("napalm", Config()), "SonicDriver")
        config = replace(self.configs[device], rows=(Row("PORT", PORT, {"mtu": WISHED}, "wished"),))
        sha256 = running_sha256(running_of(driver), config)
        assert driver.last_reading is not None
        generation = {"was": int(driver.last_reading.status.generation.get("number") or 0), "now": {"digest": runner}}
        return MtuJob(config, sha256, generation, peers)


@dataclass
class MtuJob:
    """One switch of a rollout: another MTU of one port, with these peers drained meanwhile."""

    config: DeviceConfig
    before_sha256: str
    generation: Mapping[str, Any]
    drain: tuple[str, ...]
    disconnects: bool = True
    restores: bool = False

    @property
    def device(self) -> str:
        return self.config.device

    @property
    def expectation(self) -> Expectation:
        return Expectation(self.device, (), (), (), ())

    def read(self, driver: Any, which: str = "running") -> JobReading:
        running: RunningConfig = running_of(driver, which)
        delta = delta_of({"PORT": {PORT: {"mtu": WISHED}}}, running)
        document = running.frr_document
        drained = () if document is None else drained_peers(document)
        difference = DeviceDiff(delta, drained=drained)
        return JobReading(running, running_sha256(running, self.config), difference, not delta, disconnects=True)

    def moved(self, found: JobReading) -> str:
        return "" if found.sha256 == self.before_sha256 else "changed since the plan was made; nothing was done"

    def snapshot(self, found: JobReading) -> Snapshot:
        return snapshot_before(found.delta, found.running, self.config)

    def gate(self, seen: object, settled: object, held: object) -> tuple[()]:
        return ()

    def routes(self, seen: object, settled: object) -> tuple[()]:
        return ()


@dataclass(frozen=True, slots=True)
class RaceClock:
    """The clock of all switches."""

    race: Race

    def monotonic(self) -> float:
        return self.race.monotonic()

    def sleep(self, seconds: float) -> None:
        self.race.sleep(seconds)


@dataclass
class RaceSession(ProgramSession):
    """A session of one runner to one switch, by calls of the program; each has a step before and one after it."""

    race: Race = field(kw_only=True)

    def open(self) -> None:
        self.race.step(self.username)
        if (self.username, self.hostname) == self.race.cut_off:
            raise ConnectionClosedException(f"{self.hostname}: no route to it")
        self.is_open = True

    def log_in_again(self) -> None:
        self.race.step(self.username)

    def run(self, command: str, timeout_s: float | None = None, data: bytes = b"") -> Completed:
        race, world = self.race, self.race.worlds[self.hostname]
        race.step(self.username)
        if not self.is_open:
            raise ConnectionClosedException(f"{self.hostname}: the session is closed")
        words = self.words(command)
        world.advance(max(0.0, race.monotonic() - world.now))
        earlier, world.stepped = world.stepped, partial(race.step, self.username)
        race.story.append(f"{race.monotonic():.1f}: {self.username} to {self.hostname}: {words[0]}")
        completed = self.call(world, command, words, data)
        world.stepped = earlier
        race.step(self.username)
        return completed


def sessions_of(race: Race, patched: pytest.MonkeyPatch) -> None:
    """Let every driver that is opened from now on reach the switches of ``race``."""

    def session(hostname: str, username: str, password: str, timeout_s: float, options: Any) -> Session:
        return RaceSession(hostname, username, password, timeout_s, clock=RaceClock(race), race=race)

    patched.setattr(driver_module, "_new_session", session)
