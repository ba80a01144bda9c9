"""One seeded rollout from beginning to end: a change, faults, what came of it, and the way to one state again."""

import random
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rollout_bench import Ended, Operator, Pace, WatchedFabric, attempt, frozen, killed
from rollout_faults import KINDS, Faults, chosen_faults
from rollout_oracle import Floors, lost_foreign, unlike_before, unlike_booted, unlike_wanted
from rollout_shapes import Shape, changed

from railweave.plan.outcome import Outcome, Result
from railweave.plan.policy import RolloutPolicy, Share

SHARES = (1, 1, 2, "50%")


class BrokenError(AssertionError):
    """Something that must be true of every rollout was not."""


class Bench:
    """A shape's fabric, deployed once, to which every trial of the shape goes back."""

    def __init__(self, folder: Path, shape: Shape) -> None:
        self.folder = folder
        self.shape = shape
        self.fabric = WatchedFabric(folder / ".railweave" / "sim" / shape.name)
        self.base = Operator(folder, shape, shape.base, Pace({"verify_timeout": 5}))
        self.base.raise_the_hardware()
        first = self.base.deploy()
        assert first is not None
        assert first.ok, first
        self.fabric.ask("keep")

    def held(self) -> dict[str, Any]:
        return dict(self.fabric.ask("held")["devices"])

    def go_back(self) -> None:
        self.fabric.ask("go_back")
        shutil.rmtree(self.base.journals, ignore_errors=True)

    def close(self) -> None:
        self.fabric.close()


