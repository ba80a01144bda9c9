"""What the models of the catalog can do: ports and breakout by speed, the longest lossless cable, and what is missing.

A speed is lossless up to the longest cable at which `check` finds no error in the buffers of a switch whose cages all
run at it, with the default traffic classes.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from railweave.catalog.balancing import Balancing, balancing_of
from railweave.catalog.model import SwitchModel
from railweave.catalog.nics import NicModel, PcieSlot
from railweave.catalog.panel import CageUse, PortGroup, boot_speed_gbps, build_panel, cage_use, cages_with, speeds
from railweave.checks.buffer_facts import missing_buffers
from railweave.checks.buffers import kind_findings
from railweave.checks.switch_kind import SwitchKind
from railweave.diagnostics import Blocker, Diagnostic, Severity, Where
from railweave.fabric.devices import Tier
from railweave.fabric.panel import Panel
from railweave.fabric.policy import Policies
from railweave.wording import counted

# Tried in addition to the lengths that a vendor publishes headroom for.
LENGTHS_M = (1, 2, 3, 5, 10, 20, 30, 40, 50, 100, 150, 200, 300, 500, 1000, 2000)
_SIZED_ONLY = "a chassis of line cards is sized, not configured (RW126)"


class SpeedUse(NamedTuple):
    """A switch at one speed."""

    speed_gbps: int
    # Of all cages that can run the speed, as far as the chip drives them.
    ports: int
    ports_per_cage: int
    cages: int
    # Of one port, each with ``lane_gbps``.
    lanes: int
    lane_gbps: int
    # SONiC's breakout mode; None on a platform without modes.
    breakout: str | None
    hwsku: str
    # The longest cable in meters over which all ports can be lossless; None if none can.
    lossless_m: int | None
    # Why none can.
    missing: str


class SwitchCapability(NamedTuple):
    """A switch model with its speeds, the fastest first, and its load balancing; ``notes`` are what its source leaves
    open."""

    model: SwitchModel
    speeds: tuple[SpeedUse, ...]
    notes: tuple[str, ...]
    balancing: tuple[Balancing, ...]


class CatalogCapability(NamedTuple):
    """Switch models and NICs in alphabetical order of their ids, and the PCIe slots that NICs are made for."""

    switches: tuple[SwitchCapability, ...]
    nics: tuple[NicModel, ...]
    slots: Mapping[str, PcieSlot]


def capability(model: SwitchModel, policies: Policies) -> SwitchCapability:
    """Return what a switch model can do with the traffic classes and MTU of ``policies``."""
    uses = tuple(_at_speed(model, speed_gbps, policies) for speed_gbps in speeds(model))
    return SwitchCapability(model, uses, tuple(_notes(model)), balancing_of(model.asic))


def carries_lossless(model: SwitchModel, speed_gbps: int, policies: Policies) -> bool:
    """Return whether all ports of a switch model can be lossless at a speed that it runs, over the shortest cables."""
    use = cage_use(model, speed_gbps)
    # The model does not run the speed, or is a chassis, which is sized and not configured.
    if use is None or model.chassis:
        return False
    panel, ports = _panel(model, use, cages_with(model, use))
    return panel.buffers is not None and not _errors(panel, speed_gbps, ports, LENGTHS_M[0], policies)


def _at_speed(model: SwitchModel, speed_gbps: int, policies: Policies) -> SpeedUse:
    """Return what a switch model can do at one speed; raises ValueError if the model does not run the speed."""
    use = cage_use(model, speed_gbps)
    if use is None:
        raise ValueError(f"{model.id} does not run {speed_gbps}G")
    cages = cages_with(model, use)
    panel, ports = _panel(model, use, cages)
    lossless_m: int | None = None
    missing = _SIZED_ONLY
    if not model.chassis:
        lossless_m, missing = _longest_lossless(panel, speed_gbps, ports, policies)
    return SpeedUse(
        speed_gbps=speed_gbps,
        ports=ports,
        ports_per_cage=use.ports,
        cages=len(cages),
        lanes=speed_gbps // use.lane_gbps,
        lane_gbps=use.lane_gbps,
        breakout=None if use.mode is None else use.mode.text,
        hwsku=panel.hwsku,
        lossless_m=lossless_m,
        missing=missing,
    )


def _panel(model: SwitchModel, use: CageUse, cages: tuple[int, ...]) -> tuple[Panel, int]:
    """Return a panel with as many ports of a speed as there can be side by side, and how many a switch has in all.

    Raises TypeError if the model cannot have such a panel.
    """
    first = cages[0]
    # The cages from the first one on, up to the first gap.
    adjacent = next((offset for offset, number in enumerate(cages) if number != first + offset), len(cages))
    ports = len(cages) * use.ports
    limit = model.asic.logical_ports
    if limit is not None:
        # More ports than the chip drives would be refused, whatever the cages can hold.
        adjacent = min(adjacent, limit // use.ports)
        ports = min(ports, limit)
    # Cages before the first that runs the speed stay as they boot.
    groups = (PortGroup(first - 1, boot_speed_gbps(model)), PortGroup(adjacent, use.speed_gbps))
    panel = build_panel(model, groups)
    if isinstance(panel, Blocker):
        raise TypeError(f"{model.id}: {panel.message}")
    return panel, ports


def _longest_lossless(panel: Panel, speed_gbps: int, ports: int, policies: Policies) -> tuple[int | None, str]:
    """Return the length in meters of the longest cable over which all ports can be lossless, or None and why."""
    if panel.buffers is None:
        return None, f"its SONiC ships {missing_buffers(panel)}"
    published_m = {row.cable_m for row in panel.buffers.pg_profiles if row.speed_gbps == speed_gbps}
    longest_m: int | None = None
    for length_m in sorted({*LENGTHS_M, *published_m}):
        errors = _errors(panel, speed_gbps, ports, length_m, policies)
        if errors and longest_m is None:
            return None, errors[0].message
        # A longer cable takes more headroom, so the first that does not fit ends the search.
        if errors:
            break
        longest_m = length_m
    return longest_m, ""


def _errors(panel: Panel, speed_gbps: int, ports: int, length_m: int, policies: Policies) -> list[Diagnostic]:
    """Return the errors in the buffers of a switch with ``ports`` ports of one speed and cable length."""
    tier = Tier(name="switch", level=0, count=1, reserve=1, ports_down=ports, down_gbps=speed_gbps)
    kind = SwitchKind(panel, tier, (), {(speed_gbps, length_m, 0): ports})
    findings = kind_findings(kind, policies, lambda path: Where(path=path))
    return [finding for finding in findings if finding.severity is Severity.ERROR]


def _notes(model: SwitchModel) -> Iterator[str]:
    """Yield what the source of a model leaves open, in words."""
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
    # HWSKUs of one model often have the same note, or none.
    yield from dict.fromkeys(hwsku.notes for hwsku in model.hwskus if hwsku.notes)
