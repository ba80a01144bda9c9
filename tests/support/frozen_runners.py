"""Runners that deploy to the same switches and are frozen at any step: all in one process, with the switch program.

One thread of one runner moves at a time, from one contact with a switch to the next: a seed chooses which, how long it
is frozen there, and whether its session is gone when it wakes. The switches are ``virtual_switch.World``: the real
program, whose revert timers run by the same clock. Every end of a commit that a switch writes down is kept and judged.
"""

import json
import random
import threading
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import pytest
from napalm.base.exceptions import ConnectionClosedException
from nornir.core import Nornir
from nornir.core.configuration import Config
from nornir.core.inventory import Defaults, Groups, Host, Hosts, Inventory
from program_session import ProgramSession
from virtual_switch import STATE, World, encoded, frr_lines

from napalm_sonic import driver as driver_module
from napalm_sonic.driver import SonicDriver
from napalm_sonic.session import Completed, Session
from nornir_railweave.checked_driver import checked
from nornir_railweave.device.jobs import JobReading
from nornir_railweave.device.reading import running_of
from nornir_railweave.rollout.rolling_out import RolledOut, roll_out
from nornir_railweave.rollout.rollout_context import RolloutContext
from nornir_railweave.target.policy import Policy
from nornir_railweave.target.rollout import Rollout
from nornir_railweave.target.runner import FabricRunner
from railweave.plan.expectation import Expectation
from railweave.plan.health import Health
from railweave.plan.observation import Observation
from railweave.plan.outcome import CheckKind, Outcome, VerifyCheck
from railweave.plan.routes import SessionRoutes
from railweave.sonic.delta.change import Delta
from railweave.sonic.delta.diff import DeviceDiff
from railweave.sonic.delta.digest import running_sha256
from railweave.sonic.delta.merge import delta_of
from railweave.sonic.delta.snapshot import Snapshot, snapshot_before
from railweave.sonic.document import BGPRAW, RunningConfig
from railweave.sonic.frr import frr_delta, parse_frr
from railweave.sonic.rows import DeviceConfig, Row
from railweave_switch.host import Done
from railweave_switch.rows import tables_of

REVERT_IN_S = 60
LONG_S = (70.0, 200.0, 900.0)
"""How long a runner is frozen: longer than the timer of the switches."""
DEVICES = ("leaf1", "leaf2")
HAND = "by-hand"
HAND_LINE = ("ip prefix-list BY-HAND seq 5 permit any",)


class LostWorkError(AssertionError):
    """A runner undid, or changed without having read it, what another one had confirmed."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a runner wants of every switch: two MTUs, a neighbor's name, and BGP's keepalive time."""

    mtu: tuple[str, str]
    neighbor: str
    keepalive: int

    def config(self, device: str) -> DeviceConfig:
        rows = [Row("PORT", f"Ethernet{4 * place}", {"mtu": mtu}, "wished") for place, mtu in enumerate(self.mtu)]
        if self.neighbor:
            rows.append(Row("DEVICE_NEIGHBOR", "Ethernet0", {"name": self.neighbor, "port": "Ethernet0"}, "wished"))
        return DeviceConfig(device, tuple(rows), frr_of(self.keepalive))

    def delta(self, device: str, running: RunningConfig) -> Delta:
        merge: dict[str, Any] = {
            table: {key: dict(row) for key, row in rows.items()}
            for table, rows in self.config(device).config_db().items()
        }
        if not self.neighbor:
            merge["DEVICE_NEIGHBOR"] = {"Ethernet0": None}
        now = parse_frr(running.frr or "")
        wanted = parse_frr((running.frr or "").replace(timers_in(running.frr or ""), f"timers bgp {self.keepalive} 9"))
        return delta_of({**merge, BGPRAW: frr_delta(now, wanted)}, running)


def frr_of(keepalive: int) -> str:
    return (
        f"router bgp 65001\n bgp router-id 10.1.0.1\n timers bgp {keepalive} 9\n"
        " neighbor 10.0.0.1 remote-as 65000\nexit\n"
    )


def timers_in(text: str) -> str:
    return next(line.strip() for line in text.splitlines() if line.strip().startswith("timers bgp "))


START = Wish(("9100", "9100"), "", 3)
WISHES = (
    Wish(("9000", "9100"), "spine1", 3),
    Wish(("9100", "9000"), "spine2", 1),
    Wish(("9000", "9000"), "", 2),
    Wish(("9216", "9100"), "spine1", 2),
)


