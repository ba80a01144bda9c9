"""The pictures of a fabric: all of it, one pod, one stripe, one device with its neighbors.

Up to a number of devices a band, each is a block of its own; above it, devices with the same place share a block.
Stripes and pods are columns beside each other; if there are many, those built alike become one column, with a unit for
each.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from railweave.drawing.scene import DeviceBlock, Scene, Unit, bundles, short
from railweave.errors import UsageError
from railweave.fabric.devices import Host, NodeRole, Switch
from railweave.fabric.model import Fabric
from railweave.wording import compact, counted, natural_key, nearest, plural

MOST_DRAWN = 16
"""Most devices of a band that are drawn one by one."""

MOST_COLUMNS = 8
"""Most stripes or pods that are drawn beside each other."""

FABRIC = "fabric"
"""The key of the picture of everything."""

Device = Switch | Host


class _PartColumn(NamedTuple):
    """Stripes or pods (``kind``) that are built alike, by their numbers, with the devices of each."""

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
        """Return the key of the picture of the stripe or pod; empty for several."""
        if len(self.numbers) > 1:
            return ""
        return f"{self.kind}-{self.numbers[0]}"


class _Views:
    """The pictures of one fabric, with single devices in bands of up to ``most``."""

    def __init__(self, fabric: Fabric, most: int) -> None:
        self.fabric = fabric
        self.most = most
        self.bands = (*(tier.plural for tier in reversed(fabric.tiers)), "nodes")

    def scene(self, key: str, title: str, about: str, rows: Sequence[Sequence[Device]], kind: str) -> Scene:
        """Return the picture of devices in rows, from the top.

        Devices of a stripe or pod (``kind``) are drawn in columns, others across them.
        """
        assert all(rows), f"{key} has a band without devices"  # noqa: S101  callers leave such bands out
        columns = self._columns(rows, kind)
        blocks: list[DeviceBlock] = []
        for row in rows:
            blocks += self._row(row, columns, kind)
        # A picture of a part may lack a tier; its bands are counted without it.
        bands = sorted({block.band for block in blocks})
        blocks = [block._replace(band=bands.index(block.band)) for block in blocks]
        band_titles = tuple(self.bands[band] for band in bands)
        column_titles = tuple(column.title for column in columns)
        return Scene(
            key=key,
            title=title,
            about=about,
            bands=band_titles,
            columns=column_titles,
            blocks=tuple(blocks),
            bundles=bundles(self.fabric, blocks),
        )

    def _columns(self, rows: Sequence[Sequence[Device]], kind: str) -> list[_PartColumn]:
        """Return a column for each stripe or pod; if there are many, one for all that have the same devices."""
        devices_of_part: dict[int, list[Device]] = {}
        for device in chain.from_iterable(rows):
            number = self._part(device, kind)
            if number is not None:
                devices_of_part.setdefault(number, []).append(device)
        parts = {number: tuple(devices_of_part[number]) for number in sorted(devices_of_part)}
        if len(parts) <= MOST_COLUMNS:
            return [_PartColumn((number,), kind, {number: devices}) for number, devices in parts.items()]
        # A large fabric has few kinds of parts. The key: how many devices of each band, model and kind a part has.
        parts_built_alike: dict[Hashable, dict[int, tuple[Device, ...]]] = {}
        for number, devices in parts.items():
            counts = Counter((self._band(device), _model(device), _noun(device)) for device in devices)
            parts_built_alike.setdefault(frozenset(counts.items()), {})[number] = devices
        return [_PartColumn(tuple(alike), kind, alike) for alike in parts_built_alike.values()]

    def _row(self, row: Sequence[Device], columns: Sequence[_PartColumn], kind: str) -> Iterator[DeviceBlock]:
        """Yield the blocks of a row: those across all columns, then column by column."""
        # Spines of all stripes, or super-spines of all pods.
        across = [device for device in row if self._part(device, kind) is None]
        for group in self._groups(across):
            yield self._block(group, None)
        for index, column in enumerate(columns):
            in_band = self._in_band(column, self._band(row[0]))
            if len(column.numbers) == 1:
                (devices,) = in_band.values()
                yield from self._blocks_of_part(devices, row, index, column, by_rail=len(columns) == 1)
            elif any(in_band.values()):
                yield self._block_of_parts(in_band, index, column)

    def _blocks_of_part(
        self, devices: Sequence[Device], row: Sequence[Device], index: int, column: _PartColumn, *, by_rail: bool
    ) -> Iterator[DeviceBlock]:
        """Yield the blocks of the devices that a single stripe or pod has in a row; ``index`` is that of its column.

        If the row has many devices, those that are alike share a block.
        """
        if len(row) <= self.most:
            for device in devices:
                yield self._block([device], index)
        else:
            for alike_devices in _alike(devices, by_rail=by_rail):
                yield self._block(alike_devices, index, column)

    def _in_band(self, column: _PartColumn, band: int) -> dict[int, list[Device]]:
        """Return the devices of a band in each stripe or pod of a column."""
        in_band = {}
        for number, devices in column.devices.items():
            in_band[number] = [device for device in devices if self._band(device) == band]
        return in_band

    def _groups(self, devices: Sequence[Device]) -> list[list[Device]]:
        """Return devices in groups of one. Many devices are grouped by network and group, very many by network."""
        if len(devices) <= self.most:
            return [[device] for device in devices]
        by_group: dict[Hashable, list[Device]] = {}
        by_network: dict[Hashable, list[Device]] = {}
        for device in devices:
            network: Hashable = None
            group = None
            if isinstance(device, Switch):
                network = self.fabric.network_of(device)
                group = device.group
            by_network.setdefault(network, []).append(device)
            by_group.setdefault((network, group), []).append(device)
        if len(by_group) > self.most:
            return list(by_network.values())
        return list(by_group.values())

    def _block(self, devices: Sequence[Device], index: int | None, column: _PartColumn | None = None) -> DeviceBlock:
        """Return the block of one device under its name, or of several under their number.

        ``index`` is that of the column, None across all of them. The block of several opens the picture of ``column``.
        """
        first = devices[0]
        units = tuple(
            Unit(name=short(self.fabric, device.name), opens=f"device-{device.name}", devices=(device.name,))
            for device in devices
        )
        subtitle = _models(devices)
        if len(devices) == 1:
            if isinstance(first, Switch):
                subtitle = _place_text(self.fabric, first)
            return self._device_block(units[0].name, subtitle, index, units, units[0].opens, devices)
        rail = _rail_of_all(devices)
        if rail is not None:
            subtitle = f"rail {rail}"
        title = counted(len(devices), _noun(first))
        opens = column.opens if column else ""
        return self._device_block(title, subtitle, index, units, opens, devices)

    def _block_of_parts(self, in_band: Mapping[int, Sequence[Device]], index: int, column: _PartColumn) -> DeviceBlock:
        """Return the block of the devices that several stripes or pods have in one band, with a unit for each part."""
        devices = list(chain.from_iterable(in_band.values()))
        title = counted(len(devices), _noun(devices[0]))
        subtitle = _models(devices)
        counts = {len(part_devices) for part_devices in in_band.values()}
        if len(counts) == 1:
            subtitle = f"{counts.pop()} in each {column.kind}"
        units = []
        for number, part_devices in in_band.items():
            if part_devices:
                names = tuple(device.name for device in part_devices)
                units.append(Unit(name=f"{column.kind} {number}", opens=f"{column.kind}-{number}", devices=names))
        return self._device_block(title, subtitle, index, tuple(units), "", devices)

    def _device_block(
        self,
        title: str,
        subtitle: str,
        index: int | None,
        units: tuple[Unit, ...],
        opens: str,
        devices: Sequence[Device],
    ) -> DeviceBlock:
        """Return the block of devices of one band, with their level, their planes, and the rail that they share."""
        first = devices[0]
        level = None
        if isinstance(first, Switch):
            level = first.tier.level
        switches = [device for device in devices if isinstance(device, Switch)]
        rails: frozenset[int] = frozenset()
        rail = _rail_of_all(switches)
        if rail is not None:
            rails = frozenset((rail,))
        return DeviceBlock(
            key=units[0].devices[0],
            title=title,
            subtitle=subtitle,
            level=level,
            band=self._band(first),
            column=index,
            units=units,
            opens=opens,
            rails=rails,
            planes=frozenset(switch.plane for switch in switches),
        )

    def _band(self, device: Device) -> int:
        """Return the band of a device from the top: tiers are numbered from the leaves, and nodes are below them."""
        if isinstance(device, Host):
            return len(self.fabric.tiers)
        return len(self.fabric.tiers) - 1 - device.tier.level

    def _part(self, device: Device, kind: str) -> int | None:
        """Return the number of a device's stripe or pod (``kind``), None if it belongs to no single one."""
        if kind != "pod":
            return device.stripe
        if isinstance(device, Host):
            return self.fabric.pod_of(device)
        return device.pod


