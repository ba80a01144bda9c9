"""The pictures of a fabric: all of it, one pod, one stripe, one device with its neighbors.

Devices are drawn one by one up to a number a band, above it as blocks of those with the same place. Stripes and pods
stand beside each other; where they are many, those that are built alike become one column, whose units are they.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from railweave.drawing.scene import Block, Scene, Unit, bundles, short
from railweave.errors import UsageError
from railweave.fabric.model import Fabric, Host, NodeRole, Switch
from railweave.wording import compact, counted, natural_key, nearest, plural

MOST_DRAWN = 16
"""Devices of a band that are drawn one by one."""

MOST_COLUMNS = 8
"""Stripes or pods that stand beside each other."""

FABRIC = "fabric"
"""The key of the picture of everything."""

Device = Switch | Host


class _Column(NamedTuple):
    """What stands above each other: stripes or pods that are built alike, by their numbers."""

    numbers: tuple[int, ...]
    kind: str
    devices: Mapping[int, tuple[Device, ...]]

    @property
    def title(self) -> str:
        if len(self.numbers) == 1:
            return f"{self.kind} {self.numbers[0]}"
        return f"{counted(len(self.numbers), self.kind)}: {compact(map(str, self.numbers))}"

    @property
    def opens(self) -> str:
        return f"{self.kind}-{self.numbers[0]}" if len(self.numbers) == 1 else ""


class _Views:
    """The pictures of one fabric, of ``most`` devices a band at most."""

    def __init__(self, fabric: Fabric, most: int) -> None:
        self.fabric, self.most = fabric, most
        self.bands = (*(tier.plural for tier in reversed(fabric.tiers)), "nodes")

    def scene(self, key: str, title: str, about: str, rows: Sequence[Sequence[Device]], kind: str) -> Scene:
        """Return the picture of devices in rows, from the top; those that are in parts of a ``kind`` (stripe, pod) are
        drawn in columns, others across them."""
        columns = self._columns(rows, kind)
        blocks = [block for row in rows for block in self._row(row, columns, kind)]
        empty = {number for number, row in enumerate(rows) if not row}
        assert not empty, f"{key} has a band without devices"  # noqa: S101  callers leave such bands out
        shown = {block.band for block in blocks}
        order = {band: place for place, band in enumerate(sorted(shown))}
        blocks = [block._replace(band=order[block.band]) for block in blocks]
        titles = tuple(self.bands[band] for band in sorted(shown))
        return Scene(
            key, title, about, titles, tuple(one.title for one in columns), tuple(blocks), bundles(self.fabric, blocks)
        )

    def _columns(self, rows: Sequence[Sequence[Device]], kind: str) -> list[_Column]:
        parts: dict[int, list[Device]] = {}
        for device in (one for row in rows for one in row):
            if (number := self._part(device, kind)) is not None:
                parts.setdefault(number, []).append(device)
        if len(parts) <= MOST_COLUMNS:
            return [_Column((number,), kind, {number: tuple(parts[number])}) for number in sorted(parts)]
        alike: dict[Hashable, list[int]] = {}
        for number in sorted(parts):
            built = Counter((self._band(one), _model(one), _sort(one)) for one in parts[number])
            alike.setdefault(frozenset(built.items()), []).append(number)
        return [_Column(tuple(some), kind, {one: tuple(parts[one]) for one in some}) for some in alike.values()]

    def _row(self, row: Sequence[Device], columns: Sequence[_Column], kind: str) -> Iterator[Block]:
        band = self._band(row[0])
        across = [one for one in row if self._part(one, kind) is None]
        if across:
            groups = self._groups(across)
            yield from (self._block(some, None) for some in groups)
        for place, column in enumerate(columns):
            held = {
                number: [one for one in devices if self._band(one) == band]
                for number, devices in column.devices.items()
            }
            if not any(held.values()):
                continue
            if len(column.numbers) > 1:
                yield self._many(held, place, column)
            elif len(row) <= self.most:
                yield from (self._block([one], place) for one in held[column.numbers[0]])
            else:
                parts = _sorted_out(held[column.numbers[0]], by_rail=len(columns) == 1)
                yield from (self._block(some, place, column) for some in parts)

    def _groups(self, devices: Sequence[Device]) -> list[list[Device]]:
        """Return devices one by one, or by the networks and groups that they are of where they are many."""
        if len(devices) <= self.most:
            return [[one] for one in devices]
        by_place: dict[Hashable, list[Device]] = {}
        by_network: dict[Hashable, list[Device]] = {}
        for one in devices:
            network = self.fabric.network_of(one) if isinstance(one, Switch) else None
            by_network.setdefault(network, []).append(one)
            by_place.setdefault((network, one.group if isinstance(one, Switch) else None), []).append(one)
        return list((by_place if len(by_place) <= self.most else by_network).values())

    def _block(self, devices: Sequence[Device], place: int | None, column: _Column | None = None) -> Block:
        first = devices[0]
        title = short(self.fabric, first.name)
        subtitle = _models(devices)
        opens = f"device-{first.name}"
        if len(devices) > 1:
            title, opens = counted(len(devices), _sort(first)), column.opens if column else ""
            rails = {one.rail if isinstance(one, Switch) else None for one in devices}
            if len(rails) == 1 and None not in rails:
                subtitle = f"rail {rails.pop()}"
        elif isinstance(first, Switch):
            subtitle = _place_text(self.fabric, first)
        units = tuple(Unit(short(self.fabric, one.name), f"device-{one.name}", (one.name,)) for one in devices)
        return self._made(first, title, subtitle, place, units, opens, devices)

    def _many(self, held: Mapping[int, Sequence[Device]], place: int, column: _Column) -> Block:
        """Return the block of what several stripes or pods have in one band; its units are they."""
        every = [one for some in held.values() for one in some]
        each = {len(some) for some in held.values()}
        title = counted(len(every), _sort(every[0]))
        subtitle = f"{min(each)} in each {column.kind}" if len(each) == 1 else _models(every)
        units = tuple(
            Unit(f"{column.kind} {number}", f"{column.kind}-{number}", tuple(one.name for one in some))
            for number, some in held.items()
            if some
        )
        return self._made(every[0], title, subtitle, place, units, "", every)

    def _made(
        self,
        first: Device,
        title: str,
        subtitle: str,
        place: int | None,
        units: tuple[Unit, ...],
        opens: str,
        devices: Iterable[Device],
    ) -> Block:
        switches = [one for one in devices if isinstance(one, Switch)]
        rails = frozenset(one.rail for one in switches if one.rail is not None)
        alone = len(rails) == 1 and all(one.rail is not None for one in switches)
        return Block(
            key=units[0].devices[0],
            title=title,
            subtitle=subtitle,
            level=first.tier.level if isinstance(first, Switch) else None,
            band=self._band(first),
            column=place,
            units=units,
            opens=opens,
            rails=rails if alone else frozenset(),
            planes=frozenset(one.plane for one in switches),
        )

    def _band(self, device: Device) -> int:
        return len(self.fabric.tiers) - 1 - device.tier.level if isinstance(device, Switch) else len(self.fabric.tiers)

    def _part(self, device: Device, kind: str) -> int | None:
        if isinstance(device, Host):
            return self.fabric.pod_of(device) if kind == "pod" else device.stripe
        return device.pod if kind == "pod" else device.stripe


def fabric_scene(fabric: Fabric, most: int = MOST_DRAWN) -> Scene:
    """Return the picture of the whole fabric: its pods beside each other, or its stripes where there are no pods."""
    kind = "pod" if fabric.has_pods else "stripe"
    rows: list[Sequence[Device]] = [*reversed(fabric.tier_switches), fabric.hosts]
    made = ", ".join(tier.counted(len(some)) for tier, some in zip(fabric.tiers, fabric.tier_switches, strict=True))
    about = f"{counted(len(fabric.hosts), 'node')}, {made}, {counted(len(fabric.links), 'cable')}"
    return _Views(fabric, most).scene(FABRIC, f"Fabric {fabric.name}", about, [row for row in rows if row], kind)


def pod_scene(fabric: Fabric, pod: int, most: int = MOST_DRAWN) -> Scene:
    """Return the picture of a pod: its stripes beside each other, and what joins it to others."""
    own = [one for one in fabric.switches if one.pod == pod]
    hosts = [one for one in fabric.hosts if fabric.pod_of(one) == pod]
    return _part_scene(fabric, f"pod-{pod}", f"Pod {pod}", own, hosts, most)


def stripe_scene(fabric: Fabric, stripe: int, most: int = MOST_DRAWN) -> Scene:
    """Return the picture of a stripe: the nodes that share switches, these, and the switches above them."""
    own = [one for one in fabric.switches if one.stripe == stripe]
    hosts = [one for one in fabric.hosts if one.stripe == stripe]
    return _part_scene(fabric, f"stripe-{stripe}", f"Stripe {stripe}", own, hosts, most)


def device_scene(fabric: Fabric, name: str, most: int = MOST_DRAWN) -> Scene:
    """Return the picture of a switch or GPU node with its neighbors.

    Raises UsageError that names the nearest device for an unknown one.
    """
    device: Device | None = fabric.switch_of.get(name) or fabric.host_of.get(name)
    if device is None:
        near = nearest(name, list(fabric.ports_of))
        raise UsageError(f"no device {name!r} in fabric {fabric.name}" + (f"; did you mean {near}?" if near else ""))
    above = [fabric.switch_of[one] for one in sorted(fabric.above(name), key=natural_key)]
    below = sorted({link.lower for link in fabric.downlinks_of[name]}, key=natural_key)
    beneath = [fabric.switch_of.get(one) or fabric.host_of[one] for one in below]
    rows: list[Sequence[Device]] = [row for row in (above, [device], beneath) if row]
    about = f"{counted(len(fabric.links_of.get(name) or fabric.uplinks_of[name]), 'cable')}"
    return _Views(fabric, most).scene(f"device-{name}", name, about, rows, "stripe")


def part_keys(fabric: Fabric) -> tuple[str, ...]:
    """Return the keys of the pictures of parts: pods where there are several, stripes where a picture of the whole does
    not show their devices one by one."""
    pods = sorted({one.pod for one in fabric.switches if one.pod is not None})
    stripes = sorted({one.stripe for one in fabric.switches if one.stripe is not None})
    several = len(stripes) > 1 or any(len(some) > MOST_DRAWN for some in (*fabric.tier_switches, fabric.hosts))
    return (*(f"pod-{one}" for one in pods), *(f"stripe-{one}" for one in stripes if several))


def scene_of(fabric: Fabric, key: str, most: int = MOST_DRAWN) -> Scene:
    """Return a picture by its key: ``fabric``, ``pod-1``, ``stripe-3``, ``device-NAME`` or the name of a device.

    Raises UsageError for what the fabric does not have.
    """
    if key == FABRIC:
        return fabric_scene(fabric, most)
    kind, _, number = key.partition("-")
    makers = {"pod": pod_scene, "stripe": stripe_scene}
    if kind in makers and number.isdecimal():
        known = {getattr(one, kind) for one in fabric.switches} - {None}
        if int(number) not in known:
            has = f"it has {compact(f'{kind}-{one}' for one in known)}" if known else f"it has no {plural(kind)}"
            raise UsageError(f"no {kind} {number} in fabric {fabric.name}: {has}")
        return makers[kind](fabric, int(number), most)
    return device_scene(fabric, key.removeprefix("device-") if key not in fabric.ports_of else key, most)


def _part_scene(fabric: Fabric, key: str, title: str, own: Sequence[Switch], hosts: Sequence[Host], most: int) -> Scene:
    rows: list[Sequence[Device]] = [
        [one for one in own if one.tier.level == tier.level] for tier in reversed(fabric.tiers)
    ]
    highest = max(one.tier.level for one in own)
    inside = {one.name for one in own}
    names = dict.fromkeys(far for one in own if one.tier.level == highest for far in fabric.above(one.name))
    above = sorted((fabric.switch_of[far] for far in names if far not in inside), key=lambda one: natural_key(one.name))
    rows = [row for row in (above, *rows, hosts) if row]
    made = ", ".join(counted(len(row), _sort(row[0])) for row in rows[bool(above) :])
    outside = f"; above it {counted(len(above), _sort(above[0]))}" if above else ""
    return _Views(fabric, most).scene(key, title, made + outside, rows, "stripe")


def _sorted_out(devices: Sequence[Device], *, by_rail: bool) -> Iterator[list[Device]]:
    """Yield devices of a column by rail, or by plane, and model; nodes by their entry of the intent."""
    found: dict[Hashable, list[Device]] = {}
    for one in devices:
        place = one.kind if isinstance(one, Host) else one.rail if by_rail and one.rail is not None else f"p{one.plane}"
        found.setdefault((place, _model(one)), []).append(one)
    yield from found.values()


def _model(device: Device) -> str:
    return device.panel.model if isinstance(device, Switch) else device.nic_model


def _models(devices: Iterable[Device]) -> str:
    counts = Counter(map(_model, devices))
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{count:,} × {model}" for model, count in counts.most_common())


def _sort(device: Device) -> str:
    """Return what a device is, as a noun: the name of its tier, ``GPU node``, ``storage node``."""
    if isinstance(device, Switch):
        return device.tier.name
    return "GPU node" if device.role is NodeRole.GPU else f"{device.role.value} node"


def _place_text(fabric: Fabric, switch: Switch) -> str:
    """Return where a switch is, in a few words: ``rail 2``, ``plane 1``."""
    rail = [] if switch.rail is None else [f"rail {switch.rail}"]
    plane = [f"plane {switch.plane}"] if fabric.planes > 1 else []
    return ", ".join((*rail, *plane)) or f"AS {switch.asn}"
