"""Front panels: the logical ports of a switch model at the speeds that an intent chooses.

The breakout rule is SONiC's (portconfig.py): a child is named after the parent's number plus its lane
offset; it has the next slice of the parent's lanes, the mode's alias at its position, and its position as subport.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from itertools import count
from typing import NamedTuple

from railweave.catalog.model import BreakoutMode, Cage, Hwsku, SwitchModel
from railweave.diagnostics import Blocker
from railweave.fabric.buffers import Buffers, BufferSlices
from railweave.fabric.panel import Panel, SwitchPort
from railweave.units import format_speed
from railweave.wording import compact

_PORT_PREFIX = "Ethernet"


class PortGroup(NamedTuple):
    """A run of ``cages`` cages, front to back, whose logical ports all run at ``speed_gbps``."""

    cages: int
    speed_gbps: int


class CageUse(NamedTuple):
    """How one cage carries a speed: ``ports`` logical ports of ``lanes`` chip lanes each, which run at ``lane_gbps``.

    ``mode`` is None on a platform without breakout modes.
    """

    speed_gbps: int
    ports: int
    lanes: int
    lane_gbps: int
    mode: BreakoutMode | None
    aliases: tuple[str, ...]


def speeds(model: SwitchModel) -> tuple[int, ...]:
    """Return the port speeds in Gb/s that the cages of a model can run, the fastest first."""
    return tuple(sorted(_uses(model), reverse=True))


def logical_ports_per_cage(model: SwitchModel, speed_gbps: int) -> int | None:
    """Return the number of logical ports of a cage at a speed, None if no breakout mode has it."""
    use = cage_use(model, speed_gbps)
    if use is None:
        return None
    return use.ports


def cage_use(model: SwitchModel, speed_gbps: int) -> CageUse | None:
    """Return how a cage of the model carries a speed, None if it cannot."""
    return _uses(model).get(speed_gbps)


def boot_speed_gbps(model: SwitchModel) -> int:
    """Return the speed at which all cages of the base HWSKU boot; if they differ, the fastest that all can run."""
    uses = _uses(model)
    native_gbps = model.hwskus[0].speed_gbps
    if native_gbps:
        return native_gbps
    return next(speed for speed in speeds(model) if len(cages_with(model, uses[speed])) == len(model.cages))


def build_panel(model: SwitchModel, groups: Sequence[PortGroup]) -> Panel | Blocker:
    """Return the panel whose cages, front to back, run at the speeds of ``groups``, or why a model cannot have it.

    The same model and groups give the same object. Groups may leave the last cages unused.
    """
    return _panel(model, _merged(groups))


def _merged(groups: Sequence[PortGroup]) -> tuple[PortGroup, ...]:
    """Return the groups that have cages, with neighbors of one speed joined."""
    merged: list[PortGroup] = []
    for group in groups:
        if merged and merged[-1].speed_gbps == group.speed_gbps:
            merged[-1] = PortGroup(merged[-1].cages + group.cages, group.speed_gbps)
        elif group.cages > 0:
            merged.append(group)
    return tuple(merged)


def _cage_plan(model: SwitchModel, groups: Iterable[PortGroup]) -> list[tuple[Cage, CageUse]] | Blocker:
    """Return (cage, its use) for the cages that the groups take, in order, or why a group's speed is not possible."""
    plan: list[tuple[Cage, CageUse]] = []
    for group in groups:
        use = cage_use(model, group.speed_gbps)
        if use is None:
            return no_such_speed(model, group.speed_gbps)
        cages = model.cages[len(plan) : len(plan) + group.cages]
        plan += [(cage, use) for cage in cages]
    return plan


@lru_cache(maxsize=1024)
def _panel(model: SwitchModel, groups: tuple[PortGroup, ...]) -> Panel | Blocker:
    """Return what ``build_panel`` does, for merged groups."""
    needed = sum(group.cages for group in groups)
    if needed > len(model.cages):
        return Blocker(
            f"{model.title} has {len(model.cages)} cages and {needed} are needed",
            "use fewer ports of each switch, more switches, or a model with more cages",
        )
    plan = _cage_plan(model, groups)
    if isinstance(plan, Blocker):
        return plan
    blocker = _plan_blocker(model, plan)
    if blocker is not None:
        return blocker
    hwsku = _hwsku(model, {use.speed_gbps: use for _, use in plan})
    return Panel(
        model=model.id,
        hwsku=hwsku.name,
        platform=model.platform,
        asic=str(model.asic),
        ports=_ports(plan),
        breakout=tuple((cage.name, use.mode.text) for cage, use in plan if use.mode is not None),
        buffers=hwsku_buffers(model, hwsku.name),
        hash_fields=model.asic.hash_fields,
        trims_from=model.asic.trims_from,
        ecmp_limit=hwsku.ecmp_members or model.asic.ecmp_limit,
        card_cages=model.card_cages,
        acl_rules=model.asic.acl_rules,
    )