@dataclass(frozen=True, slots=True)
class End:
    """The end of a commit or rollback on a switch: whose it was, and what the switch ran by then."""

    attempt: str
    what: str
    commit_id: str
    content: tuple[Any, ...]


@dataclass
class Attempted:
    """One rollout of one runner; ``read_at`` is how many ends the log of a switch had when it read it the last time
    before it changed anything there."""

    name: str
    wish: Wish
    read_at: dict[str, int] = field(default_factory=dict)
    applied: set[str] = field(default_factory=set)
    ended_at: dict[str, int] = field(default_factory=dict)
    result: RolledOut | None = None


class Fleet:
    """Two switches, their runners, and the clock of all."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.is_resumed = self.rng.random() < 0.3
        """All runners carry on one rollout, so that their commits have one message."""
        self.worlds = {name: new_switch() for name in DEVICES}
        self.log: dict[str, list[End]] = {name: [] for name in DEVICES}
        self.first = {name: content_of(world) for name, world in self.worlds.items()}
        self.attempts: dict[str, Attempted] = {}
        self.by_hand: set[str] = set()
        self._turn = threading.Condition()
        self._moving = ""
        self._wakes: dict[str, float] = {}
        self._at_work: set[str] = set()
        self.actor = ""
        self.attempt_of: dict[str, str] = {}
        self.story: list[str] = []
        for name, world in self.worlds.items():
            world.on_write = partial(self._note, name)

    # Time and turns

    def monotonic(self) -> float:
        return max(world.now for world in self.worlds.values())

    def advance(self, until_s: float) -> None:
        for world in self.worlds.values():
            world.advance(max(0.0, until_s - world.now))

    def wait(self, runner: str, seconds: float) -> None:
        """Give the turn away for so long; called by the runner's own threads."""
        with self._turn:
            self._wakes[runner] = self.monotonic() + max(0.0, seconds)
            self._moving = ""
            self._turn.notify_all()
            assert self._turn.wait_for(lambda: self._moving == runner, 300), f"{runner} never had its turn"
            del self._wakes[runner]

    def run(self, runners: Mapping[str, Callable[[], None]]) -> None:
        """Let all runners work to their ends; what one of them raises is raised here."""
        faults: list[BaseException] = []

        def whole(name: str, work: Callable[[], None]) -> None:
            try:
                self.wait(name, 0.0)
                work()
            except BaseException as fault:
                faults.append(fault)
            finally:
                with self._turn:
                    self._at_work.discard(name)
                    self._moving = ""
                    self._turn.notify_all()

        self._at_work = set(runners)
        threads = [threading.Thread(target=whole, args=one, daemon=True) for one in runners.items()]
        for thread in threads:
            thread.start()
        while self._give_turn():
            pass
        for thread in threads:
            thread.join(300)
        if faults:
            raise faults[0]

    def _give_turn(self) -> bool:
        with self._turn:
            idle = self._turn.wait_for(lambda: not self._moving and self._at_work == set(self._wakes), 300)
            assert idle, "a runner neither waits nor ends"
            if not self._at_work:
                return False
            self.advance(min(self._wakes.values()))
            now = self.monotonic()
            self._moving = self.rng.choice(sorted(name for name, wake in self._wakes.items() if wake <= now))
            self._turn.notify_all()
        return True

    # What switches write down

    def _note(self, device: str, path: str, data: bytes) -> None:
        if path != STATE:
            return
        state = json.loads(data)
        ended = (state["kind"], state["status"]) in (("commit", "confirmed"), ("rollback", "reverted"))
        log = self.log[device]
        if not ended or any(one.commit_id == state["id"] for one in log):
            return
        owner = self.actor
        what = "undone" if state["message"].endswith(" (undone)") else state["kind"]
        log.append(End(owner, what, state["id"], content_of(self.worlds[device])))
        self.story.append(f"{self.monotonic():.0f}: {device}: {what} {state['id'][-6:]} of {owner} ends")

    # Judging

    def judge(self) -> None:
        """Raise LostWorkError where confirmed work was lost, or a result says what is not so."""
        self.advance(self.monotonic() + 5000.0)
        for device in DEVICES:
            self._judge_order(device)
            self._judge_content(device)
            for attempt in self.attempts.values():
                self._judge_outcome(device, attempt)

    def _judge_order(self, device: str) -> None:
        """Whoever ends a commit after another one's had read the switch since."""
        log = self.log[device]
        for place, (before, end) in enumerate(pairwise(log)):
            attempt = self.attempts[end.attempt]
            if before.attempt != end.attempt and attempt.read_at.get(device, 0) <= place:
                self._lost(f"{device}: {end.what} of {end.attempt} undid what {before.attempt} had ended")

    def _judge_content(self, device: str) -> None:
        last = self.log[device][-1].content if self.log[device] else self.first[device]
        now = content_of(self.worlds[device])
        if now != last:
            self._lost(f"{device} runs {now}, and the last end left {last}")
        if device in self.by_hand:
            world = self.worlds[device]
            if world.rows["PORT|Ethernet4"].get("description") != HAND or HAND_LINE not in world.lines:
                self._lost(f"{device}: what was done by hand is gone")
        status = json.loads(self.worlds[device].files.get(STATE, b'{"status": "none"}'))["status"]
        if status not in ("none", "confirmed", "reverted"):
            self._lost(f"{device}: its last commit is {status}")

    def _judge_outcome(self, device: str, attempt: Attempted) -> None:
        outcome = None if attempt.result is None else attempt.result.outcomes.get(device)
        if outcome is None or attempt.result is None:
            return
        log = self.log[device][: attempt.ended_at[device]]
        ends = [one.what for one in log if one.attempt == attempt.name]
        stands = bool(ends) and ends[-1] == "commit"
        wished = content_with(attempt.wish, device)
        was_there = wished in [one.content for one in log]
        if outcome.outcome is Outcome.NEW and not stands and not was_there:
            self._lost(f"{device} is not what {attempt.name} says: {outcome}")
        if outcome.outcome is Outcome.OLD and stands and log[-1].attempt == attempt.name:
            self._lost(f"{device} is new, and {attempt.name} says {outcome}")

    def _lost(self, why: str) -> None:
        raise LostWorkError("\n".join([why, *self.story]))