def fabric_scene(fabric: Fabric, most: int = MOST_DRAWN) -> Scene:
    """Return the picture of the whole fabric: its pods beside each other, or its stripes if it has no pods."""
    kind = "pod" if fabric.has_pods else "stripe"
    rows: list[Sequence[Device]] = [*reversed(fabric.tier_switches), fabric.hosts]
    switch_counts = []
    for tier, switches in zip(fabric.tiers, fabric.tier_switches, strict=True):
        switch_counts.append(tier.counted(len(switches)))
    about = ", ".join((counted(len(fabric.hosts), "node"), *switch_counts, counted(len(fabric.links), "cable")))
    return _Views(fabric, most).scene(FABRIC, f"Fabric {fabric.name}", about, [row for row in rows if row], kind)


def pod_scene(fabric: Fabric, pod: int, most: int = MOST_DRAWN) -> Scene:
    """Return the picture of a pod: its stripes beside each other, and the switches that join it to other pods."""
    switches = [switch for switch in fabric.switches if switch.pod == pod]
    hosts = [host for host in fabric.hosts if fabric.pod_of(host) == pod]
    return _part_scene(fabric, f"pod-{pod}", f"Pod {pod}", switches, hosts, most)


def stripe_scene(fabric: Fabric, stripe: int, most: int = MOST_DRAWN) -> Scene:
    """Return the picture of a stripe: the nodes that share switches, these switches, and those above them."""
    switches = [switch for switch in fabric.switches if switch.stripe == stripe]
    hosts = [host for host in fabric.hosts if host.stripe == stripe]
    return _part_scene(fabric, f"stripe-{stripe}", f"Stripe {stripe}", switches, hosts, most)