@dataclass(slots=True)
class Told:
    """What one trial was and how it went, for the counts."""

    seed: int
    shape: str
    changes: tuple[str, ...] = ()
    faults: str = ""
    fault_kind: str = ""
    ended: str = ""
    way: str = ""
    outcomes: tuple[str, ...] = ()
    most_out: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Trial:
    """The rollout of one seed."""

    bench: Bench
    seed: int
    told: Told = field(init=False)
    rng: random.Random = field(init=False)
    operator: Operator = field(init=False)
    before: dict[str, Any] = field(init=False)
    faults: Faults = field(init=False)
    policy: RolloutPolicy = field(init=False)
    floors: Floors = field(init=False)
    changed: frozenset[str] = field(init=False)
    reloading: tuple[str, ...] = ()
    by_hand: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Rows that others write or commit in between, by switch: they are as they say, or not there yet."""
    committed: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Those that another client has confirmed: nobody may undo them."""

    def run(self) -> Told:
        """Carry it out. Raises BrokenError that names the seed and all that it chose."""
        begun = time.monotonic()
        self.told = Told(self.seed, self.bench.shape.name)
        try:
            self._prepare()
            ended = self._roll_out()
            self._judge(ended)
            self._bring_to_one_state(ended)
        except AssertionError as broken:
            raise BrokenError(f"{self.told}\n{broken}") from broken
        self.told.seconds = time.monotonic() - begun
        return self.told

    # --- before

    def _prepare(self) -> None:
        bench, rng = self.bench, random.Random(self.seed)
        self.rng = rng
        bench.go_back()
        kind = self._kind()
        wish, self.told.changes = changed(bench.shape.base, rng)
        while kind == "late daemon" and not {"stripe", "spine"} & set(self.told.changes):
            wish, self.told.changes = changed(bench.shape.base, rng)  # a change that starts daemons anew
        self.operator = Operator(bench.folder, bench.shape, wish, self._pace(calm=kind == "none"))
        self.operator.raise_the_hardware()
        old = bench.base.fabric
        for name in rng.sample(sorted(old.switch_of), 2):
            self._write_foreign(name)
        self.before = bench.held()
        plan = self.operator.plan()
        self.changed = frozenset(plan.deltas)
        self.reloading = tuple(sorted(name for name, delta in plan.deltas.items() if delta.reloads))
        self.faults = self._chosen(kind, sorted(plan.devices))
        self.told.faults, self.told.fault_kind = str(self.faults), kind
        self.floors = Floors(
            self.operator.fabric, self.policy, in_service=frozenset(old.switch_of), disturbed=plan.disruptive
        )

    def _kind(self) -> str:
        return KINDS[self.seed % len(KINDS)]

    def _chosen(self, kind: str, devices: list[str]) -> Faults:
        """Return the faults of this trial; ``devices`` are those of the plan."""
        faults = chosen_faults(kind, devices, self.rng, self.reloading)
        self.by_hand = faults.by_others
        return faults

    def _pace(self, *, calm: bool) -> Pace:
        rng = self.rng
        spines, leaves, uplinks = rng.choice(SHARES), rng.choice((1, 1, 2)), rng.choice((None, None, 30))
        self.policy = RolloutPolicy(_share(spines), _share(leaves), uplink_floor_percent=uplinks)
        return Pace(
            {
                "max_unavailable": {"spines": spines, "leaves": leaves},
                "wave_size": rng.choice((2, 50)),
                "max_failures": rng.choice((1, 1, 2)),
                "soak": rng.choice((0, 0, 0, 0.1)),
                "workers": rng.choice((1, 8)),
                **({"floor": {"uplinks": f"{uplinks}%"}} if uplinks else {}),
                **({"verify_timeout": 5} if calm else {}),
            }
        )

    def _write_foreign(self, device: str) -> None:
        """Let somebody else write rows that are none of ours."""
        number = self.rng.randrange(250)
        rows = {
            f"NTP_SERVER|192.0.2.{number}": {"iburst": "on"},
            f"STATIC_ROUTE|default|198.51.100.{number}/32": {"nexthop": "192.0.2.1", "ifname": "eth0"},
        }
        self.bench.fabric.ask("write", device=device, rows=rows)

    # --- during

    def _roll_out(self) -> Ended:
        device, after = self.faults.frozen_at
        if device:
            return frozen(self.operator.deploy, self.bench.fabric, device, after, self._commit_by_others)
        for strike in self.faults.strikes:
            strike.arm(self.bench.fabric)
        if self.faults.killed_at:
            return killed(self.operator.deploy, self.faults.killed_at, torn=self.faults.torn)
        return attempt(self.operator.deploy)

    def _commit_by_others(self) -> None:
        for device, rows in self.by_hand.items():
            self.bench.fabric.ask("commit", device=device, rows=rows)

    # --- after

    def _judge(self, ended: Ended) -> None:
        """Every device is wholly old, wholly new, or named as unreachable; where the process died, timers decide."""
        if ended.killed_at or ended.result is None:
            self.told.ended = "killed" if ended.killed_at else (ended.refused or ended.word or "ended before the kill")
        else:
            self.told.ended = ended.result.result.value
            self.told.outcomes = tuple(sorted({one.outcome.value for one in ended.result.devices.values()}))
        now = self.bench.held()
        self._follow()
        if ended.result is not None:
            for name, device in ended.result.devices.items():
                if device.outcome is not Outcome.UNREACHABLE:
                    self._stands(name, now[name], new=device.outcome is Outcome.NEW, said=str(device))
            unseen = {name for name, one in ended.result.devices.items() if one.outcome is Outcome.NEW}
            unseen = (unseen & self.changed) - self.floors.worked
            assert not unseen, f"{sorted(unseen)} are new and were never seen at work"
            if self.faults.kind == "none":
                assert ended.result.result in (Result.DONE, Result.UNCHANGED), ended.result
                assert ended.result.ok, ended.result
        self._keeps_foreign(now)

    def _stands(self, name: str, now: Any, *, new: bool, said: str) -> None:
        wrong = self._unlike_new(name, now) if new else self._unlike_old(name, now)
        assert not wrong, f"{name} is not what {said} says: {wrong[:6]}"

    def _unlike_new(self, name: str, now: Any) -> list[str]:
        return self._without_hand(name, unlike_wanted(now, self.operator.intended(name)))

    def _unlike_old(self, name: str, now: Any) -> list[str]:
        return self._without_hand(name, unlike_before(now, self.before[name], {}))

    def _without_hand(self, name: str, found: list[str]) -> list[str]:
        hand = tuple(self.by_hand.get(name, ()))
        return [one for one in found if not hand or not one.removeprefix("saved ").startswith(hand)]

    def _keeps_foreign(self, now: Mapping[str, Any]) -> None:
        ours = {"SYSLOG_SERVER|10.9.9.9"}
        for name, one in now.items():
            lost = lost_foreign(one, self.before[name], ours)
            assert not lost, f"{name} lost what is not ours: {lost[:6]}"
            for place, fields in self.committed.get(name, {}).items():
                table, _, key = place.partition("|")
                for rows in (one["rows"], one["boots"]["rows"]):
                    assert rows.get(table, {}).get(key) == fields, (
                        f"{name} lost {place}, which another client confirmed"
                    )

    def _follow(self) -> None:
        """Judge what was recorded since the last time."""
        record = self.bench.fabric.ask("record")["record"]
        self.committed |= {event["device"]: event["committed"] for event in record if "committed" in event}
        self.floors.follow(record)
        self.told.most_out = self.floors.most
        assert not self.floors.crossed, f"the floor was crossed: {self.floors.crossed[:4]}"

    # --- to one state

    def _bring_to_one_state(self, ended: Ended) -> None:
        """Resume, deploy again or roll back, as the seed says; afterwards all devices stand alike."""
        rng, fabric = self.rng, self.bench.fabric
        lost = ended.killed_at or ended.result is None
        if lost and rng.random() < 0.5:
            fabric.ask("pass_time")
            for name, one in self.bench.held().items():
                assert not self._unlike_old(name, one) or not self._unlike_new(name, one), (
                    f"{name} is neither old nor new once its timer struck: {self._unlike_old(name, one)[:4]} and "
                    f"{self._unlike_new(name, one)[:4]}"
                )
        fabric.ask("heal")
        if not lost:
            # What a lost device holds its own timer decides, as long as nobody is there.
            fabric.ask("pass_time")
        if self.by_hand:
            self._go_on_after_others()
            return
        finished = ended.result is not None and ended.result.result is not Result.STOPPED
        ways = ("deploy", "roll back") if finished else ("resume", "resume", "deploy", "roll back")
        self.told.way = way = rng.choice(ways)
        if way == "roll back":
            self._roll_back()
        else:
            self._go_on(way)
        self._follow()

    def _go_on_after_others(self) -> None:
        """Deploy: what others committed in between a rollout that was planned before may refuse."""
        self.told.way = "deploy"
        by_hand, self.by_hand = self.by_hand, {}
        self._go_on("deploy")
        self.by_hand = by_hand
        self._follow()

    def _go_on(self, way: str) -> None:
        resumes = way == "resume" and self.operator.can_resume()
        if not resumes:
            # A plan waits for timers of a rollout that nobody carries on.
            self.bench.fabric.ask("pass_time")
        again = attempt(self.operator.resume if resumes else self.operator.deploy)
        assert again.result is not None, f"{way} was refused: {again.refused}"
        assert again.result.result in (Result.DONE, Result.UNCHANGED), f"{way} stopped: {again.result}"
        now = self.bench.held()
        # Another clone may have racked switches that this intent does not name.
        for name in now.keys() & self.operator.fabric.switch_of.keys():
            wrong = [*self._unlike_new(name, now[name]), *unlike_booted(now[name])]
            assert not wrong, f"after {way}, {name} is not new: {wrong[:6]}"
        self._keeps_foreign(now)
        left = self.operator.plan()
        assert not left.deltas, f"after {way} the plan still has {left.deltas}"

    def _roll_back(self) -> None:
        self.floors.way_back()
        if self.operator.can_roll_back():
            ended = attempt(self.operator.roll_back)
            assert ended.result is not None, f"the rollback was refused: {ended.refused}"
            assert ended.result.result in (Result.DONE, Result.UNCHANGED), f"the rollback stopped: {ended.result}"
        now = self.bench.held()
        for name, one in now.items():
            wrong = [*self._unlike_old(name, one), *unlike_booted(one, self.before[name])]
            assert not wrong, f"after the rollback {name} is not old: {wrong[:6]}"
        self._keeps_foreign(now)
        left = self.bench.base.plan()
        assert not left.deltas, f"after the rollback the plan of the old intent has {left.deltas}"


def _share(text: int | str) -> Share:
    return Share(count=text) if isinstance(text, int) else Share(percent=float(text.rstrip("%")))


@contextmanager
def bench_of(folder: Path, shape: Shape) -> Iterator[Bench]:
    """Give a bench that ends with the block."""
    bench = Bench(folder, shape)
    try:
        yield bench
    finally:
        bench.close()