def new_switch() -> World:
    world = FleetWorld()
    config = START.config("")
    tables: dict[str, Any] = {
        "DEVICE_METADATA": {"localhost": {"hwsku": "S", "mac": "m", "platform": "p",
                                          "docker_routing_config_mode": "split-unified"}},
        **config.config_db(),
    }  # fmt: skip
    world.rows = {f"{table}|{key}": encoded(row) for table, rows in tables.items() for key, row in rows.items()}
    world.lines = list(frr_lines(config.frr))
    world.save()
    return world


class FleetWorld(World):
    """A switch that also shows what verification looks at: nothing is connected."""

    def execute(self, words: Any, stdin: str) -> Done:
        if words[0] == "ip":
            return Done(0, "[]", "")
        if words[0] == "vtysh" and "json" in words[-1]:
            return Done(0, "{}", "")
        return super().execute(words, stdin)

    def frr_line(self, line: tuple[str, ...]) -> None:
        if line[-1].startswith("timers bgp "):  # FRR keeps one pair of timers an instance
            self.lines = [one for one in self.lines if not one[-1].startswith("timers bgp ")]
        super().frr_line(line)


def content_of(world: World) -> tuple[Any, ...]:
    """Return what of a switch runners wish: MTUs, neighbor, timers."""
    tables = tables_of(world.rows)
    ports = tuple(tables["PORT"][f"Ethernet{4 * place}"].get("mtu") for place in range(2))
    neighbor = tables.get("DEVICE_NEIGHBOR", {}).get("Ethernet0", {}).get("name", "")
    return (*ports, neighbor, tuple(line[-1] for line in world.lines if "timers bgp" in line[-1]))


def content_with(wish: Wish, device: str) -> tuple[Any, ...]:
    del device
    return (*wish.mtu, wish.neighbor, (f"timers bgp {wish.keepalive} 9",))


# A runner


@dataclass(frozen=True, slots=True)
class RunnerClock:
    """The clock of all; whoever waits by it gives the turn away."""

    fleet: Fleet
    runner: str

    def monotonic(self) -> float:
        return self.fleet.monotonic()

    def sleep(self, seconds: float) -> None:
        self.fleet.wait(self.runner, seconds)


