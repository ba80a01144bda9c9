"""A change in phases on switches of their own clock, deployed by runs that are killed or frozen at any step.

All in one process: the switches are ``virtual_switch.World``, each with the real program and every rendered row. A run
that is killed leaves what switches, nodes and journals are at a step: copies of them, which the next run finds. GPU
nodes and cables are played; after every step each switch must serve what each node sends.
"""

import copy
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from capacity_race import peers_drained
from frozen_runners import FleetWorld
from napalm.base.exceptions import ConnectionClosedException
from program_session import ProgramSession
from virtual_switch import STATE, Killed, encoded, frr_lines

from napalm_sonic import driver as driver_module
from napalm_sonic.clock import SystemClock
from napalm_sonic.session import Completed, Session
from nornir_railweave.rollout.journal import Journal
from nornir_railweave.rollout.node_log import NodeLog
from nornir_railweave.target import runner
from railweave.api import hosts
from railweave.api.deployment import phases as phased
from railweave.api.deployment import resumption
from railweave.api.design import revisions
from railweave.api.operator import Operator
from railweave.api.project import Project
from railweave.api.targets import fabric as live
from railweave.api.targets import phases as phasing
from railweave.api.targets.phases import LivePhases
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.hosts.outcome import ChangeKind, HostChange, HostResult, HostState
from railweave.plan.consent import DeployOptions
from railweave.plan.expectation import VerificationScope
from railweave.plan.model import DeviceState
from railweave.plan.phases.progress import PhasedResult, PhaseStep, Waiting
from railweave.sonic.render.configure import Configurator
from railweave.sonic.rows import DeviceConfig
from railweave.templates import find_templates
from railweave_hosts import rollout as hosts_rollout

BASE = """
fabric: weave
workload: {kind: inference}
hosts: {manage: true}
nodes:
  - {name: gpu, count: 2, gpus: 2, nics: {count: 2, speed: 100G, ports: 1, model: connectx-6, pcie: gen4x16}}
topology:
  shape: rail-optimized
  oversubscription: "7:1"
  leaf:  {model: sonic-vs, count: 2}
  spine: {model: sonic-vs, count: 2}
"""
MARKING = """
traffic_classes:
  - {name: roce, role: rdma, dscp: [24], lossless: true, priority: 4, share: 90}
  - {name: cnp, role: cnp, dscp: [48], priority: 6, strict: true}
  - {name: best-effort, role: bulk, dscp: default, priority: 0, share: 10}
"""
SPINES = BASE.replace("spine: {model: sonic-vs, count: 2}", "spine: {model: sonic-vs, count: 4}")
CHANGES = {"marking": BASE + MARKING, "spines": SPINES, "both": SPINES + MARKING}
"""Another marking, which goes to switches, nodes and switches; new spines, to which cables move; both."""
TARGET = """
source: addresses
driver: sonic
address: "{name}"
ssh: {username: runner, password_env: RUNNER_PASSWORD, strict: false}
rollout: {workers: 1, revert_in: 60, verify_timeout: 2, verify_interval: 1, drain_timeout: 1}
timeouts: {connect: 5, reconnect: 5}
hosts:
  address: "{name}"
  batches: {canary: 1, size: 1}
"""
PRINTED_NO = frozenset({"no bgp default ipv4-unicast"})
SINGLE = (" description ", " maximum-prefix ")
"""Settings of a neighbor of which FRR keeps the last one."""
STATE_DIR = ".railweave"
ATTEMPTS = 20
"""More runs than a change has phases."""


class SiteWorld(FleetWorld):
    """A switch whose FRR prints some lines that begin with "no", and drops with a line what hangs on it."""

    def frr_line(self, line: tuple[str, ...]) -> None:
        *block, words = line
        if words in PRINTED_NO:
            self.lines += [line] if line not in self.lines else []
        elif words.startswith("no "):
            gone, place = words.removeprefix("no ").partition(" remote-as ")[0], len(block)
            self.lines = [
                one
                for one in self.lines
                if [*one[:place]] != block or len(one) <= place or not f"{one[place]} ".startswith(f"{gone} ")
            ]
        else:
            for key in SINGLE:
                start = f"{words.partition(key)[0]}{key}"
                if key in words:
                    self.lines = [one for one in self.lines if one[:-1] != line[:-1] or not one[-1].startswith(start)]
            super().frr_line(line)


