"""Nodes and switches into racks: every device of the fabric has one place, and every place has room.

Entries that state a unit take theirs first; the others then take the lowest free units, in the order of the file.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from math import ceil
from typing import NamedTuple

from railweave.catalog.model import Housing
from railweave.diagnostics import Diagnostic, Where, error
from railweave.fabric.racks import Rack, RackLayout, RackPlace, Trunks, top_mm
from railweave.intent.racks import Placed, names_in_range
from railweave.intent.racks import Racks as RacksIntent
from railweave.wording import compact, counted, natural_key, suggestion

MISSING = "RW011"
UNPLACED = "RW301"
NO_ROOM = "RW302"
Places = Callable[[str], Where]


class _Entry(NamedTuple):
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
    racks, found = _racks(intent, where)
    entries, unnamed = _entries(intent, racks, devices, where, is_beside)
    found += unnamed
    if found:
        # Room is asked for once all names are right: a mistyped one would be reported again as missing room.
        return None, tuple(found)
    sizes = {name: _size(entry.keys, devices[name]) for entry in entries for name in entry.devices}
    found = [fault for entry in entries for fault in _unsized(intent, entry, sizes, where)]
    if found:
        return None, tuple(found)
    places, full = _fill(intent, entries, sizes, where)
    found = full or list(_overloaded(intent, places, where))
    if found:
        return None, tuple(found)
    tray_mm = top_mm(intent.units) if intent.tray_mm is None else intent.tray_mm
    trunks = None if intent.trunks is None else Trunks(intent.trunks.connectors, intent.trunks.cord_m)
    return RackLayout(intent.units, tray_mm, intent.slack_mm, racks, places, trunks), ()


class _Size(NamedTuple):
    """Rack units and watts of a device; None where neither its entry nor the catalog has them."""

    height: int | None
    power_w: int | None


def _size(keys: Placed, housing: Housing | None) -> _Size:
    units, power_w = (None, None) if housing is None else (housing.rack_units, housing.max_power_w)
    return _Size(units if keys.height is None else keys.height, power_w if keys.power_w is None else keys.power_w)


def _unsized(intent: RacksIntent, entry: _Entry, sizes: Mapping[str, _Size], where: Places) -> Iterator[Diagnostic]:
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
    found: list[Diagnostic] = []
    across_mm = 0
    for number, row in enumerate(intent.rows):
        across_mm += row.distance_mm or 0
        if any(row.name == before.name for before in intent.rows[:number]):
            message = f"a row before is named `{row.name}` too"
            fix = "give each row a name of its own"
            found.append(error(UNPLACED, message, where(f"racks.rows[{number}].name"), fix=fix))
        names = _named(row.racks, (), f"racks.rows[{number}].racks")
        for index, (name, path) in enumerate(names):
            if name in racks:
                message = f"rack `{name}` is already in row `{racks[name].row}`"
                found.append(error(UNPLACED, message, where(path), fix="list each rack once, under a name of its own"))
            else:
                along_mm = row.start_mm + index * intent.rack_distance_mm
                racks[name] = Rack(name, row.name, along_mm, across_mm)
    return racks, found


def _named(texts: Sequence[str], known: Collection[str], path: str) -> Iterator[tuple[str, str]]:
    """Yield the names that are written, ranges by their names, each with its path; a name may look like a range."""
    for index, text in enumerate(texts):
        if text.endswith("*"):
            stem = text[:-1]
            numbered = (name for name in known if name.startswith(stem) and name[len(stem) :].isdecimal())
            names = tuple(sorted(numbered, key=natural_key)) or (text,)
        else:
            names = (text,) if text in known else names_in_range(text)
        for name in names:
            yield name, f"{path}[{index}]"


def _entries(
    intent: RacksIntent,
    racks: Collection[str],
    devices: Collection[str],
    where: Places,
    is_beside: Callable[[str], bool],
) -> tuple[list[_Entry], list[Diagnostic]]:
    """Return the entries, and what is wrong with the names in them."""
    entries = []
    found: list[Diagnostic] = []
    placed: dict[str, str] = {}
    for index, keys in enumerate(intent.devices):
        entry = _Entry(keys, f"racks.devices[{index}]", [], [])
        entries.append(entry)
        unknown: dict[str, list[str]] = {}
        twice: dict[str, list[str]] = {}
        for name, path in _named(keys.devices, devices, f"{entry.path}.devices"):
            if name not in devices:
                if not is_beside(name):
                    unknown.setdefault(path, []).append(name)
            elif name in placed:
                twice.setdefault(path, []).append(name)
            else:
                placed[name] = path
                entry.devices.append(name)
        found += [_no_device(names, devices, where(path)) for path, names in unknown.items()]
        found += [_placed_twice(names, where(path), where(placed[names[0]])) for path, names in twice.items()]
        for name, path in _named(keys.racks, racks, f"{entry.path}.racks"):
            if name in racks:
                entry.racks.append(name)
            else:
                fix = f"{suggestion(name, tuple(racks))}list it in a row, or name one of {compact(racks)}"
                found.append(error(UNPLACED, f"no row has a rack `{name}`", where(path), fix=fix))
    missing = [name for name in devices if name not in placed]
    if missing:
        message = f"{compact(missing)} {'has' if len(missing) == 1 else 'have'} no place in a rack"
        fix = "add an entry with `devices`, `racks` and `height` for them"
        found.append(error(UNPLACED, message, where("racks.devices"), fix=fix, devices=tuple(missing)))
    return entries, found


def _no_device(names: Sequence[str], devices: Collection[str], where: Where) -> Diagnostic:
    fix = f"{suggestion(names[0], tuple(devices))}the fabric has {compact(devices)}"
    return error(UNPLACED, f"the fabric has no {compact(names)}", where, fix=fix)


def _placed_twice(names: Sequence[str], where: Where, before: Where) -> Diagnostic:
    message = f"{compact(names)} {'has' if len(names) == 1 else 'have'} a place in line {before.line} already"
    return error(UNPLACED, message, where, fix="give each device one place", devices=tuple(names))


def _fill(
    intent: RacksIntent, entries: Sequence[_Entry], sizes: Mapping[str, _Size], where: Places
) -> tuple[dict[str, RackPlace], list[Diagnostic]]:
    """Return the places of all devices, or the entries for which there is no room."""
    places: dict[str, RackPlace] = {}
    taken: dict[str, dict[int, str]] = {}
    found: list[Diagnostic] = []
    for entry in sorted(entries, key=lambda one: one.keys.unit is None):
        room = entry.per_rack * len(entry.racks)
        if len(entry.devices) > room:
            each = f"{counted(len(entry.racks), 'rack')} with {entry.per_rack} each"
            message = f"{counted(len(entry.devices), 'device')} do not fit in {each}"
            fix = "name more racks, or raise `per_rack`"
            found.append(error(NO_ROOM, message, where(f"{entry.path}.racks"), fix=fix))
            continue
        full: list[tuple[str, str, str]] = []
        for rack, devices in entry.in_racks():
            units = taken.setdefault(rack, {})
            above = entry.keys.unit
            for name in devices:
                height = sizes[name].height or 1
                unit, why = _unit(intent.units, units, above, height)
                above = None if above is None else above + height
                if why:
                    full.append((name, rack, why))
                    continue
                units.update(dict.fromkeys(range(unit, unit + height), name))
                places[name] = RackPlace(rack, unit, height, sizes[name].power_w)
        if full:
            found.append(_no_room(entry, full, where))
    return places, found


def _unit(units: int, taken: dict[int, str], stated: int | None, height: int) -> tuple[int, str]:
    """Return the lowest unit of a device, the ``stated`` one or the first with room above it, and why it cannot stand
    there."""
    if stated is not None:
        top = stated + height - 1
        if top > units:
            return stated, f"its units {stated} to {top} end above the {units} of a rack"
        in_the_way = next((taken[one] for one in range(stated, top + 1) if one in taken), "")
        return stated, f"its units {stated} to {top} are taken by {in_the_way}" if in_the_way else ""
    for unit in range(1, units - height + 2):
        if not any(one in taken for one in range(unit, unit + height)):
            return unit, ""
    free = units - len(taken)
    if height == 1:
        return 0, f"no rack unit is free, {free} of {units} in all"
    return 0, f"no {height} adjacent rack units are free, {free} of {units} in all"


def _no_room(entry: _Entry, full: Sequence[tuple[str, str, str]], where: Places) -> Diagnostic:
    name, rack, why = full[0]
    others = len(full) - 1
    more = (
        f"; {counted(others, 'other')} of this entry {'has' if others == 1 else 'have'} no room either"
        if others
        else ""
    )
    key = "unit" if entry.keys.unit is not None else "racks"
    fix = "choose other units, or place fewer in each rack" if key == "unit" else "name more racks, or move others away"
    message = f"there is no room for {name} in rack {rack}: {why}{more}"
    names = tuple(device for device, _, _ in full)
    return error(NO_ROOM, message, where(f"{entry.path}.{key}"), fix=fix, devices=names)


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
        who = f"rack {names[0]} draws" if len(names) == 1 else f"racks {compact(names)} each draw"
        message = f"{who} {draw_w:,} W, and a rack may draw {intent.power_w:,} W"
        yield error(NO_ROOM, message, where("racks.power_w"), fix="place fewer devices in them, or raise `power_w`")