@lru_cache(maxsize=256)
def hwsku_buffers(model: SwitchModel, name: str) -> Buffers | None:
    """Return the buffers of the HWSKU ``name`` with the limits of its chip.

    None if the HWSKU is unknown or does not ship a complete set.
    """
    hwsku = model.hwsku(name)
    if hwsku is None or hwsku.buffers is None:
        return None
    # A model's source is REPOSITORY:PATH@COMMIT.
    repository, _, path = model.source.partition(":")
    commit = path.rpartition("@")[2][:12]
    shipped = {field.name: getattr(hwsku.buffers, field.name) for field in fields(hwsku.buffers)}
    return Buffers(
        **shipped,
        hwsku=name,
        source=f"{repository}:{hwsku.buffer_folder}@{commit}",
        pools=hwsku.buffer_pools,
        pg_profiles=hwsku.pg_profiles,
        chip=model.asic.headroom,
        lossless_classes=model.asic.lossless_classes,
        slices=model.asic.slices or BufferSlices(),
    )


def no_such_speed(model: SwitchModel, speed_gbps: int) -> Blocker:
    """Return why the cages of a model cannot run a speed, and the speeds that they can."""
    speed = format_speed(speed_gbps)
    possible = ", ".join(map(format_speed, speeds(model)))
    if model.breakout_modes:
        return Blocker(f"{model.title} has no {speed} ports", f"choose one of its speeds: {possible}; or another model")
    return Blocker(
        f"no {speed} ports are known of {model.title}: its SONiC has no breakout modes (platform.json of"
        f" {model.platform} lists no interfaces)",
        f"choose its native speed: {possible}; or another model",
    )


def _plan_blocker(model: SwitchModel, plan: list[tuple[Cage, CageUse]]) -> Blocker | None:
    """Return why a model cannot use its cages as planned; None if it can."""
    limit = model.asic.logical_ports
    if limit is not None and sum(use.ports for _, use in plan) > limit:
        return _too_many_ports(model, limit, plan)
    for cage, use in plan:
        if use.mode is not None and cage.number in use.mode.not_on:
            return _cage_lacks_mode(model, cage, use)
    return None


def _too_many_ports(model: SwitchModel, limit: int, plan: list[tuple[Cage, CageUse]]) -> Blocker:
    needed = sum(use.ports for _, use in plan)
    slowest = min((use for _, use in plan), key=lambda use: use.speed_gbps)
    return Blocker(
        f"the {model.asic} of {model.title} drives {limit} ports and {needed} are needed",
        f"use fewer cages at {format_speed(slowest.speed_gbps)} (at most {limit // slowest.ports}), or a higher speed",
    )


def _cage_lacks_mode(model: SwitchModel, cage: Cage, use: CageUse) -> Blocker:
    speed = format_speed(use.speed_gbps)
    return Blocker(
        f"cage {cage.number} ({cage.name}) of {model.title} cannot be broken out to {speed}",
        f"use {speed} only on cages {compact(map(str, cages_with(model, use)))}, or another speed",
    )


def cages_with(model: SwitchModel, use: CageUse) -> tuple[int, ...]:
    """Return the numbers of the cages that have the mode of a use."""
    numbers = tuple(cage.number for cage in model.cages)
    if use.mode is None:
        return numbers
    return tuple(number for number in numbers if number not in use.mode.not_on)


def _hwsku(model: SwitchModel, uses: dict[int, CageUse]) -> Hwsku:
    """Return the HWSKU that is native to the one speed of the panel, else the base HWSKU."""
    if len(uses) == 1:
        ((speed, use),) = uses.items()
        for hwsku in model.hwskus:
            if hwsku.speed_gbps == speed and hwsku.ports_per_cage == use.ports:
                return hwsku
    return model.hwskus[0]


def _ports(plan: list[tuple[Cage, CageUse]]) -> tuple[SwitchPort, ...]:
    indexes = count()
    ports: list[SwitchPort] = []
    for cage, use in plan:
        ports += _children(cage, use, indexes)
    return tuple(ports)


def _children(cage: Cage, use: CageUse, indexes: Iterator[int]) -> Iterator[SwitchPort]:
    """Yield the logical ports of a cage, with the next ``indexes``."""
    parent_number = int(cage.name.removeprefix(_PORT_PREFIX))
    for position in range(use.ports):
        first = position * use.lanes
        number = parent_number + first
        yield SwitchPort(
            index=next(indexes),
            name=f"{_PORT_PREFIX}{number}",
            alias=use.aliases[position].format(cage=cage.number, index=cage.port_index, port=number),
            lanes=",".join(map(str, cage.lanes[first : first + use.lanes])),
            speed_gbps=use.speed_gbps,
            panel=cage.port_index,
            # SONiC counts subports from 1; 0 is a whole cage.
            subport=position + 1 if use.ports > 1 else 0,
            fec=fec_of(use.lane_gbps),
        )