class InlinePool:
    """Stands for the runner's threads: whatever is submitted is done at once."""

    def __init__(self, workers: int, **how: Any) -> None:
        """Start nothing."""

    def submit(self, act: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        done: Future[Any] = Future()
        done.set_result(act(*arguments))
        return done

    def shutdown(self, **how: Any) -> None:
        """Wait for nobody."""


class PhaseError(AssertionError):
    """A phase began too early, or what nodes send is lost."""


@dataclass
class Moment:
    """What switches, nodes, cables and journals are at a step."""

    where: str
    worlds: dict[str, SiteWorld]
    nodes: dict[str, bytes]
    moved: set[int]
    journals: Path


class Site(Operator):
    """The switches, the nodes and the cables of a change, and the person who deploys it."""

    def __init__(self, folder: Path, patched: pytest.MonkeyPatch, head: str) -> None:
        self.folder = folder
        self._patched = patched
        self.worlds: dict[str, SiteWorld] = {}
        self.nodes: dict[str, bytes] = {}
        self.moved: set[int] = set()
        self.at: Callable[[str], None] = _on
        self.story: list[str] = []
        self.ends_at = ""
        for name, text in (("intent/weave.yml", head), ("base.yml", BASE), ("inventory/dc.yml", TARGET)):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        patched.chdir(folder)
        patched.setenv("RUNNER_PASSWORD", "unused")
        patched.delenv("RAILWEAVE_JOURNALS", raising=False)
        self.project = Project(Path("intent/weave.yml"), self)
        self.change = revisions.phased_change(self.project, "base.yml")
        self._patch(patched)
        self._start()

    def _patch(self, patched: pytest.MonkeyPatch) -> None:
        patched.setattr(SystemClock, "monotonic", lambda clock: self.monotonic())
        patched.setattr(SystemClock, "sleep", lambda clock, seconds: self.sleep(seconds))

        def session(hostname: str, username: str, password: str, timeout_s: float, options: Any) -> Session:
            return SiteSession(hostname, username, password, timeout_s, site=self)

        patched.setattr(driver_module, "_new_session", session)
        patched.setattr(runner, "ThreadPoolExecutor", InlinePool)
        on_nornir = live.on_nornir

        def unwatched(designed: Any, chosen: Any, nornir: Any, shown: Any, scope: Any) -> Any:
            return on_nornir(designed, chosen, nornir, shown, VerificationScope(only=frozenset()))

        patched.setattr(live, "on_nornir", unwatched)
        patched.setattr(LivePhases, "missing_cables", lambda phases, number: self.missing_cables(number))
        change = self.change
        for module in (phasing, hosts):
            patched.setattr(module, "phased_change", lambda project, base: change)
        write, note = Journal.__call__, NodeLog.note

        def written(journal: Journal, event: Any) -> None:
            self.step(f"before the journal has {event.step}")
            write(journal, event)
            self.step(f"the journal has {event.step}")

        def noted(log: NodeLog, step: str, nodes: Sequence[str]) -> None:
            self.step(f"before {step} of nodes is noted")
            note(log, step, nodes)
            self.step(f"{step} of nodes is noted")

        patched.setattr(Journal, "__call__", written)
        patched.setattr(NodeLog, "note", noted)
        patched.setattr(hosts_rollout, "run_role", self.run_role)
        patched.setattr(hosts_rollout.HostRollout, "_bundles", _bundles)

    def _start(self) -> None:
        before = self.change.before
        for switch in self.change.phases[-1].fabric.switches:
            self.worlds[switch.name] = world = SiteWorld()
            localhost = {
                "platform": switch.panel.platform,
                "mac": "02:00:00:00:00:01",
                "hostname": "sonic",
                "hwsku": "S",
            }
            tables: dict[str, Any] = {"DEVICE_METADATA": {"localhost": localhost}}
            if switch.name in before.switch_of:
                config = configs_of(before)[switch.name]
                rendered = config.config_db()
                tables = {
                    **rendered,
                    "DEVICE_METADATA": {"localhost": {**localhost, **rendered["DEVICE_METADATA"]["localhost"]}},
                }
                world.lines = list(frr_lines(config.frr))
            world.rows = {f"{table}|{key}": encoded(row) for table, rows in tables.items() for key, row in rows.items()}
            world.save()
            world.on_write = partial(self._written, switch.name)
        self.nodes = {one.name: _values_of(before, before) for one in before.hosts}

    # Time and steps

    def monotonic(self) -> float:
        return max(world.now for world in self.worlds.values())

    def sleep(self, seconds: float) -> None:
        until_s = self.monotonic() + max(0.0, seconds)
        for world in self.worlds.values():
            world.advance(max(0.0, until_s - world.now))
        self.judge("a while later")

    def step(self, where: str, *, changes: bool = False) -> None:
        """One step of a run; ``changes`` tells that switches or nodes may be others than before it."""
        if changes:
            self.judge(where)
        self.at(where)

    def moments(self, chosen: Callable[[int], bool], last: int = 0) -> list[Moment]:
        """Carry the change through, or to its step ``last``, and return what runs leave that are killed at the steps
        chosen."""
        found: list[Moment] = []
        steps = 0

        def at(where: str) -> None:
            nonlocal steps
            steps += 1
            if chosen(steps):
                found.append(self._moment(steps, where))
            if steps == last:
                raise Killed

        self.at = at
        with suppress(Killed):
            self.finish()
            self.require_done()
        self.at = _on
        return found

    def begin(self, phase: int) -> None:
        """Carry the change through until a phase begins, and leave it there."""
        self.ends_at = f"phase {phase} of "
        with suppress(Killed):
            self.finish()
        self.ends_at = ""

    def _moment(self, number: int, where: str) -> Moment:
        journals = self.folder / f"killed-{number}"
        if (self.folder / STATE_DIR).is_dir():
            shutil.copytree(self.folder / STATE_DIR, journals)
        worlds = copy.deepcopy(self.worlds, {id(self): self})
        return Moment(f"killed at step {number}, {where}", worlds, dict(self.nodes), set(self.moved), journals)

    def restore(self, moment: Moment) -> None:
        """Let everything be as it was at a moment, to which nobody comes back a second time."""
        self.worlds, self.nodes, self.moved = (
            copy.deepcopy(moment.worlds, {id(self): self}),
            dict(moment.nodes),
            set(moment.moved),
        )
        self.story = [moment.where]
        shutil.rmtree(self.folder / STATE_DIR, ignore_errors=True)
        if moment.journals.is_dir():
            shutil.copytree(moment.journals, self.folder / STATE_DIR)

    def beside(self, sleeps_at: int, journals: str) -> tuple[int, bool]:
        """Let a run sleep at a step while another one does all that it can, with journals of its own or the same ones;
        return how many steps the sleeper took, and whether the other one ended the change."""
        steps, is_ended = 0, False

        def at(where: str) -> None:
            nonlocal steps, is_ended
            steps += 1
            if steps != sleeps_at:
                return
            self.at = _on
            self.story.append(f"asleep at step {steps}, {where}")
            with self._patched.context() as other:
                if journals:
                    other.setenv("RAILWEAVE_JOURNALS", journals)
                is_ended = self.attempt()
            self.story.append(f"awake, the other one ended: {is_ended}")
            self.at = at

        self.at = at
        self.attempt()
        self.at = _on
        return steps, is_ended

    # Judging

    def _written(self, device: str, path: str, data: bytes) -> None:
        if path == STATE:
            self.judge(f"{device} writes its state")

    def judge(self, where: str) -> None:
        """Raise PhaseError where a switch does not serve what a node sends, or two spines are drained."""
        sent = {dscp for values in self.nodes.values() for dscp in json.loads(values)["sends"]}
        for name in self.change.before.switch_of:
            if lost := sent - served(self.worlds[name]):
                self.fail(f"{where}: {name} does not serve {lost}")
        for values in self.nodes.values():
            if lost := sent - set(json.loads(values)["accepts"]):
                self.fail(f"{where}: a node does not accept {lost}")
        spines = [one.name for one in self.change.before.switches if one.name.startswith("weave-spine")]
        if len(out := [name for name in spines if peers_drained(tuple(self.worlds[name].lines))]) > 1:
            self.fail(f"{where}: {out} are drained at once")

    def fail(self, why: str) -> None:
        raise PhaseError("\n".join([why, *self.story]))

    def waiting(self) -> list[str]:
        return [name for name, world in self.worlds.items() if is_pending(world)]

    # People

    def tell(self, note: str) -> None:
        self.story.append(note)
        if self.ends_at and note.startswith(self.ends_at):
            raise Killed
        if note.startswith("phase ") and (waiting := self.waiting()):
            self.fail(f"{note!r} while {waiting} await a confirmation")

    def finished(self, step: PhaseStep) -> None:
        self.story.append(f"phase {step.phase.number} ends: {step.ok}, {str(step.result)[:300]}")
        if step.ok:
            self.require_confirmed(step.phase.number, "is finished")

    def require_confirmed(self, number: int, what: str) -> None:
        if waiting := self.waiting():
            self.fail(f"phase {number} {what} while {waiting} await a confirmation")

    def missing_cables(self, number: int) -> Waiting | None:
        missing = [one for one in self.change.phases[:number] if one.cables and one.number not in self.moved]
        return Waiting(missing[0], missing[0].cables) if missing else None

    def run(self, *, nodes_done: bool = False) -> PhasedResult:
        options = DeployOptions(provision=True, nodes_done=nodes_done)
        return phased.deploy_phases(self.project, "dc", options, base="base.yml")

    def finish(self, *, resume: bool = False) -> None:
        """Run the command, to resume first where so asked, until it is all done, and do what it waits for meanwhile."""
        if resume:
            try:
                result = resumption.resume(self.project, "dc", DeployOptions(provision=True))
                self.story.append(f"resumed: {str(result)[:200]}")
            except RefusedError as refused:
                self.story.append(f"not resumed: {refused}")
        if not self.attempt():
            self.fail("it never ends")

    def attempt(self) -> bool:
        """Run the command again and again; tell whether all is done in the end."""
        nodes_done = False
        for _ in range(ATTEMPTS):
            try:
                done = self.run(nodes_done=nodes_done)
            except RefusedError as refused:
                self.story.append(f"refused: {refused}")
                self.sleep(50.0)
                continue
            if done.waiting is None and done.ok:
                return True
            if done.waiting is None:
                continue
            self.story.append(f"waits after phase {done.waiting.phase.number}")
            self.require_confirmed(done.waiting.phase.number, "waits for people")
            if done.waiting.cables:
                self.moved.add(done.waiting.phase.number)
            nodes_done = not done.waiting.cables
        return False

    def require_done(self) -> None:
        """Raise PhaseError where anything is not as the head says, or will not stay so."""
        self.sleep(1000.0)
        fabric = self.change.phases[-1].fabric
        everyone = live.live_fabric(self.project, "dc")
        with everyone.connected():
            plan = everyone.plan()
        if {one.state for one in plan.devices.values()} != {DeviceState.UNCHANGED}:
            self.fail(f"the plan is not empty: {[(name, one.state) for name, one in plan.devices.items()]}")
        wanted = _values_of(fabric, fabric)
        if {*self.nodes.values()} != {wanted}:
            self.fail(f"nodes are {self.nodes}")

    # Nodes

    def run_role(
        self, access: Any, inventory: Mapping[str, Any], bundles: Mapping[str, bytes], *, check: bool, **how: Any
    ) -> tuple[HostResult, ...]:
        """Stand for ansible-runner."""
        results = []
        for name in inventory:
            self.step(f"before {name} is {'read' if check else 'changed'}")
            same = self.nodes[name] == bundles[name]
            if not check and not same and how.get("part", "change") == "change":
                if waiting := self.waiting():
                    self.fail(f"{name} is changed while {waiting} await a confirmation")
                self.nodes[name] = bundles[name]
                self.story.append(f"{name} becomes {bundles[name].decode()}")
                self.step(f"{name} is changed", changes=True)
            change = HostChange(ChangeKind.SETTING, "nic", "marking", "old", "new")
            state = HostState.UNCHANGED if same else HostState.CHANGED
            results.append(HostResult(name, state, () if same else (change,)))
        return tuple(results)


def _on(where: str) -> None:
    """Go on."""


def _values_of(accepts: Fabric, sends: Fabric) -> bytes:
    return json.dumps({"accepts": _markings(accepts), "sends": _markings(sends)}).encode()


def _markings(fabric: Fabric) -> list[str]:
    return sorted(str(dscp) for one in fabric.policies.classes if one.lossless for dscp in one.dscp)


def _bundles(rollout: Any, asked: Sequence[Any], **how: Any) -> dict[str, bytes]:
    renderer = rollout._renderer
    return {one.name: _values_of(renderer.fabric, renderer._sends) for one in asked}


def is_pending(world: SiteWorld) -> bool:
    state = json.loads(world.files.get(STATE, b"{}"))
    return state.get("status") not in (None, "none", "confirmed", "reverted")


def served(world: SiteWorld) -> set[str]:
    """Return the code points that the ports of a switch carry without loss."""
    maps = [row for key, row in world.rows.items() if key.startswith(("DSCP_TO_TC_MAP|", "PORT_QOS_MAP|Ethernet"))]
    lossless = {priority for row in maps for priority in row.get("pfc_enable", "").split(",")}
    return {dscp for row in maps for dscp, priority in row.items() if dscp.isdigit() and priority in lossless}


def configs_of(fabric: Fabric) -> dict[str, DeviceConfig]:
    configurator = Configurator(fabric, find_templates())
    return {switch.name: configurator.device(switch) for switch in fabric.switches}


@dataclass
class SiteSession(ProgramSession):
    """A session to one switch, by calls of the program; each has a step before and one after it."""

    site: Site = field(kw_only=True)

    def open(self) -> None:
        self.site.step(f"before a session to {self.hostname}")
        self.is_open = True

    def log_in_again(self) -> None:
        self.site.step(f"before a session to {self.hostname}")

    def run(self, command: str, timeout_s: float | None = None, data: bytes = b"") -> Completed:
        site = self.site
        words = self.words(command)
        site.step(f"before {words[0]} of {self.hostname}")
        if not self.is_open:
            raise ConnectionClosedException(f"{self.hostname}: the session is closed")
        world = site.worlds[self.hostname]
        world.advance(max(0.0, site.monotonic() - world.now))
        completed = self.call(world, command, words, data)
        site.step(f"{words[0]} of {self.hostname} has ended", changes=words[0] not in ("read", "observe"))
        return completed
