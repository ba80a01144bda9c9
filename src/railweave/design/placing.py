"""Nodes and switches into racks: every device of the fabric has one place, and every place has room.

Entries that state a unit take theirs first; the others then take the lowest free units, in the order of the file.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from math import ceil
from typing import NamedTuple

from railweave.catalog.model import Housing
from railweave.diagnostics import Diagnostic, Where, error
from railweave.fabric.racks import Rack, RackLayout, RackPlace, Trunks, top_mm
from railweave.fabric.ranges import expanded
from railweave.intent.racks import Placed
from railweave.intent.racks import Racks as RacksIntent
from railweave.wording import compact, counted, natural_key, suggestion

MISSING = "RW011"
UNPLACED = "RW301"
NO_ROOM = "RW302"
Places = Callable[[str], Where]


class _RackEntry(NamedTuple):
    """An entry with those of its devices and racks that there are."""

    keys: Placed
    path: str
    devices: list[str]
    racks: list[str]

    @property
    def per_rack(self) -> int:
        """Return how many devices a rack gets."""
        return self.keys.per_rack or ceil(len(self.devices) / max(1, len(self.racks)))

    def in_racks(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield the racks with the devices that each gets."""
        for index, rack in enumerate(self.racks):
            yield rack, self.devices[index * self.per_rack : (index + 1) * self.per_rack]


def place_devices(
    intent: RacksIntent, devices: Mapping[str, Housing | None], where: Places, is_beside: Callable[[str], bool]
) -> tuple[RackLayout | None, tuple[Diagnostic, ...]]:
    """Return the racks with all ``devices``, or why there are none; ``where`` gives the place of an intent path.

    A device's housing, where the catalog has it, gives the height and the draw that its entry leaves out. Names of
    devices of other fabrics in the same racks, which ``is_beside`` tells, are left out.
    """
    racks, misnamed_racks = _racks(intent, where)
    entries, misnamed_devices = _entries(intent, racks, devices, where, is_beside)
    if misnamed_racks or misnamed_devices:
        # Room is asked for once all names are right: a mistyped one would be reported again as missing room.
        return None, (*misnamed_racks, *misnamed_devices)
    sizes: dict[str, _Size] = {}
    for entry in entries:
        sizes.update({name: _size(entry.keys, devices[name]) for name in entry.devices})
    unsized = [diagnostic for entry in entries for diagnostic in _unsized(intent, entry, sizes, where)]
    if unsized:
        return None, tuple(unsized)
    places, full = _fill(intent, entries, sizes, where)
    if full:
        return None, tuple(full)
    overloaded = tuple(_overloaded(intent, places, where))
    if overloaded:
        return None, overloaded
    return _layout(intent, racks, places), ()


def _layout(intent: RacksIntent, racks: Mapping[str, Rack], places: Mapping[str, RackPlace]) -> RackLayout:
    tray_mm = intent.tray_mm
    if tray_mm is None:
        tray_mm = top_mm(intent.units)
    trunks = None
    if intent.trunks is not None:
        trunks = Trunks(intent.trunks.connectors, intent.trunks.cord_m)
    return RackLayout(intent.units, tray_mm, intent.slack_mm, racks, places, trunks)


class _Size(NamedTuple):
    """Rack units and watts of a device; None where neither its entry nor the catalog has them."""

    height: int | None
    power_w: int | None


def _size(keys: Placed, housing: Housing | None) -> _Size:
    height = keys.height
    power_w = keys.power_w
    if housing is not None and height is None:
        height = housing.rack_units
    if housing is not None and power_w is None:
        power_w = housing.max_power_w
    return _Size(height, power_w)


def _unsized(intent: RacksIntent, entry: _RackEntry, sizes: Mapping[str, _Size], where: Places) -> Iterator[Diagnostic]:
    """Yield what an entry has to state: the height of its devices, and what they draw where racks may only so much."""
    flat = [name for name in entry.devices if sizes[name].height is None]
    if flat:
        message = f"key `height` is missing in `{entry.path}`, and the catalog has no rack units of {compact(flat)}"
        fix = "add `height`: rack units of one of them"
        yield error(MISSING, message, where(f"{entry.path}.height"), fix=fix, devices=tuple(flat))
    drawing = [name for name in entry.devices if sizes[name].power_w is None]
    if intent.power_w is not None and drawing:
        message = f"key `power_w` is missing in `{entry.path}`, and `racks.power_w` limits what a rack draws"
        fix = "add `power_w`: watts that one of them draws at most; or leave out `racks.power_w`"
        yield error(MISSING, message, where(f"{entry.path}.power_w"), fix=fix, devices=tuple(drawing))


