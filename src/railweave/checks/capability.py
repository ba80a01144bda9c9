"""What the models of the catalog can do: ports and breakout by speed, lossless up to which cable, and what is missing.

A speed is lossless up to the longest cable at which `check` finds no error in the buffers of a switch whose cages all
run at it, with the default traffic classes.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from railweave.catalog.model import NicModel, SwitchModel
from railweave.catalog.panel import CageUse, PortGroup, boot_speed_gbps, build_panel, cage_use, cages_with, speeds
from railweave.checks.buffer_facts import missing_buffers
from railweave.checks.buffers import SwitchKind, kind_findings
from railweave.diagnostics import Blocker, Diagnostic, Severity, Where
from railweave.fabric.model import Panel, Tier
from railweave.fabric.policy import Policies
from railweave.wording import counted

LENGTHS_M = (1, 2, 3, 5, 10, 20, 30, 40, 50, 100, 150, 200, 300, 500, 1000, 2000)
"""Cable lengths that are tried, beside those that a vendor publishes headroom for."""


_SIZED_ONLY = "a chassis of line cards is sized, not configured (RW126)"


class SpeedUse(NamedTuple):
    """A switch at one speed: ``ports`` of all ``cages`` that can run it, as far as the chip drives them, each
    ``lanes`` x ``lane_gbps``; ``breakout`` is SONiC's mode, None on a platform without modes.

    ``lossless_m`` is the longest cable in meters over which all these ports can be lossless, None where none can, and
    ``missing`` then says why.
    """

    speed_gbps: int
    ports: int
    ports_per_cage: int
    cages: int
    lanes: int
    lane_gbps: int
    breakout: str | None
    hwsku: str
    lossless_m: int | None
    missing: str


class SwitchCapability(NamedTuple):
    """A switch model with its speeds, the fastest first; ``notes`` are what its source leaves open."""

    model: SwitchModel
    speeds: tuple[SpeedUse, ...]
    notes: tuple[str, ...]


class Models(NamedTuple):
    """Switch models and NICs in alphabetical order of their ids."""

    switches: tuple[SwitchCapability, ...]
    nics: tuple[NicModel, ...]


def capability(model: SwitchModel, policies: Policies) -> SwitchCapability:
    """Return what a switch model can do with the traffic classes and MTU of ``policies``."""
    return SwitchCapability(
        model, tuple(_at_speed(model, one, policies) for one in speeds(model)), tuple(_notes(model))
    )


def _at_speed(model: SwitchModel, speed_gbps: int, policies: Policies) -> SpeedUse:
    use = cage_use(model, speed_gbps)
    if use is None:
        raise ValueError(f"{model.id} does not run {speed_gbps}G")
    cages = cages_with(model, use)
    panel, ports = _panel(model, use, cages)
    longest, missing = (None, _SIZED_ONLY) if model.chassis else _longest(panel, speed_gbps, ports, policies)
    return SpeedUse(
        speed_gbps=speed_gbps,
        ports=ports,
        ports_per_cage=use.ports,
        cages=len(cages),
        lanes=speed_gbps // use.lane_gbps,
        lane_gbps=use.lane_gbps,
        breakout=None if use.mode is None else use.mode.text,
        hwsku=panel.hwsku,
        lossless_m=longest,
        missing=missing,
    )


def _panel(model: SwitchModel, use: CageUse, cages: tuple[int, ...]) -> tuple[Panel, int]:
    """Return a panel with as many ports of a speed as there can be side by side, and how many these are."""
    first = cages[0]
    run = next((at for at, number in enumerate(cages) if number != first + at), len(cages))
    limit = model.asic.logical_ports
    count = run if limit is None else min(run, limit // use.ports)
    panel = build_panel(model, (PortGroup(first - 1, boot_speed_gbps(model)), PortGroup(count, use.speed_gbps)))
    if isinstance(panel, Blocker):
        raise TypeError(f"{model.id}: {panel.message}")
    return panel, min(len(cages) * use.ports, limit or len(cages) * use.ports)


def _longest(panel: Panel, speed_gbps: int, ports: int, policies: Policies) -> tuple[int | None, str]:
    """Return the longest cable over which all ports can be lossless, or why none can."""
    if panel.buffers is None:
        return None, f"its SONiC ships {missing_buffers(panel)}"
    published = {row.cable_m for row in panel.buffers.pg_profiles if row.speed_gbps == speed_gbps}
    fits: int | None = None
    for length in sorted({*LENGTHS_M, *published}):
        errors = _errors(panel, speed_gbps, ports, length, policies)
        if errors:
            return fits, "" if fits else errors[0].message
        fits = length
    return fits, ""


def _errors(panel: Panel, speed_gbps: int, ports: int, length_m: int, policies: Policies) -> list[Diagnostic]:
    kind = SwitchKind(panel, Tier("switch", 0, 1, 1, ports, speed_gbps), (), {(speed_gbps, length_m, 0): ports})
    found = kind_findings(kind, policies, lambda path: Where(path=path))
    return [one for one in found if one.severity is Severity.ERROR]


def _notes(model: SwitchModel) -> Iterator[str]:
    if model.chassis is not None:
        cards = counted(model.chassis.line_cards, "line card")
        yield f"a chassis of {cards} ({model.chassis.card}), each with a SONiC of its own"
        return
    if not model.breakout_modes:
        yield f"SONiC has no breakout modes for it: platform.json of {model.platform} lists no interfaces"
    if model.duplicate_lanes:
        yield "SONiC's port table lists a lane twice, so that its generic updater refuses every patch"
    if model.asic.buffer_bytes is None:
        yield "no source states the size of its packet buffer"
    yield from _stated(one.notes for one in model.hwskus)


def _stated(notes: Iterable[str]) -> Iterator[str]:
    yield from dict.fromkeys(note for note in notes if note)
