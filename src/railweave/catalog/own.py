"""A project's own switch models and NICs: files in its folder ``catalog``, in the format of ``data/README.md``.

They are parsed as the shipped ones, but diagnostics name file, line and column, and contradictions are refused.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Never, TypeVar

from railweave.catalog.decode import FormError, NicsFile, decode, with_ids
from railweave.catalog.model import BreakoutMode, Hwsku, SwitchModel
from railweave.catalog.nics import NicModel, StatedNumber
from railweave.catalog.panel import cage_use, cages_with, lane_rates, speeds
from railweave.codec import InvalidTextError, Place, place_text, position
from railweave.diagnostics import Diagnostic, Where, error
from railweave.errors import RefusedError
from railweave.fabric.buffers import ShippedBuffers
from railweave.files import shown_path
from railweave.wording import either, listed

CODE = "RW017"
Faults = Iterator[tuple[Place, str]]
"""Places in a file, each with a message."""
_Value = TypeVar("_Value")

_FIX = "correct it there; `railweave models MODEL --file` prints a sound file to compare with"
INGRESS_LOSSLESS = "ingress_lossless_pool"
EGRESS_LOSSLESS = "egress_lossless_pool"
# Leaves take their pools from the template of SONiC's role t0, spines from that of t1.
_ROLES = ("t0", "t1")
_PORT = re.compile(r"Ethernet(?:0|[1-9][0-9]{0,5})")
_ALIAS_FIELDS = re.compile(r"\{(?:cage|index|port)\}")


def read_switch(path: Path) -> SwitchModel:
    """Return the switch model of a file; raises RefusedError with everything that is wrong in it."""
    file = _File(path)
    model = file.decode(SwitchModel)
    if model.id != path.stem:
        file.refuse([(("id",), f"the id is `{model.id}`; it has to be the file's name, `{path.stem}`")])
    file.refuse(switch_faults(model))
    return model


def read_nics(path: Path) -> dict[str, NicModel]:
    """Return the NIC models of a file; raises RefusedError with everything that is wrong in it."""
    file = _File(path)
    nics = with_ids(file.decode(NicsFile).nics)
    file.refuse(chain.from_iterable(map(_nic_faults, nics.values())))
    return nics


def switch_faults(model: SwitchModel) -> Faults:
    """Yield each contradiction within a switch model, with its place in the file."""
    if not model.hwskus or not model.cages:
        yield (), "a switch has at least one cage and one HWSKU"
        return
    slices = model.asic.slices
    if slices and not 1 <= slices.of_port <= slices.total:
        yield ("asic", "slices"), "a port uses at least one slice of the buffer and at most all"
    yield from _cage_faults(model)
    unparsed = list(_unparsed_modes(model))
    if unparsed:
        yield from unparsed
        return
    for index, mode in enumerate(model.breakout_modes):
        yield from _each_at(("breakout_modes", index), _mode_faults(mode, model.cage_type.lanes))
    for index, hwsku in enumerate(model.hwskus):
        yield from _each_at(("hwskus", index), _hwsku_faults(hwsku, model))
        yield from _each_at(("hwskus", index, "buffers"), _buffer_faults(hwsku))
        yield from _each_at(("hwskus", index), _set_faults(hwsku))
    if not _has_boot_speed(model):
        yield ("breakout_modes",), "no speed runs on all cages"


def _each_at(place: Place, messages: Iterator[str]) -> Faults:
    """Yield each message with a place."""
    for message in messages:
        yield place, message


def _has_boot_speed(model: SwitchModel) -> bool:
    """Tell whether the base HWSKU has a speed, or all cages can run one: the switch boots at it."""
    if model.hwskus[0].speed_gbps is not None:
        return True
    return any(_all_cages_run(model, speed) for speed in speeds(model))


def _cage_faults(model: SwitchModel) -> Faults:
    """Yield the faults of cages: their numbers, their names and their lanes."""
    names = Counter(cage.name for cage in model.cages)
    repeated = _repeated_lanes(model)
    for index, cage in enumerate(model.cages):
        place = ("cages", index)
        if cage.number != index + 1:
            yield place, f"cage {cage.number} is row {index + 1}; cages count from 1 without a gap"
        if _PORT.fullmatch(cage.name) is None or names[cage.name] > 1:
            yield place, f"`{cage.name}` is not the name of one port, like Ethernet0"
        if len(cage.lanes) != model.cage_type.lanes:
            yield place, f"the cage has {len(cage.lanes)} lanes, all cages have {model.cage_type.lanes}"
        for lane in cage.lanes:
            if lane in repeated:
                yield place, f"lane {lane} is used twice"
                break


def _repeated_lanes(model: SwitchModel) -> set[int]:
    """Return the lanes that more than one port of a switch has, where lanes are numbered once for all ports."""
    # The cards of a chassis number the lanes of their own chips.
    if model.duplicate_lanes or model.chassis:
        return set()
    uses = Counter(chain.from_iterable(cage.lanes for cage in model.cages))
    uses.update(chain.from_iterable(port.lanes for port in model.service_ports))
    return {lane for lane, count in uses.items() if count > 1}


def _unparsed_modes(model: SwitchModel) -> Faults:
    """Yield the breakout modes that cannot be parsed."""
    for index, mode in enumerate(model.breakout_modes):
        try:
            # Parses the mode.
            _ = mode.parts
        except ValueError as wrong:
            yield ("breakout_modes", index), str(wrong)


def _mode_faults(mode: BreakoutMode, lanes: int) -> Iterator[str]:
    """Yield the contradictions of a breakout mode with its aliases, and with the ``lanes`` of a cage."""
    children = sum(part.count for part in mode.parts)
    if len(mode.aliases) != children:
        yield f"{mode.text} has {children} ports and {len(mode.aliases)} aliases"
    if not _divides(mode, lanes):
        yield f"{mode.text} does not divide the {lanes} lanes of a cage"
    # Braces that are left belong to other fields.
    without_fields = "".join(_ALIAS_FIELDS.sub("", alias) for alias in mode.aliases)
    if "{" in without_fields or "}" in without_fields:
        yield "an alias knows {cage}, {index} and {port} only"


def _divides(mode: BreakoutMode, lanes: int) -> bool:
    """Tell whether each part of a mode has as many lanes for each of its ports, all within the ``lanes`` of a cage."""
    free_lanes = lanes
    for part in mode.parts:
        part_lanes = part.lanes or lanes
        free_lanes -= part_lanes
        if free_lanes < 0 or part_lanes % part.count:
            return False
    return True


def _hwsku_faults(hwsku: Hwsku, model: SwitchModel) -> Iterator[str]:
    """Yield the contradictions between the native ports of a HWSKU and the cages and modes of its model."""
    ports = hwsku.ports_per_cage
    speed_gbps = hwsku.speed_gbps
    cage = model.cage_type
    # None is the mode of a HWSKU on a platform without modes.
    aliases_of_mode = {None: hwsku.aliases} | {mode.text: mode.aliases for mode in model.breakout_modes}
    aliases = aliases_of_mode.get(hwsku.mode)
    if aliases is None:
        yield f"{hwsku.mode} is not one of its breakout modes"
    if ports is None or speed_gbps is None:
        return
    fits_lanes = 1 <= ports <= cage.lanes and lane_rates(speed_gbps, cage.lanes // ports, cage.lane_gbps)
    if not fits_lanes:
        yield f"{ports} ports of {speed_gbps}G do not fit a cage's lanes"
    elif aliases is not None and len(aliases) != ports:
        yield f"{hwsku.name} has {ports} ports and {len(aliases)} aliases"


def _all_cages_run(model: SwitchModel, speed_gbps: int) -> bool:
    use = cage_use(model, speed_gbps)
    return use is not None and len(cages_with(model, use)) == len(model.cages)


def _set_faults(hwsku: Hwsku) -> Iterator[str]:
    """Yield the faults of the names of a HWSKU's buffer sets."""
    names = [buffer_set.name for buffer_set in hwsku.buffer_sets]
    if len(set(names)) < len(names):
        yield f"buffer_sets names a set twice: {listed(names)}"
    if hwsku.buffer_set and hwsku.buffer_set not in names:
        sets = listed(names) if names else "empty"
        yield f"buffer_set `{hwsku.buffer_set}` is not one of its buffer_sets: {sets}"


