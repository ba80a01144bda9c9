"""The bill of materials of a fabric: what to order, how many, and for which links.

Counted from the graph: every cage in use gets one plug, every link is in one cable. Rack units and power cover the
switches for which the catalog has a source; the catalog has no prices.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from enum import StrEnum
from itertools import chain
from typing import NamedTuple

from railweave.bom.trays import RackSummary, summarize_racks
from railweave.bom.trunks import Trunked, trunked
from railweave.cabling.assemblies import Assembly, AssemblyShape, assemblies, form_factor
from railweave.cabling.ends import CabledLink, DeviceCage, PluggedEnd, cables_of
from railweave.catalog.load import Catalog
from railweave.catalog.media import Medium, Pmd
from railweave.catalog.model import SwitchModel
from railweave.fabric.devices import Host
from railweave.fabric.management import Management
from railweave.fabric.model import Fabric
from railweave.wording import counted, listed, natural_key


class PartKind(StrEnum):
    """The kind of part of a line, in the order of the bill."""

    SWITCH = "switch"
    CARD = "card"
    NIC = "nic"
    MODULE = "module"
    CABLE = "cable"
    FIBER = "fiber"
    MANAGEMENT = "management"


class BillLine(NamedTuple):
    """One part to order."""

    # Lines are in the order of the kinds, and rules of spares are by kind.
    kind: PartKind
    # The name by which a file of prices has it.
    part: str
    # Order details, such as the HWSKU of a switch or the reach of a module.
    description: str
    # Pieces in use; in a bill against an earlier one negative for pieces no longer needed.
    quantity: int
    # The length of a cable, None for other parts.
    length_m: int | None
    # The tiers, kinds of nodes or kinds of links that use it.
    where: tuple[str, ...]
    # Pieces to order beyond ``quantity``.
    spares: int = 0
    # The price of one piece, None if no file of prices has it.
    unit_price: Decimal | None = None
    # Of one piece, None if no source states it.
    rack_units: int | None = None
    # Of one piece, None if no source states it.
    max_power_w: int | None = None

    @property
    def price(self) -> Decimal | None:
        """Return the price of all pieces, spares included."""
        if self.unit_price is None:
            return None
        return self.unit_price * (self.quantity + self.spares)


class Space(NamedTuple):
    """The rack units and the maximum power of the switches of a bill, without spares."""

    # The sum over the parts that a source states it for, None if there is none.
    rack_units: int | None
    # Likewise, in watts.
    max_power_w: int | None
    # Parts of which no source states the rack units.
    no_units: tuple[str, ...]
    # Parts of which no source states the power.
    no_power: tuple[str, ...]


class Bill(NamedTuple):
    """All parts of a fabric, or the difference from the bill of an earlier intent."""

    # The name of the fabric.
    fabric: str
    lines: tuple[BillLine, ...]
    # Sentences about parts that cannot be bought as designed.
    remarks: tuple[str, ...]
    # The revision or file of the earlier intent, empty for the whole bill.
    against: str = ""
    # An ISO 4217 code, empty without prices.
    currency: str = ""
    # Whether ports of a NIC share a cage; otherwise each counts as a cage of its own.
    shares_cages: bool = False
    # None if the intent has no racks.
    racks: RackSummary | None = None

    @property
    def total(self) -> Decimal | None:
        """Return the price of all lines that have one, None for a bill without prices."""
        if not self.currency:
            return None
        priced = [line.price for line in self.lines if line.price is not None]
        return sum(priced, Decimal(0))

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Return the parts without a price; none for a bill without prices."""
        if not self.currency:
            return ()
        return tuple(dict.fromkeys(line.part for line in self.lines if line.unit_price is None))

    def quantity(self, kind: PartKind) -> int:
        """Return the number of pieces of a kind."""
        return sum(line.quantity for line in self.lines if line.kind is kind)

    @property
    def space(self) -> Space:
        """Return the rack units and the power of the switches."""
        rack_units: int | None = None
        max_power_w: int | None = None
        no_units = []
        no_power = []
        for line in self.lines:
            if line.kind is not PartKind.SWITCH:
                continue
            if line.rack_units is None:
                no_units.append(line.part)
            else:
                rack_units = (rack_units or 0) + line.quantity * line.rack_units
            if line.max_power_w is None:
                no_power.append(line.part)
            else:
                max_power_w = (max_power_w or 0) + line.quantity * line.max_power_w
        return Space(rack_units, max_power_w, tuple(dict.fromkeys(no_units)), tuple(dict.fromkeys(no_power)))