def device_scene(fabric: Fabric, name: str, most: int = MOST_DRAWN) -> Scene:
    """Return the picture of a switch or GPU node with its neighbors.

    Raises UsageError for an unknown device, with the nearest name.
    """
    device = _device(fabric, name)
    above = [fabric.switch_of[upper] for upper in sorted(fabric.above(name), key=natural_key)]
    lower_names = sorted({link.lower for link in fabric.downlinks_of[name]}, key=natural_key)
    below = [fabric.switch_of.get(lower) or fabric.host_of[lower] for lower in lower_names]
    rows: list[Sequence[Device]] = [row for row in (above, [device], below) if row]
    links = fabric.links_of.get(name) or fabric.uplinks_of[name]
    about = counted(len(links), "cable")
    return _Views(fabric, most).scene(f"device-{name}", name, about, rows, "stripe")


def _device(fabric: Fabric, name: str) -> Device:
    """Return a switch or node by its name; raises UsageError for an unknown one, with the nearest name."""
    device: Device | None = fabric.switch_of.get(name) or fabric.host_of.get(name)
    if device is not None:
        return device
    message = f"no device {name!r} in fabric {fabric.name}"
    nearest_name = nearest(name, list(fabric.ports_of))
    if nearest_name:
        message += f"; did you mean {nearest_name}?"
    raise UsageError(message)


def part_keys(fabric: Fabric) -> tuple[str, ...]:
    """Return the keys of the pictures of pods and stripes.

    A single stripe has no picture of its own if that of the whole fabric shows each device.
    """
    keys = [f"pod-{pod}" for pod in _numbers(fabric, "pod")]
    stripes = _numbers(fabric, "stripe")
    is_whole_in_full = all(len(band) <= MOST_DRAWN for band in (*fabric.tier_switches, fabric.hosts))
    if len(stripes) > 1 or not is_whole_in_full:
        keys += (f"stripe-{stripe}" for stripe in stripes)
    return tuple(keys)


def _numbers(fabric: Fabric, kind: str) -> list[int]:
    """Return the numbers of the pods or stripes of a fabric."""
    return sorted({getattr(switch, kind) for switch in fabric.switches} - {None})