def _buffer_faults(hwsku: Hwsku) -> Iterator[str]:
    """Yield the profiles and pools that the buffers of a HWSKU use and do not have, and unknown roles."""
    buffers = hwsku.buffers
    if buffers is None:
        return
    profiles = {profile.name for profile in buffers.profiles}
    used = {buffers.lossy_group, buffers.lossless_queue, buffers.lossy_queue, *chain(*buffers.port_lists)}
    used.update(profile.name for profile in chain(*buffers.role_profiles.values()))
    for name in sorted(used - profiles):
        yield f"profile {name} is not among its profiles"
    for role in sorted(buffers.role_profiles.keys() - set(_ROLES)):
        yield f"role_profiles.{role} is not a role: write {either(_ROLES)}"
    for role in _ROLES:
        pools = {pool.name for pool in hwsku.buffer_pools.get(role, ())}
        for name in sorted(_pools_needed(buffers, role) - pools):
            yield f"buffer_pools.{role} lacks the pool {name}"


def _pools_needed(buffers: ShippedBuffers, role: str) -> set[str]:
    """Return the pools of the profiles that switches of a role have, and those of lossless classes."""
    own = {profile.name: profile for profile in buffers.role_profiles.get(role, ())}
    used = {own.get(profile.name, profile).pool for profile in buffers.profiles}
    return used | {INGRESS_LOSSLESS, EGRESS_LOSSLESS}