@lru_cache(maxsize=256)
def _uses(model: SwitchModel) -> Mapping[int, CageUse]:
    """Return the best use of a cage for every speed, by the order of ``_UseRank``.

    Of uses with the same rank it is the first in ``platform.json``.
    """
    if not model.breakout_modes:
        return _native_uses(model)
    best: dict[int, CageUse] = {}
    rank_of: dict[int, _UseRank] = {}
    for mode in model.breakout_modes:
        for use in _uses_of_mode(model, mode):
            speed_gbps = use.speed_gbps
            is_main = speed_gbps == mode.parts[0].speed_gbps
            rank = _UseRank(missing_cages=-len(mode.not_on), ports=use.ports, is_main=is_main)
            if speed_gbps not in best or rank > rank_of[speed_gbps]:
                best[speed_gbps] = use
                rank_of[speed_gbps] = rank
    return best


class _UseRank(NamedTuple):
    """How good a use of a cage is; the first difference decides, and the greater rank is the better one."""

    # The number of cages without the mode, negative.
    missing_cages: int
    ports: int
    # The speed is the main one of the mode, not an alternative.
    is_main: bool


def _uses_of_mode(model: SwitchModel, mode: BreakoutMode) -> Iterator[CageUse]:
    """Yield the uses of a cage in a mode, one for each of its speeds; none if ports of the cage differ in speed."""
    if len(mode.parts) != 1:
        return
    part = mode.parts[0]
    lanes = (part.lanes or model.cage_type.lanes) // part.count
    for speed_gbps in (part.speed_gbps, *part.alternatives):
        rates = lane_rates(speed_gbps, lanes, model.cage_type.lane_gbps)
        if rates:
            yield CageUse(
                speed_gbps=speed_gbps,
                ports=part.count,
                lanes=lanes,
                lane_gbps=rates[0],
                mode=mode,
                aliases=mode.aliases,
            )


def _native_uses(model: SwitchModel) -> Mapping[int, CageUse]:
    """Return the uses of a cage on a platform without breakout modes: the native ports of its HWSKUs."""
    uses: dict[int, CageUse] = {}
    for hwsku in model.hwskus:
        if hwsku.speed_gbps is None or hwsku.ports_per_cage is None:
            continue
        lanes = model.cage_type.lanes // hwsku.ports_per_cage
        rates = lane_rates(hwsku.speed_gbps, lanes, model.cage_type.lane_gbps)
        uses[hwsku.speed_gbps] = CageUse(
            speed_gbps=hwsku.speed_gbps,
            ports=hwsku.ports_per_cage,
            lanes=lanes,
            lane_gbps=rates[0],
            mode=None,
            aliases=hwsku.aliases,
        )
    return uses


LANE_RATES_GBPS = (200, 100, 50, 25, 10)
"""Rates of an electrical lane, nominal: 200, 100 and 50 are PAM4, 25 and 10 NRZ."""

# Reed-Solomon FEC is mandatory on PAM4 lanes and the rule on 25G lanes (IEEE 802.3 clauses 91, 108 and 134);
# 10G lanes run without.
_RS_FEC_FROM_GBPS = 25


def lane_rates(speed_gbps: int, lanes: int, lane_gbps: int) -> tuple[int, ...]:
    """Return the lane rates at which a port of ``lanes`` lanes of up to ``lane_gbps`` runs a speed, most lanes first.

    Empty if it cannot run the speed: 40G needs four lanes of 10G, so no single lane carries it.
    """
    usable = [
        rate
        for rate in LANE_RATES_GBPS
        if rate <= lane_gbps and speed_gbps % rate == 0 and _is_lane_count(speed_gbps, rate, lanes)
    ]
    return tuple(sorted(usable))


def _is_lane_count(speed_gbps: int, rate_gbps: int, lanes: int) -> bool:
    """Tell whether Ethernet runs a speed over as many lanes of a rate as it takes, and ``lanes`` are enough."""
    count = speed_gbps // rate_gbps
    if count > lanes:
        return False
    # Lanes of 10G are 10G or 40G Ethernet; IEEE 802.3 has no 20G or 80G.
    if rate_gbps == 10:
        return count in (1, 4)
    return count in (1, 2, 4, 8)


def fec_of(lane_gbps: int) -> str:
    """Return PORT.fec for a lane rate."""
    if lane_gbps >= _RS_FEC_FROM_GBPS:
        return "rs"
    return "none"
