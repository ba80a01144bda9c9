"""One chaos trial: a rollout whose process is struck, beside another one, or on switches that misbehave.

The process is killed, ended, or loses its disk at a call about its records; another clone deploys at the same time;
switches reboot, are changed by hand, are slow or answer garbage. It is judged as every seeded rollout is: by what the
switches hold and by what happened on them. Beside that the journal must say the same as the switches.
"""

import contextlib
import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from frozen_command import Overtaken, Store, overtaken
from rollout_bench import Ended, Operator, attempt
from rollout_faults import MOST_COMMANDS, MOST_TALKED, Faults, Strike, late_daemon, lie
from rollout_oracle import unlike_before, unlike_wanted
from rollout_shapes import Shape, changed, changed_in_place
from rollout_trial import Bench, Trial
from syscall_strikes import strike_at

from nornir_railweave.rollout.rollouts import rollouts

KINDS = ("kill", "term", "term twice", "full disk", "read-only disk", "two clones", "reboots", "by hand", "slow",
         "garbage", "kill and reboot", "kill and by hand", "foreign commit", "replayed answer",
         "frozen runner", "false answer", "lying command", "late daemon", "daemon dies",
         "kill and daemon dies")  # fmt: skip
"""``replayed`` and ``false answer`` are of the switch's program, ``lying command`` of a command of SONiC."""
Details = tuple[tuple[str, Any], ...]
MOMENTS = ("before", "within", "after")
_OF_SOME = {
    "reboots": "power-cycle",
    "kill and reboot": "power-cycle",
    "replayed answer": "replay",
    "daemon dies": "daemon-dies",
    "kill and daemon dies": "daemon-dies",
}
"""Kinds that strike some switches, by the fault that these then have."""
SOME = (1, 1, 2)
MOST_CALLS = 120
"""A rollout makes about so many calls about its records."""
GARBAGE = ("", "\x00\xff\n", "{", "[]\n", '{"version": 1}\n', '{"version": 1, "outcome": "applied"}\n',
           "Connection reset\n",
           '{"version": 1, "outcome": {"a": [1]}, "status": 7}\n', "{" * 4000, "\x1b[2J\x1b]0;x\x07",
           "null\n")  # fmt: skip
DISK_BYTES = 512 * 1024


def with_disks() -> None:
    """Start this program again where it may mount disks of its own, if this machine allows that."""
    if "CHAOS_DISKS" in os.environ or not shutil.which("unshare"):
        return
    words = ["unshare", "--map-root-user", "--mount"]
    if subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0:
        os.execvpe("unshare", [*words, sys.executable, *sys.argv], {**os.environ, "CHAOS_DISKS": "yes"})


@dataclass(frozen=True, slots=True)
class Disk:
    """The disk of a project's journals: one of its own where that can be mounted."""

    folder: Path

    def mount(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if "CHAOS_DISKS" in os.environ:
            words = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(self.folder)]
            subprocess.run(words, check=True)

    @property
    def mounted(self) -> bool:
        """Tell whether the disk is one of its own, which can be filled."""
        return self.folder.is_mount()

    def fill(self) -> None:
        with contextlib.suppress(OSError), (self.folder / "ballast").open("wb", buffering=0) as ballast:
            while ballast.write(b"\1" * 4096):
                pass

    def free(self) -> None:
        (self.folder / "ballast").unlink(missing_ok=True)


class ChaosBench(Bench):
    """A bench whose journals lie on a disk of their own, with a second clone of the project."""

    def __init__(self, folder: Path, shape: Shape) -> None:
        super().__init__(folder, shape)
        self.disk = Disk(self.base.journals)
        shutil.rmtree(self.base.journals)
        self.disk.mount()
        self.clone = folder / "clone"
        (self.clone / ".railweave").mkdir(parents=True)
        (self.clone / ".railweave" / "sim").symlink_to(folder / ".railweave" / "sim")

    def go_back(self) -> None:
        self.disk.free()
        shutil.rmtree(self.clone / ".railweave" / "journal", ignore_errors=True)
        super().go_back()