def _nic_faults(nic: NicModel) -> Faults:
    """Yield each contradiction within a NIC model, with its place in the file."""
    for index, use in enumerate(nic.combinations):
        lane_counts = {use.speed_gbps // rate for rate in use.lane_gbps if rate}
        if not use.lane_gbps or not lane_counts <= {1, 2, 4, 8}:
            message = f"{use.speed_gbps}G does not run on 1, 2, 4 or 8 lanes of {use.lane_gbps}"
            yield ("nics", nic.id, "combinations", index), message
    if not nic.combinations and not nic.not_public:
        yield ("nics", nic.id), "a NIC lists its combinations of ports and speed"
    yield from _fact_faults(nic)


def _fact_faults(nic: NicModel) -> Faults:
    """Yield the facts of a NIC model that name no source or state a number that cannot be."""
    for name, fact in nic.facts._asdict().items():
        if fact is None:
            continue
        place = ("nics", nic.id, "facts", name)
        if not fact.source.strip():
            yield place, f"{name} names no source; leave the fact out if nobody has published it"
        if isinstance(fact, StatedNumber) and fact.value <= 0:
            yield place, f"{name} is {fact.value:g}; leave the fact out if nobody has published it"


class _File:
    """A file of a project, whose faults are reported with line and column."""

    def __init__(self, path: Path) -> None:
        """Read the file; raises RefusedError if it is not text."""
        self.path = path
        try:
            self._text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as wrong:
            fix = "let it be a readable file of UTF-8 text"
            where = Where(shown_path(path))
            raise RefusedError([error(CODE, f"the file cannot be read: {wrong}", where, fix=fix)]) from wrong

    def decode(self, kind: type[_Value]) -> _Value:
        """Parse the file; raises RefusedError if it is not JSON, or not of that kind."""
        try:
            return decode(kind, self._text)
        except InvalidTextError as wrong:
            where = Where(shown_path(self.path), wrong.line, wrong.column)
            raise RefusedError([error(CODE, f"this is not JSON: {wrong.reason}", where, fix=_FIX)]) from wrong
        except FormError as wrong:
            self._refuse([self._diagnostic(place, message) for place, message in wrong.faults])

    def refuse(self, faults: Iterable[tuple[Place, str]]) -> None:
        """Raise RefusedError if there are faults."""
        diagnostics = [self._diagnostic(place, message) for place, message in faults]
        if diagnostics:
            self._refuse(diagnostics)

    def _refuse(self, diagnostics: Sequence[Diagnostic]) -> Never:
        raise RefusedError(diagnostics)

    def _diagnostic(self, place: Place, message: str) -> Diagnostic:
        line, column = position(self._text, place)
        return error(CODE, message, Where(shown_path(self.path), line, column, place_text(place)), fix=_FIX)