class _Part(NamedTuple):
    """A part before it is counted; the fields are those of BillLine."""

    kind: PartKind
    part: str
    description: str
    length_m: int | None = None
    rack_units: int | None = None
    max_power_w: int | None = None


def bill(fabric: Fabric, catalog: Catalog) -> Bill:
    """Return the bill of materials of ``fabric``: its parts with remarks, and a summary of its racks if it has any."""
    cables = cables_of(fabric, catalog)
    bought = assemblies(cables)
    trunked_bill = trunked(fabric.racks, bought)
    counts: Counter[tuple[_Part, str]] = Counter()
    # The tiers and kinds of links of a line are listed in the order of counting.
    counted_parts = (
        _switches(fabric, catalog),
        _nics(fabric, catalog),
        _modules(cables),
        _cables(trunked_bill),
        _management(fabric.management),
    )
    for part, where, quantity in chain.from_iterable(counted_parts):
        counts[part, where] += quantity
    remarks = (*_without_models(fabric), *_mixed_cages(cables), *_unbuildable(bought))
    shares_cages = any(cable.lower.ports > 1 for cable in cables if cable.link.is_access)
    racks = summarize_racks(fabric, trunked_bill)
    return Bill(fabric.name, _lines(counts), remarks, shares_cages=shares_cages, racks=racks)


def _without_models(fabric: Fabric) -> Iterator[str]:
    """Yield a remark if devices have no model: their modules and cables are a guess."""
    devices = []
    if not all(switch.panel.is_model for switch in fabric.switches):
        devices.append("switches")
    if not all(host.nic_model for host in fabric.hosts):
        devices.append("NICs")
    if devices:
        yield (
            f"{listed(devices)} without a model: their modules and cables are of the cheapest medium of that speed and"
            " length; name models before ordering"
        )


class _CountedPart(NamedTuple):
    """Pieces of a part that are used at one place."""

    part: _Part
    # The name of a tier, of a kind of nodes or of a kind of links.
    where: str
    quantity: int


def _switches(fabric: Fabric, catalog: Catalog) -> Iterator[_CountedPart]:
    """Yield the switches, and the line cards of those that are a chassis."""
    for switch in fabric.switches:
        if not switch.panel.is_model:
            part = _Part(PartKind.SWITCH, f"{switch.panel.model} switch", "no model stated")
            yield _CountedPart(part, switch.tier.name, 1)
            continue
        model = catalog.switch(switch.panel.model)
        yield _CountedPart(_switch(model, switch.panel.hwsku), switch.tier.name, 1)
        if model.chassis is not None:
            card = _Part(PartKind.CARD, model.chassis.card, f"line card of {model.title}")
            yield _CountedPart(card, switch.tier.name, model.chassis.line_cards)


def _switch(model: SwitchModel, hwsku: str) -> _Part:
    """Return the part for a switch, with its rack units and power if a source states them."""
    description = f"HWSKU {hwsku}"
    if model.housing is None:
        return _Part(PartKind.SWITCH, model.title, description)
    housing = model.housing
    return _Part(
        kind=PartKind.SWITCH,
        part=model.title,
        description=description,
        rack_units=housing.rack_units,
        max_power_w=housing.max_power_w,
    )


def _nics(fabric: Fabric, catalog: Catalog) -> Iterator[_CountedPart]:
    """Yield the NICs of all nodes, described by the ports in use and their speeds."""
    for host in fabric.hosts:
        nic = catalog.find_nic(host.nic_model)
        title = "NIC without a model"
        if nic is not None:
            title = nic.title
        speeds = sorted({port.speed_gbps for port in host.ports})
        speed_titles = " and ".join(f"{speed}G" for speed in speeds)
        for ports in _ports_of_nics(host):
            part = _Part(PartKind.NIC, title, f"{counted(ports, 'port')} of {speed_titles}")
            yield _CountedPart(part, host.kind, 1)