@dataclass(slots=True)
class ChaosTrial(Trial):
    """The trial of one seed: the process is struck at its ``call``-th call about its records, at a ``moment`` of it."""

    bench: ChaosBench
    call: int = 0
    moment: str = ""
    other: Operator | None = None
    overtaken: Overtaken | None = None
    store: Store | None = None

    def _prepare(self) -> None:
        super(ChaosTrial, self)._prepare()
        rng, kind = self.rng, self._kind()
        self.call, self.moment = rng.randint(1, MOST_CALLS), rng.choice(MOMENTS)
        self.told.faults = f"{self.faults}, at call {self.call} {self.moment}"
        if kind == "frozen runner":
            self._wish_twice()
        if kind == "two clones":
            base = self.bench.shape.base
            wish, changes = changed(base, rng)
            wish = replace(wish, stripes=base.stripes, spines=base.spines)  # it names no switch that the first lacks
            self.told.changes += tuple(f"clone: {one}" for one in changes)
            self.other = Operator(self.bench.clone, self.bench.shape, wish, self.operator.pace)
            self.other.raise_the_hardware()
            self.before = self.bench.held()

    def _kind(self) -> str:
        return KINDS[self.seed % len(KINDS)]

    def _chosen(self, kind: str, devices: list[str]) -> Faults:
        return Faults(kind, tuple(self._strikes(kind, sorted(self.before))))

    def _wish_twice(self) -> None:
        """Let two clones wish other values of the same switches: neither refuses what the other one brings."""
        base, told = self.bench.shape.base, self.told
        (first, told.changes), (second, changes) = changed_in_place(base, self.rng), changed_in_place(base, self.rng)
        told.changes += tuple(f"clone: {one}" for one in changes)
        self.operator = Operator(self.bench.folder, self.bench.shape, first, self.operator.pace)
        self.other = Operator(self.bench.clone, self.bench.shape, second, self.operator.pace)
        self.changed = frozenset(self.operator.plan().deltas)

    def _strikes(self, kind: str, devices: list[str]) -> Iterator[Strike]:
        rng = self.rng
        if kind in _OF_SOME:
            yield from self._some(_OF_SOME[kind], devices)
        elif kind in ("by hand", "kill and by hand"):
            yield from self._by_hand("write", devices)
        elif kind == "foreign commit":
            yield from self._by_hand("commit", devices)
        elif kind == "slow":
            yield from map(self._slow, devices)
        elif kind == "garbage":
            yield from self._some("garbage", devices, lambda: (("text", rng.choice(GARBAGE)),))
        elif kind == "false answer":
            yield from self._some("false", devices, lambda: (("done", rng.random() < 0.5),))
        elif kind == "lying command":
            yield from (lie(device, rng) for device in rng.sample(devices, rng.choice(SOME)))
        elif kind == "late daemon":
            yield from (late_daemon(device, rng) for device in self.reloading)

    def _some(self, kind: str, devices: list[str], details: Callable[[], Details] = tuple) -> Iterator[Strike]:
        """Give faults that strike some switches at a command each."""
        for device in self.rng.sample(devices, self.rng.choice(SOME)):
            yield Strike(device, kind, self.rng.randint(1, MOST_COMMANDS), details())

    def _by_hand(self, kind: str, devices: list[str]) -> Iterator[Strike]:
        """Give rows that somebody else writes (``write``) or commits (``commit``) on some switches."""
        rng = self.rng
        for device in rng.sample(devices, rng.choice((1, 2))):
            ports = sorted(self.before[device]["rows"].get("DEVICE_NEIGHBOR", {}))
            rows = {f"NTP_SERVER|203.0.113.{rng.randrange(250)}": {"iburst": "on"}}
            if kind == "write" and ports and rng.random() < 0.6:
                rows[f"DEVICE_NEIGHBOR|{rng.choice(ports)}"] = {"name": "by-hand", "port": "eth9"}
            self.by_hand[device] = rows
            yield Strike(device, kind, rng.randint(1, MOST_COMMANDS), (("rows", rows),))

    def _slow(self, device: str) -> Strike:
        seconds, times = self.rng.choice((0.1, 0.3, 1.0)), self.rng.choice((1, 4))
        return Strike(device, "slow", 0, (("seconds", seconds), ("times", times)))

    # --- during

    def _roll_out(self) -> Ended:
        for strike in self.faults.strikes:
            strike.arm(self.bench.fabric)
        kind, deploy = self.faults.kind, self.operator.deploy
        disk = self.bench.disk
        if kind.startswith("kill"):
            return self._struck(lambda: os.kill(os.getpid(), signal.SIGKILL))
        if kind == "term":
            return self._struck(self._end)
        if kind == "term twice":
            return self._struck(lambda: [self._end(), self._end()])
        if kind == "full disk":
            return self._struck(disk.fill if disk.mounted else lambda: errno.ENOSPC)
        if kind == "read-only disk":
            return self._struck(lambda: errno.EROFS)
        if kind == "frozen runner" and self.other is not None:
            return self._frozen(self.other)
        if self.other is not None:
            return self._beside(self.other)
        return attempt(deploy)

    def _frozen(self, other: Operator) -> Ended:
        """Deploy by the command; a switch's command stops that runner, and another clone deploys before it goes on."""
        store = self.store or Store()
        device, after = self.rng.choice(sorted(self.changed)), self.rng.randint(1, MOST_TALKED)
        self.told.faults = f"frozen at command {after} of {device}, journals {store.name}"
        self.overtaken = overtaken(self.bench.fabric, self.operator, other, store, device, after)
        self.told.faults += f"; {self.overtaken}"
        return Ended(word=f"exit status {self.overtaken.first_ended}")

    @staticmethod
    def _end() -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    def _struck(self, strike: Callable[[], object]) -> Ended:
        """Roll out in a process of its own that is struck at a call about its records."""

        def work() -> Ended:
            signal.signal(signal.SIGTERM, signal.default_int_handler)
            strike_at(self.bench.base.journals.parent, self.call, self.moment, strike)
            return attempt(self.operator.deploy)

        return _apart(work)()

    def _beside(self, other: Operator) -> Ended:
        """Roll out beside the deployment of another clone."""
        waits = _apart(lambda: attempt(other.deploy))
        ended = attempt(self.operator.deploy)
        theirs = waits()
        self.told.faults += f"; the other clone: {theirs.refused or 'ended'}"
        return ended

    # --- after

    def _judge(self, ended: Ended) -> None:
        self.bench.disk.free()
        if self.overtaken is not None:
            self._judge_successor(self.overtaken)
        if self.other is not None:
            self._judge_both()
            return
        super(ChaosTrial, self)._judge(ended)
        self._journal_agrees()

    def _journal_agrees(self) -> None:
        """What the journal says has ended is so on the switch."""
        now = self.bench.held()
        for rollout in rollouts(self.operator.journals):
            for name, record in rollout.devices.items():
                if record.outcome in ("new", "old"):
                    self._stands(name, now[name], new=record.outcome == "new", said=f"the journal ({record})")

    def _judge_successor(self, overtaken: Overtaken) -> None:
        """What the second runner confirmed while the first one slept stands as it left it, running and saved."""
        assert self.other is not None
        assert overtaken.second_ended == 0, f"the second runner did not end well: {overtaken.second_said}"
        self.bench.fabric.ask("pass_time")
        now = self.bench.held()
        for name in overtaken.confirmed:
            if self._was_planned_after(self.other, name):
                continue
            then = overtaken.then[name]
            wrong = [*self._unlike(now[name], self.other, name), *unlike_before(now[name], then, {})]
            assert not wrong, f"{name} is not as the second runner left it: {wrong[:6]}"
            assert now[name]["boots"] == then["boots"], f"{name} would not boot what the second runner saved"

    def _was_planned_after(self, second: Operator, name: str) -> bool:
        """Tell whether the first runner, stopped while it planned, read a device when the second one had ended.

        Its change is a later one then, and undoes nothing unseen.
        """
        read = {one.devices[name].before_sha256 for one in rollouts(self.operator.journals) if name in one.devices}
        left = {one.devices[name].after_sha256 for one in rollouts(second.journals) if name in one.devices}
        return bool((read & left) - {""})

    def _judge_both(self) -> None:
        """Every device is as before, as one clone wants it, or as the other; which timers are due has struck."""
        assert self.other is not None
        self.told.ended = "both ended"
        self.bench.fabric.ask("pass_time")
        now = self.bench.held()
        for name, one in now.items():
            if name in self.operator.fabric.switch_of and name in self.other.fabric.switch_of:
                theirs = self._without_hand(name, list(self._unlike(one, self.other, name)))
                wrong = [self._unlike_old(name, one), self._unlike_new(name, one), theirs]
                assert not all(wrong), f"{name} is of no clone: {[part[:3] for part in wrong]}"
        self._keeps_foreign(now)

    def _follow(self) -> None:
        # What two rollouts that know nothing of each other disturb at once no policy of one of them bounds.
        if self.other is None:
            super(ChaosTrial, self)._follow()

    def _bring_to_one_state(self, ended: Ended) -> None:
        if self.other is None and not self.by_hand:
            super(ChaosTrial, self)._bring_to_one_state(ended)
            return
        self.bench.fabric.ask("heal")
        self._go_on_after_others()

    @staticmethod
    def _unlike(now: Mapping[str, Any], operator: Operator, name: str) -> list[str]:
        return unlike_wanted(now, operator.intended(name))


def _apart(work: Callable[[], Ended]) -> Callable[[], Ended]:
    """Start ``work`` in a process of its own, and return what waits for its end; only a refusal comes back as words."""
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        told = {"fault": "it never ended"}
        raw_write = os.write
        try:
            os.close(receiver)
            ended = work()
            told = {"refused": ended.refused, "word": ended.result.result.value if ended.result else ""}
        except KeyboardInterrupt:
            told = {"refused": "interrupted", "word": ""}
        except BaseException as fault:
            told = {"fault": f"{type(fault).__name__}: {fault}"}
        finally:
            raw_write(sender, json.dumps(told).encode())
            os._exit(0)
    os.close(sender)

    def wait() -> Ended:
        with os.fdopen(receiver, "rb") as answer:
            answered = answer.read()
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            return Ended(killed_at=1)
        found = json.loads(answered)
        assert "fault" not in found, found
        return Ended(refused=found["refused"], word=found["word"])

    return wait


def seeded(seed: int) -> random.Random:
    return random.Random(f"chaos/{seed}")