@dataclass
class RunnerSession(ProgramSession):
    """A session of one runner to one switch, by calls of the program."""

    fleet: Fleet = field(kw_only=True)

    def open(self) -> None:
        self._pause()
        self.is_open = True

    def log_in_again(self) -> None:
        self._pause()

    def run(self, command: str, timeout_s: float | None = None, data: bytes = b"") -> Completed:
        self._pause()
        if not self.is_open:
            raise ConnectionClosedException(f"{self.hostname}: the session is closed")
        fleet, world = self.fleet, self.fleet.worlds[self.hostname]
        world.advance(max(0.0, fleet.monotonic() - world.now))
        words = self.words(command)
        if self.is_cat(command):
            return self.call(world, command, words, data)
        fleet.actor = fleet.attempt_of[self.username]
        attempt = fleet.attempts[fleet.actor]
        if words[0] == "apply":
            attempt.applied.add(self.hostname)
        elif words[0] == "read" and self.hostname not in attempt.applied:
            attempt.read_at[self.hostname] = len(fleet.log[self.hostname])
        completed = self.call(world, command, words, data)
        said = f"{words[0]} {completed.exit_status}"
        fleet.story.append(f"{fleet.monotonic():.0f}: {self.username} to {self.hostname}: {said}")
        self._pause()
        if not self.is_open:
            raise ConnectionClosedException(f"{self.hostname}: the session was lost while {words[0]!r} ran")
        return completed

    def _pause(self) -> None:
        """Let others move; one step in some is a long sleep, after which the session may be gone."""
        rng = self.fleet.rng
        if rng.random() >= 0.06:
            self.fleet.wait(self.username, rng.choice((0.0, 0.0, 1.0)))
            return
        self.fleet.story.append(f"{self.fleet.monotonic():.0f}: {self.username} is frozen")
        self.fleet.wait(self.username, rng.choice(LONG_S))
        self.is_open = self.is_open and rng.random() < 0.5


class RunnerHost(Host):
    """A host of a runner's inventory whose connection is our driver over a ``RunnerSession``."""

    def get_connection(self, connection: str, configuration: Config) -> Any:
        if connection not in self.connections:
            opened = SonicDriver(str(self.hostname), str(self.username), "", 60, {"reload_poll": 1.0})
            opened.open()
            self.connections[connection] = cast(Any, opened)
        return self.connections[connection]

    def close_connection(self, connection: str) -> None:
        self.connections.pop(connection).close()


@dataclass
class WishJob:
    """One switch of a runner's rollout; ``wrong`` tells what its gate finds wrong by now."""

    wish: Wish
    expectation: Expectation
    before_sha256: str
    generation: Mapping[str, Any]
    wrong: Callable[[], bool]
    drain: tuple[str, ...] = ()
    disconnects: bool = True
    restores: bool = False

    @property
    def device(self) -> str:
        return self.expectation.device

    def read(self, driver: Any, which: str = "running") -> JobReading:
        running = running_of(driver, which)
        delta = self.wish.delta(self.device, running)
        sha256 = running_sha256(running, self.wish.config(self.device))
        return JobReading(running, sha256, DeviceDiff(delta), not delta, disconnects=True)

    def moved(self, found: JobReading) -> str:
        return "" if found.sha256 == self.before_sha256 else "changed since the plan was made; nothing was done"

    def snapshot(self, found: JobReading) -> Snapshot:
        return snapshot_before(found.delta, found.running, self.wish.config(self.device))

    def gate(self, seen: Observation, settled: Container[str], held: Health) -> tuple[VerifyCheck, ...]:
        return (VerifyCheck(self.device, CheckKind.LINK, "Ethernet0", "up", "down", not self.wrong()),)

    def routes(self, seen: Observation, settled: Container[str]) -> tuple[SessionRoutes, ...]:
        return ()


class NoGate:
    """The judge of a wave: none is refused."""

    fabric = cast(Any, SimpleNamespace(uplinks_of={}))

    def takes_away(self, wave: object) -> tuple[str, ...]:
        return ()

    def neighborhood(self, wave: object) -> tuple[str, ...]:
        return ()

    def violation(self, wave: object, failed: object, away: object) -> None:
        return None