def _ports_of_nics(host: Host) -> Iterable[int]:
    """Return the ports in use of each NIC that is bought for this fabric."""
    ports_of_nic = Counter(port.nic for port in host.ports)
    if not host.shared_ports:
        return ports_of_nic.values()
    # A NIC of several fabrics is bought for the one that has its first port.
    if host.ports[0].port:
        return ()
    return [host.shared_ports] * len(ports_of_nic)


def _cables(trunked_bill: Trunked) -> Iterator[_CountedPart]:
    """Yield the cables that stay single, then the trunks, cords and cassettes that replace the other cables."""
    for assembly in trunked_bill.single:
        yield _CountedPart(_cable(assembly), assembly.links[0].link.kind, 1)
    for trunk_part in trunked_bill.parts:
        part = _Part(PartKind.FIBER, trunk_part.part, trunk_part.description, trunk_part.length_m)
        yield _CountedPart(part, trunk_part.where, trunk_part.quantity)


def _management(planned: Management | None) -> Iterator[_CountedPart]:
    """Yield the switches of the management network, and its cables."""
    if planned is None:
        return
    where = PartKind.MANAGEMENT.value
    ports = f"{planned.switch_ports} management ports"
    switch = _Part(PartKind.MANAGEMENT, planned.model, ports)
    yield _CountedPart(switch, where, len(planned.switches))
    cable = _Part(PartKind.MANAGEMENT, "RJ45 to RJ45", "twisted pair, Cat 5e or better", planned.length_m)
    yield _CountedPart(cable, where, len(planned.ports))


def change(before: Bill, after: Bill, against: str) -> Bill:
    """Return the bill ``after`` with the pieces and spares that it needs beyond ``before``.

    They are negative for parts that are no longer needed. ``against`` names the earlier intent, that of ``before``.
    """
    quantities: Counter[BillLine] = Counter()
    spares: Counter[BillLine] = Counter()
    # Dictionaries keep the order of places, which sets do not.
    places: defaultdict[BillLine, dict[str, None]] = defaultdict(dict)
    # The later bill comes first: the places of a part are listed in its order.
    for counted_bill, sign in ((after, 1), (before, -1)):
        for line in counted_bill.lines:
            # The rest of the line identifies the part, with its price.
            part = line._replace(quantity=0, spares=0, where=())
            quantities[part] += sign * line.quantity
            spares[part] += sign * line.spares
            places[part].update(dict.fromkeys(line.where))
    lines = []
    for part, quantity in quantities.items():
        if quantity or spares[part]:
            lines.append(part._replace(quantity=quantity, spares=spares[part], where=tuple(places[part])))
    return after._replace(lines=_ordered(lines), against=against)


_RACKS_APART = "racks, trays and bundles are of one fabric: name it with --fabric NAME"


def together(bills: Sequence[Bill]) -> Bill:
    """Return one bill of several fabrics, where equal parts are one line.

    It has no racks, which are of one fabric each; a remark says so if a fabric has some.
    """
    quantities: Counter[BillLine] = Counter()
    places: defaultdict[BillLine, dict[str, None]] = defaultdict(dict)
    for line in chain.from_iterable(bought.lines for bought in bills):
        part = line._replace(quantity=0, where=())
        quantities[part] += line.quantity
        places[part].update(dict.fromkeys(line.where))
    lines = [part._replace(quantity=count, where=tuple(places[part])) for part, count in quantities.items()]
    return Bill(
        ", ".join(bought.fabric for bought in bills),
        _ordered(lines),
        _remarks_together(bills),
        shares_cages=any(bought.shares_cages for bought in bills),
    )


def _remarks_together(bills: Sequence[Bill]) -> tuple[str, ...]:
    remarks = dict.fromkeys(remark for bought in bills for remark in bought.remarks)
    if any(bought.racks for bought in bills):
        remarks[_RACKS_APART] = None
    return tuple(remarks)


def _ordered(lines: Iterable[BillLine]) -> tuple[BillLine, ...]:
    order = list(PartKind)
    # The line itself comes last: two descriptions of one part keep their order from run to run.
    return tuple(
        sorted(lines, key=lambda line: (order.index(line.kind), natural_key(line.part), line.length_m or 0, line))
    )