def scene_of(fabric: Fabric, key: str, most: int = MOST_DRAWN) -> Scene:
    """Return a picture by its key: ``fabric``, ``pod-1``, ``stripe-3``, ``device-NAME`` or the name of a device.

    Raises UsageError for a picture that the fabric does not have.
    """
    if key == FABRIC:
        return fabric_scene(fabric, most)
    kind, _, number = key.partition("-")
    make_scene = {"pod": pod_scene, "stripe": stripe_scene}.get(kind)
    if make_scene is not None and number.isdecimal():
        _require_part(fabric, kind, int(number))
        return make_scene(fabric, int(number), most)
    # A device may be called `device-1` itself.
    if key in fabric.ports_of:
        return device_scene(fabric, key, most)
    return device_scene(fabric, key.removeprefix("device-"), most)


def _require_part(fabric: Fabric, kind: str, number: int) -> None:
    """Raise UsageError for a pod or stripe that the fabric does not have."""
    numbers = _numbers(fabric, kind)
    if number in numbers:
        return
    parts = f"no {plural(kind)}"
    if numbers:
        parts = compact(f"{kind}-{part}" for part in numbers)
    raise UsageError(f"no {kind} {number} in fabric {fabric.name}: it has {parts}")


def _part_scene(
    fabric: Fabric, key: str, title: str, switches: Sequence[Switch], hosts: Sequence[Host], most: int
) -> Scene:
    """Return the picture of some switches and nodes, and of the switches outside that their highest tier leads to."""
    above = _outside_above(fabric, switches)
    by_level: dict[int, list[Switch]] = {}
    for switch in switches:
        by_level.setdefault(switch.tier.level, []).append(switch)
    inside: list[Sequence[Device]] = [by_level[level] for level in sorted(by_level, reverse=True)]
    if hosts:
        inside.append(hosts)
    about = ", ".join(counted(len(row), _noun(row[0])) for row in inside)
    if not above:
        return _Views(fabric, most).scene(key, title, about, inside, "stripe")
    about += f"; above it {counted(len(above), _noun(above[0]))}"
    return _Views(fabric, most).scene(key, title, about, [above, *inside], "stripe")


def _alike(devices: Sequence[Device], *, by_rail: bool) -> Iterable[list[Device]]:
    """Return devices of a column in groups: switches by model and rail or plane, nodes by entry of the intent."""
    groups: dict[Hashable, list[Device]] = {}
    for device in devices:
        if isinstance(device, Host):
            group = device.kind
        elif by_rail and device.rail is not None:
            group = f"rail {device.rail}"
        else:
            group = f"plane {device.plane}"
        groups.setdefault((group, _model(device)), []).append(device)
    return groups.values()


def _rail_of_all(devices: Iterable[Device]) -> int | None:
    """Return the rail that all devices serve, None if they serve different rails or one of them serves several."""
    rails = {device.rail if isinstance(device, Switch) else None for device in devices}
    return rails.pop() if len(rails) == 1 else None


def _model(device: Device) -> str:
    """Return the model of a switch, or of a node's NICs."""
    return device.panel.model if isinstance(device, Switch) else device.nic_model


def _models(devices: Iterable[Device]) -> str:
    counts = Counter(map(_model, devices))
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{count:,} × {model}" for model, count in counts.most_common())


def _outside_above(fabric: Fabric, switches: Sequence[Switch]) -> list[Switch]:
    """Return the switches outside to which the highest tier of ``switches`` leads."""
    highest = max(switch.tier.level for switch in switches)
    above: set[str] = set()
    for switch in switches:
        if switch.tier.level == highest:
            above.update(fabric.above(switch.name))
    above.difference_update(switch.name for switch in switches)
    return [fabric.switch_of[name] for name in sorted(above, key=natural_key)]


def _noun(device: Device) -> str:
    """Return a noun for a device: the name of its tier, ``GPU node``, ``storage node``."""
    if isinstance(device, Switch):
        return device.tier.name
    if device.role is NodeRole.GPU:
        return "GPU node"
    return f"{device.role.value} node"


def _place_text(fabric: Fabric, switch: Switch) -> str:
    """Return the place of a switch: ``rail 2``, ``plane 1``, or its AS number if it serves all rails and planes."""
    places = []
    if switch.rail is not None:
        places.append(f"rail {switch.rail}")
    if fabric.planes > 1:
        places.append(f"plane {switch.plane}")
    return ", ".join(places) or f"AS {switch.asn}"