@dataclass
class Runner:
    """A runner: plans, rolls out what it wishes, and tries again where nothing could be done."""

    fleet: Fleet
    name: str
    wishes: list[Wish]
    soak_s: float = 0.0
    wrong_in: str = ""
    """The step from which on the gate finds something wrong on the second switch: ``verifying``, ``soaking``, none."""
    fenced_plan: bool = True

    def work(self) -> None:
        for number, wish in enumerate(self.wishes):
            for again in range(3):
                attempt = Attempted(f"{self.name}-{number}-{again}", wish)
                self.fleet.attempts[attempt.name] = attempt
                self.fleet.attempt_of[self.name] = attempt.name
                if self._deploy(attempt):
                    break
                self.fleet.wait(self.name, 30.0)

    def _deploy(self, attempt: Attempted) -> bool:
        fleet, nr = self.fleet, self._nornir()
        step = [""]
        jobs = {}
        for device in DEVICES:
            job = self._planned(nr, attempt, device, partial(self._wrong, device, step))
            if job is None:
                return False
            jobs[device] = job
        policy = Policy(
            rollout=replace(Rollout(), workers=1, max_failures=1, revert_in_s=REVERT_IN_S, verify_timeout_s=2.0,
                            verify_interval_s=1.0, soak_s=self.soak_s),
            reconnect_s=5.0, message="resumed" if fleet.is_resumed else attempt.name,
            clock=RunnerClock(fleet, self.name),
        )  # fmt: skip

        def announce(event: Any) -> None:
            step[0] = str(event.step)

        context = RolloutContext(cast(Any, NoGate()), policy, announce=announce)
        attempt.result = roll_out(nr, cast(Any, jobs), [DEVICES], context)
        attempt.ended_at = {name: len(log) for name, log in fleet.log.items()}
        fleet.story.append(f"{fleet.monotonic():.0f}: {attempt.name}: {attempt.result}")
        return not attempt.result.stopped_by

    def _planned(self, nr: Nornir, attempt: Attempted, device: str, wrong: Callable[[], bool]) -> WishJob | None:
        """Read a switch and return what is to be done on it; None where it cannot be read, or a commit waits."""
        host = nr.inventory.hosts[device]
        for _ in range(3):
            try:
                driver = checked(host.get_connection("napalm", Config()), "SonicDriver")
                running = running_of(driver)
                break
            except ConnectionClosedException:
                host.close_connection("napalm")
        else:
            return None
        assert driver.last_reading is not None
        status = driver.last_reading.status
        if status.pending:
            return None
        sha256 = running_sha256(running, attempt.wish.config(device))
        number = int(status.generation.get("number") or 0)
        generation = {"was": number, "now": {"digest": attempt.name}} if self.fenced_plan else {}
        return WishJob(attempt.wish, Expectation(device, (), (), (), ()), sha256, generation, wrong)

    def _wrong(self, device: str, step: list[str]) -> bool:
        later = ("soaking", "soaked", "rolling-back")
        if not self.wrong_in or device != DEVICES[1]:
            return False
        return self.wrong_in == "verifying" or step[0] in later

    def _nornir(self) -> Nornir:
        hosts = Hosts({name: RunnerHost(name, hostname=name, username=self.name) for name in DEVICES})
        return Nornir(inventory=Inventory(hosts, Groups(), Defaults()), runner=FabricRunner(1), config=Config())


def run_seed(seed: int, patched: pytest.MonkeyPatch) -> Fleet:
    """Let two or three runners work as the seed says, and judge; raises LostWorkError."""
    fleet = Fleet(seed)
    rng = fleet.rng

    def session(hostname: str, username: str, password: str, timeout_s: float, options: Any) -> Session:
        return RunnerSession(hostname, username, password, timeout_s, clock=RunnerClock(fleet, username), fleet=fleet)

    patched.setattr(driver_module, "_new_session", session)
    runners = {}
    for number in range(rng.choice((2, 2, 3))):
        wishes = [rng.choice(WISHES) for _ in range(rng.choice((1, 1, 2)))]
        soak_s = rng.choice((0.0, 0.0, 20.0))
        wrong_in = rng.choice(("", "", "verifying", "soaking"))
        name = f"runner{number}"
        runners[name] = Runner(fleet, name, wishes, soak_s, wrong_in, rng.random() < 0.7)
    if rng.random() < 0.4:
        device = rng.choice(DEVICES)
        fleet.worlds[device].at(fleet.monotonic() + rng.uniform(1.0, 300.0), lambda: do_by_hand(fleet, device))
    fleet.run({name: runner.work for name, runner in runners.items()})
    fleet.judge()
    return fleet


def do_by_hand(fleet: Fleet, device: str) -> None:
    """Let an operator write a field and a line of FRR that no runner wishes."""
    world = fleet.worlds[device]
    if world.holder is not None:  # what comes while lines are applied cannot be told from these
        world.at(world.now + 1.0, lambda: do_by_hand(fleet, device))
        return
    world.rows["PORT|Ethernet4"]["description"] = HAND
    world.frr_line(HAND_LINE)
    fleet.by_hand.add(device)
    fleet.story.append(f"{world.now:.2f}: {device}: changed by hand")
