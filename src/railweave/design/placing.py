"""Racks: every device of the fabric gets one place, in free rack units and within the power limit of the rack.

Entries that state a unit are placed first. The others then get the lowest free units, in the order of the intent.
"""

from collections import defaultdict
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
    """An entry of ``racks.devices`` with the existing devices and racks that it names."""

    keys: Placed
    path: str
    devices: list[str]
    racks: list[str]

    @property
    def per_rack(self) -> int:
        """Return how many devices each rack gets at most."""
        return self.keys.per_rack or ceil(len(self.devices) / max(1, len(self.racks)))

    def in_racks(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield each rack with the devices that it gets."""
        for index, rack in enumerate(self.racks):
            first = index * self.per_rack
            yield rack, self.devices[first : first + self.per_rack]


def place_devices(
    intent: RacksIntent, devices: Mapping[str, Housing | None], where: Places, is_of_other_fabric: Callable[[str], bool]
) -> tuple[RackLayout | None, tuple[Diagnostic, ...]]:
    """Return the racks with all ``devices``, or None and the errors.

    ``devices`` maps names to housings, None for a device without one in the catalog. A housing gives the height and
    power that an entry does not state. ``where`` gives the place of an intent path. Entries may also name devices of
    other fabrics in the same racks; these are left out.
    """
    racks, rack_errors = _racks(intent, where)
    entries, device_errors = _entries(intent, racks, devices, where, is_of_other_fabric)
    if rack_errors or device_errors:
        # Room is checked once all names are right: a mistyped one would be reported again as missing room.
        return None, (*rack_errors, *device_errors)
    sizes: dict[str, _Size] = {}
    size_errors: list[Diagnostic] = []
    for entry in entries:
        for name in entry.devices:
            sizes[name] = _size(entry.keys, devices[name])
        size_errors += _size_errors(intent, entry, sizes, where)
    if size_errors:
        return None, tuple(size_errors)
    places, room_errors = _fill(intent, entries, sizes, where)
    if room_errors:
        return None, tuple(room_errors)
    power_errors = tuple(_power_errors(intent, places, where))
    if power_errors:
        return None, power_errors
    return _layout(intent, racks, places), ()


def _layout(intent: RacksIntent, racks: Mapping[str, Rack], places: Mapping[str, RackPlace]) -> RackLayout:
    """Return the racks with all devices in their places."""
    tray_mm = intent.tray_mm
    if tray_mm is None:
        tray_mm = top_mm(intent.units)
    trunks = None
    if intent.trunks is not None:
        trunks = Trunks(intent.trunks.connectors, intent.trunks.cord_m)
    return RackLayout(
        units=intent.units, tray_mm=tray_mm, slack_mm=intent.slack_mm, racks=racks, places=places, trunks=trunks
    )


class _Size(NamedTuple):
    """Rack units and watts of a device; None if neither its entry nor the catalog has them."""

    height: int | None
    power_w: int | None


def _size(keys: Placed, housing: Housing | None) -> _Size:
    """Return the size of a device as its entry states it, or else as its housing has it."""
    height = keys.height
    power_w = keys.power_w
    if housing is not None and height is None:
        height = housing.rack_units
    if housing is not None and power_w is None:
        power_w = housing.max_power_w
    return _Size(height, power_w)


def _size_errors(
    intent: RacksIntent, entry: _RackEntry, sizes: Mapping[str, _Size], where: Places
) -> Iterator[Diagnostic]:
    """Yield the keys that an entry has to state: the height of its devices, and their power if racks have a limit."""
    without_height = [name for name in entry.devices if sizes[name].height is None]
    if without_height:
        message = (
            f"key `height` is missing in `{entry.path}`, and the catalog has no rack units of {compact(without_height)}"
        )
        fix = "add `height`: rack units of one of them"
        yield error(MISSING, message, where(f"{entry.path}.height"), fix=fix, devices=tuple(without_height))
    without_power = [name for name in entry.devices if sizes[name].power_w is None]
    if intent.power_w is not None and without_power:
        message = f"key `power_w` is missing in `{entry.path}`, and `racks.power_w` limits what a rack draws"
        fix = "add `power_w`: watts that one of them draws at most; or leave out `racks.power_w`"
        yield error(MISSING, message, where(f"{entry.path}.power_w"), fix=fix, devices=tuple(without_power))


def _racks(intent: RacksIntent, where: Places) -> tuple[dict[str, Rack], list[Diagnostic]]:
    """Return the racks by name, each at its place in the hall, and the errors of names that are used twice."""
    racks: dict[str, Rack] = {}
    diagnostics: list[Diagnostic] = []
    across_mm = 0
    for number, row in enumerate(intent.rows):
        path = f"racks.rows[{number}]"
        across_mm += row.distance_mm or 0
        if any(row.name == row_before.name for row_before in intent.rows[:number]):
            message = f"a row before is named `{row.name}` too"
            fix = "give each row a name of its own"
            diagnostics.append(error(UNPLACED, message, where(f"{path}.name"), fix=fix))
        for position, rack in enumerate(_names(row.racks, (), f"{path}.racks")):
            if rack.name in racks:
                message = f"rack `{rack.name}` is already in row `{racks[rack.name].row}`"
                fix = "list each rack once, under a name of its own"
                diagnostics.append(error(UNPLACED, message, where(rack.path), fix=fix))
            else:
                along_mm = row.start_mm + position * intent.rack_distance_mm
                racks[rack.name] = Rack(rack.name, row.name, along_mm, across_mm)
    return racks, diagnostics


class _Name(NamedTuple):
    """A name with the intent path of the text that it is written in."""

    name: str
    path: str


def _names(texts: Sequence[str], existing: Collection[str], path: str) -> Iterator[_Name]:
    """Yield the names that the texts of a list at ``path`` stand for."""
    for index, text in enumerate(texts):
        for name in _names_of(text, existing):
            yield _Name(name, f"{path}[{index}]")


def _names_of(text: str, existing: Collection[str]) -> Sequence[str]:
    """Return the names that a text stands for.

    A text is a name, a range, or a stem with ``*``, which stands for all existing names of the stem and a number. A
    name, and a stem without a match, stay as they are.
    """
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
    is_of_other_fabric: Callable[[str], bool],
) -> tuple[list[_RackEntry], list[Diagnostic]]:
    """Return the entries of ``racks.devices``, the errors of names in them, and the error of devices in no entry."""
    entries = []
    diagnostics: list[Diagnostic] = []
    placed: dict[str, str] = {}
    for index, keys in enumerate(intent.devices):
        entry = _RackEntry(keys, f"racks.devices[{index}]", [], [])
        entries.append(entry)
        diagnostics += _add_devices(entry, placed, devices, where, is_of_other_fabric)
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
    is_of_other_fabric: Callable[[str], bool],
) -> Iterator[Diagnostic]:
    """Add the devices that an entry names to it and to ``placed``, and yield the errors of its names.

    ``placed`` has the devices of all entries so far, each with the path that names it.
    """
    unknown: defaultdict[str, list[str]] = defaultdict(list)
    placed_before: defaultdict[str, list[str]] = defaultdict(list)
    for name, path in _names(entry.keys.devices, devices, f"{entry.path}.devices"):
        if name in placed:
            placed_before[path].append(name)
        elif name in devices:
            placed[name] = path
            entry.devices.append(name)
        elif not is_of_other_fabric(name):
            unknown[path].append(name)
    for path, names in unknown.items():
        yield _no_device(names, devices, where(path))
    for path, names in placed_before.items():
        yield _placed_twice(names, where(path), where(placed[names[0]]))


def _add_racks(entry: _RackEntry, racks: Collection[str], where: Places) -> Iterator[Diagnostic]:
    """Add the racks that an entry names to it, and yield an error for each name that no rack has."""
    for name, path in _names(entry.keys.racks, racks, f"{entry.path}.racks"):
        if name in racks:
            entry.racks.append(name)
        else:
            fix = f"{suggestion(name, tuple(racks))}list it in a row, or name one of {compact(racks)}"
            yield error(UNPLACED, f"no row has a rack `{name}`", where(path), fix=fix)


def _has(names: Sequence[str]) -> str:
    """Return names with the verb of a sentence about what they have."""
    if len(names) == 1:
        return f"{compact(names)} has"
    return f"{compact(names)} have"


def _no_device(names: Sequence[str], devices: Collection[str], where: Where) -> Diagnostic:
    fix = f"{suggestion(names[0], tuple(devices))}the fabric has {compact(devices)}"
    return error(UNPLACED, f"the fabric has no {compact(names)}", where, fix=fix)


def _placed_twice(names: Sequence[str], where: Where, before: Where) -> Diagnostic:
    message = f"{_has(names)} a place in line {before.line} already"
    return error(UNPLACED, message, where, fix="give each device one place", devices=tuple(names))


class _OpenRack(NamedTuple):
    """A rack while devices are placed in it."""

    name: str
    # The number of its units.
    units: int
    # The device in each unit that is taken.
    device_in: dict[int, str]

    def take(self, unit: int, height: int, device: str) -> None:
        """Place a device in the units from ``unit`` upwards."""
        self.device_in.update(dict.fromkeys(range(unit, unit + height), device))

    def lowest_free(self, height: int) -> int | None:
        """Return the lowest unit at which ``height`` units in a row are free, None if there is none."""
        for unit in range(1, self.units - height + 2):
            if self.device_in.keys().isdisjoint(range(unit, unit + height)):
                return unit
        return None

    def none_free_reason(self, height: int) -> str:
        """Return why no device of a height has room, for a message."""
        free = self.units - len(self.device_in)
        if height == 1:
            return f"no rack unit is free, {free} of {self.units} in all"
        return f"no {height} adjacent rack units are free, {free} of {self.units} in all"

    def occupied_reason(self, unit: int, height: int) -> str:
        """Return why a device does not fit at ``unit``, for a message; empty if it does."""
        top = unit + height - 1
        if top > self.units:
            return f"its units {unit} to {top} end above the {self.units} of a rack"
        for device_unit in range(unit, top + 1):
            if device_unit in self.device_in:
                return f"its units {unit} to {top} are taken by {self.device_in[device_unit]}"
        return ""


def _fill(
    intent: RacksIntent, entries: Sequence[_RackEntry], sizes: Mapping[str, _Size], where: Places
) -> tuple[dict[str, RackPlace], list[Diagnostic]]:
    """Return the places of all devices, and an error for each entry with devices that have no room."""
    places: dict[str, RackPlace] = {}
    open_racks: dict[str, _OpenRack] = {}
    diagnostics: list[Diagnostic] = []
    # Entries that state a unit come first.
    for entry in sorted(entries, key=lambda entry: entry.keys.unit is None):
        room = entry.per_rack * len(entry.racks)
        if len(entry.devices) > room:
            racks_text = f"{counted(len(entry.racks), 'rack')} with {entry.per_rack} each"
            message = f"{counted(len(entry.devices), 'device')} do not fit in {racks_text}"
            fix = "name more racks, or raise `per_rack`"
            diagnostics.append(error(NO_ROOM, message, where(f"{entry.path}.racks"), fix=fix))
            continue
        unplaced: list[_UnplacedDevice] = []
        for name, devices in entry.in_racks():
            rack = open_racks.setdefault(name, _OpenRack(name, intent.units, {}))
            unplaced += _fill_rack(rack, devices, entry.keys.unit, sizes, places)
        if unplaced:
            diagnostics.append(_no_room(entry, unplaced, where))
    return places, diagnostics


class _UnplacedDevice(NamedTuple):
    """A device without room in its rack, and why."""

    device: str
    rack: str
    reason: str


def _fill_rack(
    rack: _OpenRack,
    devices: Sequence[str],
    stated_unit: int | None,
    sizes: Mapping[str, _Size],
    places: dict[str, RackPlace],
) -> Iterator[_UnplacedDevice]:
    """Add the places of devices in a rack to ``places``, and yield the devices without room.

    They are placed from ``stated_unit`` upwards, or in the lowest free units if it is None.
    """
    next_unit = stated_unit
    for name in devices:
        height = sizes[name].height or 1
        if next_unit is None:
            unit = rack.lowest_free(height)
            if unit is None:
                yield _UnplacedDevice(name, rack.name, rack.none_free_reason(height))
                continue
        else:
            unit = next_unit
            # The next device is above this one, whether or not this one fits.
            next_unit += height
            reason = rack.occupied_reason(unit, height)
            if reason:
                yield _UnplacedDevice(name, rack.name, reason)
                continue
        rack.take(unit, height, name)
        places[name] = RackPlace(rack.name, unit, height, sizes[name].power_w)


def _no_room(entry: _RackEntry, unplaced: Sequence[_UnplacedDevice], where: Places) -> Diagnostic:
    """Return the error of an entry with devices without room; it gives the reason of the first."""
    first, *others = unplaced
    message = f"there is no room for {first.device} in rack {first.rack}: {first.reason}"
    if len(others) == 1:
        message += "; 1 other of this entry has no room either"
    elif others:
        message += f"; {counted(len(others), 'other')} of this entry have no room either"
    path = f"{entry.path}.racks"
    fix = "name more racks, or move others away"
    if entry.keys.unit is not None:
        path = f"{entry.path}.unit"
        fix = "choose other units, or place fewer in each rack"
    return error(NO_ROOM, message, where(path), fix=fix, devices=tuple(device.device for device in unplaced))


def _power_errors(intent: RacksIntent, places: dict[str, RackPlace], where: Places) -> Iterator[Diagnostic]:
    """Yield an error for racks above the power limit, one for all racks that draw the same power."""
    if intent.power_w is None:
        return
    draw_w_of: defaultdict[str, int] = defaultdict(int)
    for place in places.values():
        draw_w_of[place.rack] += place.power_w or 0
    overloaded: defaultdict[int, list[str]] = defaultdict(list)
    for rack, draw_w in draw_w_of.items():
        if draw_w > intent.power_w:
            overloaded[draw_w].append(rack)
    for draw_w, racks in overloaded.items():
        subject = f"rack {racks[0]} draws"
        if len(racks) > 1:
            subject = f"racks {compact(racks)} each draw"
        message = f"{subject} {draw_w:,} W, and a rack may draw {intent.power_w:,} W"
        yield error(NO_ROOM, message, where("racks.power_w"), fix="place fewer devices in them, or raise `power_w`")