def _racks(intent: RacksIntent, where: Places) -> tuple[dict[str, Rack], list[Diagnostic]]:
    racks: dict[str, Rack] = {}
    diagnostics: list[Diagnostic] = []
    across_mm = 0
    for number, row in enumerate(intent.rows):
        across_mm += row.distance_mm or 0
        if any(row.name == before.name for before in intent.rows[:number]):
            message = f"a row before is named `{row.name}` too"
            fix = "give each row a name of its own"
            diagnostics.append(error(UNPLACED, message, where(f"racks.rows[{number}].name"), fix=fix))
        names = _named(row.racks, (), f"racks.rows[{number}].racks")
        for index, (name, path) in enumerate(names):
            if name in racks:
                message = f"rack `{name}` is already in row `{racks[name].row}`"
                fix = "list each rack once, under a name of its own"
                diagnostics.append(error(UNPLACED, message, where(path), fix=fix))
            else:
                along_mm = row.start_mm + index * intent.rack_distance_mm
                racks[name] = Rack(name, row.name, along_mm, across_mm)
    return racks, diagnostics


def _named(texts: Sequence[str], existing: Collection[str], path: str) -> Iterator[tuple[str, str]]:
    """Yield the names that are written, each with its path."""
    for index, text in enumerate(texts):
        for name in _names_of(text, existing):
            yield name, f"{path}[{index}]"


def _names_of(text: str, existing: Collection[str]) -> Sequence[str]:
    """Return the names of a range or of a stem with ``*``; a name that exists may look like a range."""
    if text.endswith("*"):
        stem = text[:-1]
        numbered = (name for name in existing if name.startswith(stem) and name[len(stem) :].isdecimal())
        return tuple(sorted(numbered, key=natural_key)) or (text,)
    return expanded(text, existing)


def _entries(
    intent: RacksIntent,
    racks: Collection[str],
    devices: Collection[str],
    where: Places,
    is_beside: Callable[[str], bool],
) -> tuple[list[_RackEntry], list[Diagnostic]]:
    """Return the entries, and what is wrong with the names in them."""
    entries = []
    diagnostics: list[Diagnostic] = []
    placed: dict[str, str] = {}
    for index, keys in enumerate(intent.devices):
        entry = _RackEntry(keys, f"racks.devices[{index}]", [], [])
        entries.append(entry)
        diagnostics += _add_devices(entry, placed, devices, where, is_beside)
        diagnostics += _add_racks(entry, racks, where)
    missing = [name for name in devices if name not in placed]
    if missing:
        message = f"{_has(missing)} no place in a rack"
        fix = "add an entry with `devices`, `racks` and `height` for them"
        diagnostics.append(error(UNPLACED, message, where("racks.devices"), fix=fix, devices=tuple(missing)))
    return entries, diagnostics


def _add_devices(
    entry: _RackEntry,
    placed: dict[str, str],
    devices: Collection[str],
    where: Places,
    is_beside: Callable[[str], bool],
) -> Iterator[Diagnostic]:
    """Add the devices that an entry names, and yield the names of none, and of those that are ``placed`` before, by the
    path that placed them."""
    unknown: dict[str, list[str]] = {}
    twice: dict[str, list[str]] = {}
    for name, path in _named(entry.keys.devices, devices, f"{entry.path}.devices"):
        if name in placed:
            twice.setdefault(path, []).append(name)
        elif name in devices:
            placed[name] = path
            entry.devices.append(name)
        elif not is_beside(name):
            unknown.setdefault(path, []).append(name)
    for path, names in unknown.items():
        yield _no_device(names, devices, where(path))
    for path, names in twice.items():
        yield _placed_twice(names, where(path), where(placed[names[0]]))


def _add_racks(entry: _RackEntry, racks: Collection[str], where: Places) -> Iterator[Diagnostic]:
    """Add the racks that an entry names, and yield the names of none."""
    for name, path in _named(entry.keys.racks, racks, f"{entry.path}.racks"):
        if name in racks:
            entry.racks.append(name)
        else:
            fix = f"{suggestion(name, tuple(racks))}list it in a row, or name one of {compact(racks)}"
            yield error(UNPLACED, f"no row has a rack `{name}`", where(path), fix=fix)


def _has(names: Sequence[str]) -> str:
    """Return names with their verb."""
    if len(names) == 1:
        return f"{compact(names)} has"
    return f"{compact(names)} have"


def _no_device(names: Sequence[str], devices: Collection[str], where: Where) -> Diagnostic:
    fix = f"{suggestion(names[0], tuple(devices))}the fabric has {compact(devices)}"
    return error(UNPLACED, f"the fabric has no {compact(names)}", where, fix=fix)


def _placed_twice(names: Sequence[str], where: Where, before: Where) -> Diagnostic:
    message = f"{_has(names)} a place in line {before.line} already"
    return error(UNPLACED, message, where, fix="give each device one place", devices=tuple(names))


