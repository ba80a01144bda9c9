"""The order of a rollout in lines: waves of one kind that follow each other are told together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from railweave.plan.draining import WHOLE
from railweave.plan.model import Plan
from railweave.wording import compact, counted


@dataclass(frozen=True, slots=True)
class _Kind:
    """What waves have in common that are told in one line."""

    role: str
    devices: int
    disruptive: bool
    drained: str


def wave_lines(plan: Plan) -> tuple[str, ...]:
    """Return a line for every run of waves of one kind: their numbers, their devices, what is done to them."""
    numbered = list(enumerate(plan.waves, start=1))
    return tuple(_line(kind, list(run)) for kind, run in groupby(numbered, key=lambda one: _kind(plan, one[1])))


def _line(kind: _Kind, run: Sequence[tuple[int, tuple[str, ...]]]) -> str:
    names = [name for _, wave in run for name in wave]
    numbers = f"{run[0][0]}" if len(run) == 1 else f"{run[0][0]}–{run[-1][0]}"
    pace = "" if len(run) == 1 else ", one at a time" if kind.devices == 1 else f", {kind.devices} at a time"
    count = f" ({len(names)})" if len(names) > 2 else ""
    return f"{numbers}. {compact(names)}{count}{pace}{', disruptive' if kind.disruptive else ''}{kind.drained}"


def _kind(plan: Plan, wave: Sequence[str]) -> _Kind:
    first = plan.devices.get(wave[0])
    return _Kind(
        first.role if first is not None else "",
        len(wave),
        any(plan.devices[name].disruptive for name in wave if name in plan.devices),
        _drained(plan, wave),
    )


def _drained(plan: Plan, wave: Iterable[str]) -> str:
    drains = {plan.devices[name].drain for name in wave if name in plan.devices}
    if drains == {WHOLE}:
        return ", drained first"
    return ", with drained links" if any(drains) else ""


def drained_lines(plan: Plan) -> tuple[str, ...]:
    """Return what is drained before its change: whole switches, and links of others."""
    whole = [name for name, device in plan.devices.items() if device.drain == WHOLE]
    partly = [name for name, device in plan.devices.items() if device.drain and device.drain != WHOLE]
    lines = []
    if whole:
        lines.append(f"drained as a whole before its change: {compact(whole)} ({len(whole)})")
    if partly:
        links = sum(len(plan.devices[name].drain) for name in partly)
        lines.append(f"drained on the links concerned: {compact(partly)}, {counted(links, 'session')}")
    return tuple(lines)