def _lines(counts: Counter[tuple[_Part, str]]) -> tuple[BillLine, ...]:
    """Return a line for each part. ``counts`` are the pieces by part and the place where they are used."""
    counts_of: defaultdict[_Part, Counter[str]] = defaultdict(Counter)
    for (part, where), quantity in counts.items():
        counts_of[part][where] += quantity
    lines = []
    for part, count_at in counts_of.items():
        lines.append(
            BillLine(
                kind=part.kind,
                part=part.part,
                description=part.description,
                quantity=count_at.total(),
                length_m=part.length_m,
                where=tuple(count_at),
                rack_units=part.rack_units,
                max_power_w=part.max_power_w,
            )
        )
    return _ordered(lines)


def _modules(cables: Iterable[CabledLink]) -> Iterator[_CountedPart]:
    """Yield a transceiver for every cage that ends fibers, with as many ports as the cage is broken out into."""
    # Equal modules share a part. The key: medium, ports of the cage, form factors and PMD.
    parts: dict[tuple[str, int, tuple[str, ...], Pmd], _Part] = {}
    equipped = set()
    for cable in cables:
        if not cable.medium.fiber:
            continue
        for end in (cable.lower, cable.upper):
            module_kind = (cable.medium.id, end.ports, end.form_factors, end.pmd)
            if module_kind not in parts:
                parts[module_kind] = _module(cable.medium, end)
            part = parts[module_kind]
            # A cage is equipped once for all links that end in it (breakout).
            if (end.cage, part) not in equipped:
                equipped.add((end.cage, part))
                yield _CountedPart(part, cable.link.kind, 1)


def _module(medium: Medium, end: PluggedEnd) -> _Part:
    pmd = end.pmd.name
    if end.ports > 1:
        pmd = f"{end.ports}x{pmd}"
    description = f"reaches {end.pmd.reach_m} m, host lanes of {end.pmd.host_lane_gbps}G"
    return _Part(PartKind.MODULE, f"{form_factor(medium, end)} {pmd}", description)


def cable_title(assembly: Assembly) -> str:
    """Return the name that the bill gives to an assembly."""
    return _cable(assembly).part


_CROSSED = "crossed (TIA-568.3 type B)"


def _cable(assembly: Assembly) -> _Part:
    """Return the part for an assembly: a cable with fixed ends, or fibers for its plugs."""
    medium = assembly.medium
    first, second = assembly.plugs
    if not medium.fiber:
        return _Part(PartKind.CABLE, f"{medium.id.upper()} {first} to {second}", medium.title, assembly.length_m)
    if assembly.shape is AssemblyShape.SHUFFLE:
        description = f"{counted(len(assembly.links), 'link')} that share plugs at both ends"
        return _Part(PartKind.FIBER, f"{medium.fiber} shuffle {first} to {second}", description, assembly.length_m)
    kind = "breakout" if assembly.shape is AssemblyShape.BREAKOUT else "fiber"
    polarity = _CROSSED if first.startswith("MPO") else "duplex, crossed (A to B)"
    return _Part(PartKind.FIBER, f"{medium.fiber} {kind} {first} to {second}", polarity, assembly.length_m)


def _mixed_cages(cables: Iterable[CabledLink]) -> Iterator[str]:
    """Yield a remark if cages would need plugs of several media, with one of these cages as an example."""
    media: dict[DeviceCage, set[str]] = {}
    for cable in cables:
        for end in (cable.lower, cable.upper):
            media.setdefault(end.cage, set()).add(cable.medium.id)
    mixed = [cage for cage, ids in media.items() if len(ids) > 1]
    if not mixed:
        return
    cage = mixed[0]
    yield (
        f"{counted(len(mixed), 'cage')} would need plugs of several media, for example {cage.device} cage {cage.name}"
        f" ({' and '.join(sorted(media[cage]))}): give the links of a cage one medium (`cabling`)"
    )


def _unbuildable(bought: Iterable[Assembly]) -> Iterator[str]:
    """Yield a remark if no cable joins the cages of links as designed, with the plugs of one group as an example."""
    # Copper and active optical cables have fixed ends; only loose fibers can be shuffled.
    meshed = [assembly for assembly in bought if assembly.shape is AssemblyShape.SHUFFLE and not assembly.medium.fiber]
    if not meshed:
        return
    first_cage, second_cage = meshed[0].plugs
    yield (
        f"{counted(len(meshed), 'group')} of {meshed[0].medium.id} links share cages at both ends in different ways"
        f" ({first_cage} to {second_cage}): no cable with fixed ends joins these; choose fibers for them (`cabling`)"
    )