def _fill(
    intent: RacksIntent, entries: Sequence[_RackEntry], sizes: Mapping[str, _Size], where: Places
) -> tuple[dict[str, RackPlace], list[Diagnostic]]:
    """Return the places of all devices, or the entries for which there is no room."""
    places: dict[str, RackPlace] = {}
    taken: dict[str, dict[int, str]] = {}
    diagnostics: list[Diagnostic] = []
    for entry in sorted(entries, key=lambda entry: entry.keys.unit is None):
        room = entry.per_rack * len(entry.racks)
        if len(entry.devices) > room:
            in_all = f"{counted(len(entry.racks), 'rack')} with {entry.per_rack} each"
            message = f"{counted(len(entry.devices), 'device')} do not fit in {in_all}"
            fix = "name more racks, or raise `per_rack`"
            diagnostics.append(error(NO_ROOM, message, where(f"{entry.path}.racks"), fix=fix))
            continue
        full: list[_Full] = []
        for rack, devices in entry.in_racks():
            full += _fill_rack(rack, devices, entry.keys.unit, sizes, taken.setdefault(rack, {}), places, intent.units)
        if full:
            diagnostics.append(_no_room(entry, full, where))
    return places, diagnostics


class _Full(NamedTuple):
    """A device without room in its rack, and why."""

    device: str
    rack: str
    why: str


def _fill_rack(
    rack: str,
    devices: Sequence[str],
    stated: int | None,
    sizes: Mapping[str, _Size],
    taken: dict[int, str],
    places: dict[str, RackPlace],
    units: int,
) -> Iterator[_Full]:
    """Place devices in a rack, from the ``stated`` unit upwards or in the lowest free units, and yield those without
    room; ``taken`` are the units with the devices in them, of ``units`` in all."""
    for name in devices:
        height = sizes[name].height or 1
        if stated is None:
            unit = _lowest_free(units, taken, height)
            why = ""
            if unit is None:
                why = _why_none_is_free(units, taken, height)
        else:
            unit = stated
            why = _why_not_at(unit, height, taken, units)
            # The next one stands above it, whether or not it fits.
            stated += height
        if unit is None or why:
            yield _Full(name, rack, why)
            continue
        taken.update(dict.fromkeys(range(unit, unit + height), name))
        places[name] = RackPlace(rack, unit, height, sizes[name].power_w)


def _why_not_at(unit: int, height: int, taken: Mapping[int, str], units: int) -> str:
    """Return why a device cannot stand at ``unit``, empty where it can."""
    top = unit + height - 1
    if top > units:
        return f"its units {unit} to {top} end above the {units} of a rack"
    for place in range(unit, top + 1):
        if place in taken:
            return f"its units {unit} to {top} are taken by {taken[place]}"
    return ""


def _lowest_free(units: int, taken: Mapping[int, str], height: int) -> int | None:
    """Return the lowest unit with room for a device above it."""
    for unit in range(1, units - height + 2):
        if taken.keys().isdisjoint(range(unit, unit + height)):
            return unit
    return None


def _why_none_is_free(units: int, taken: Mapping[int, str], height: int) -> str:
    free = units - len(taken)
    if height == 1:
        return f"no rack unit is free, {free} of {units} in all"
    return f"no {height} adjacent rack units are free, {free} of {units} in all"


def _no_room(entry: _RackEntry, full: Sequence[_Full], where: Places) -> Diagnostic:
    first, *others = full
    message = f"there is no room for {first.device} in rack {first.rack}: {first.why}"
    if len(others) == 1:
        message += "; 1 other of this entry has no room either"
    elif others:
        message += f"; {counted(len(others), 'other')} of this entry have no room either"
    path = f"{entry.path}.racks"
    fix = "name more racks, or move others away"
    if entry.keys.unit is not None:
        path = f"{entry.path}.unit"
        fix = "choose other units, or place fewer in each rack"
    return error(NO_ROOM, message, where(path), fix=fix, devices=tuple(fault.device for fault in full))


def _overloaded(intent: RacksIntent, places: dict[str, RackPlace], where: Places) -> Iterator[Diagnostic]:
    """Yield the racks that draw more than they may, those of equal draw together."""
    if intent.power_w is None:
        return
    draws: dict[str, int] = {}
    for place in places.values():
        draws[place.rack] = draws.get(place.rack, 0) + (place.power_w or 0)
    racks: dict[int, list[str]] = {}
    for rack, draw_w in draws.items():
        if draw_w > intent.power_w:
            racks.setdefault(draw_w, []).append(rack)
    for draw_w, names in racks.items():
        drawing = f"rack {names[0]} draws"
        if len(names) > 1:
            drawing = f"racks {compact(names)} each draw"
        message = f"{drawing} {draw_w:,} W, and a rack may draw {intent.power_w:,} W"
        yield error(NO_ROOM, message, where("racks.power_w"), fix="place fewer devices in them, or raise `power_w`")
