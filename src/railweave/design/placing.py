"""Nodes and switches into racks: every device of the fabric has one place, and every place has room.

Entries that state a unit take theirs first; the others then take the lowest free units, in the order of the file.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from math import ceil
from typing import NamedTuple

from railweave.diagnostics import Diagnostic, Where, error
from railweave.fabric.racks import Rack, RackPlace, Racks, top_mm
from railweave.intent.racks import Placed, names_in_range
from railweave.intent.racks import Racks as RacksIntent
from railweave.wording import compact, counted, natural_key, suggestion

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
    intent: RacksIntent, devices: Collection[str], where: Places
) -> tuple[Racks | None, tuple[Diagnostic, ...]]:
    """Return the racks with all ``devices``, or why there are none; ``where`` gives the place of an intent path."""
    racks, found = _racks(intent, where)
    entries, unnamed = _entries(intent, racks, devices, where)
    found += unnamed
    if found:
        # Room is asked for once all names are right: a mistyped one would be reported again as missing room.
        return None, tuple(found)
    places, full = _fill(intent, entries, where)
    found = full or list(_overloaded(intent, places, where))
    if found:
        return None, tuple(found)
    tray_mm = top_mm(intent.units) if intent.tray_mm is None else intent.tray_mm
    return Racks(intent.units, tray_mm, intent.slack_mm, racks, places), ()


def _racks(intent: RacksIntent, where: Places) -> tuple[dict[str, Rack], list[Diagnostic]]:
    racks: dict[str, Rack] = {}
    found: list[Diagnostic] = []
    across_mm = 0
    for number, row in enumerate(intent.rows):
        across_mm += row.distance_mm or 0
        names = _named(row.racks, (), f"racks.rows[{number}].racks")
        for index, (name, path) in enumerate(names):
            if name in racks:
                message = f"rack `{name}` stands in row `{racks[name].row}` already"
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
    intent: RacksIntent, racks: Collection[str], devices: Collection[str], where: Places
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
    intent: RacksIntent, entries: Sequence[_Entry], where: Places
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
            for place, name in enumerate(devices):
                unit, why = _unit(intent.units, units, entry.keys, place)
                if why:
                    full.append((name, rack, why))
                    continue
                units.update(dict.fromkeys(range(unit, unit + entry.keys.height), name))
                places[name] = RackPlace(rack, unit, entry.keys.height, entry.keys.power_w)
        if full:
            found.append(_no_room(entry, full, where))
    return places, found


def _unit(units: int, taken: dict[int, str], keys: Placed, place: int) -> tuple[int, str]:
    """Return the lowest unit of the device with that ``place`` in a rack, and why it cannot stand there."""
    if keys.unit is not None:
        unit = keys.unit + place * keys.height
        top = unit + keys.height - 1
        if top > units:
            return unit, f"its units {unit} to {top} end above the {units} of a rack"
        in_the_way = next((taken[one] for one in range(unit, top + 1) if one in taken), "")
        return unit, f"its units {unit} to {top} are taken by {in_the_way}" if in_the_way else ""
    for unit in range(1, units - keys.height + 2):
        if not any(one in taken for one in range(unit, unit + keys.height)):
            return unit, ""
    free = units - len(taken)
    return 0, f"no {counted(keys.height, 'unit')} in a row are free, {free} of {units} in all"


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
