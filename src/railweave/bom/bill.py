"""The bill of materials of a fabric: what to order, how many, and for which links.

Counted from the graph: every cage in use is equipped once, every link is in one cable. Rack units and power are those
of switches, as far as the catalog has a source for them; it knows no prices.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple

from railweave.bom.trays import RackSummary, summarize_racks
from railweave.bom.trunks import trunked
from railweave.cabling.assemblies import Assembly, Shape, assemblies, form_factor
from railweave.cabling.ends import Cable, CableEnd, Cage, cables_of
from railweave.catalog.load import Catalog
from railweave.catalog.model import Medium, Pmd, SwitchModel
from railweave.fabric.management import Management
from railweave.fabric.model import Fabric
from railweave.wording import counted, natural_key


class PartKind(StrEnum):
    """What kind of part a line is of, in the order of the bill."""

    SWITCH = "switch"
    CARD = "card"
    NIC = "nic"
    MODULE = "module"
    CABLE = "cable"
    FIBER = "fiber"
    MANAGEMENT = "management"


class Line(NamedTuple):
    """One part: ``quantity`` pieces of it, cables of ``length_m`` meters (None for others), ``where`` it is used:
    tiers, kinds of nodes or kinds of links. ``spares`` are pieces beyond ``quantity``. ``unit_price`` is None where
    nobody stated it, so are ``rack_units`` and ``max_power_w`` of one piece where no source does."""

    kind: PartKind
    part: str
    description: str
    quantity: int
    length_m: int | None
    where: tuple[str, ...]
    spares: int = 0
    unit_price: Decimal | None = None
    rack_units: int | None = None
    max_power_w: int | None = None

    @property
    def price(self) -> Decimal | None:
        """Return the price of all pieces, spares included."""
        return None if self.unit_price is None else self.unit_price * (self.quantity + self.spares)


class Space(NamedTuple):
    """What the switches of a bill take, spares left out: rack units, and watts at most. ``no_units`` and ``no_power``
    are the parts of which no source states that; the sums are None where it is so of all."""

    rack_units: int | None
    max_power_w: int | None
    no_units: tuple[str, ...]
    no_power: tuple[str, ...]


class Bill(NamedTuple):
    """All parts of the fabric of that name; ``remarks`` say in sentences what cannot be bought as designed.

    With ``against``, the revision or file of an earlier intent, quantities are what is bought more than for that,
    negative for what is no longer needed. ``currency`` is of the prices, empty without any. ``shares_cages`` tells that
    ports of a NIC share cages. ``racks`` sums up the racks and the cables between them, None where the intent has
    none.
    """

    fabric: str
    lines: tuple[Line, ...]
    remarks: tuple[str, ...]
    against: str = ""
    currency: str = ""
    shares_cages: bool = False
    racks: RackSummary | None = None

    @property
    def total(self) -> Decimal | None:
        """Return what the lines with a price cost together, None without any."""
        priced = [line.price for line in self.lines if line.price is not None]
        return sum(priced, Decimal(0)) if self.currency else None

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Return the parts without a price where others have one."""
        return tuple(dict.fromkeys(one.part for one in self.lines if one.unit_price is None)) if self.currency else ()

    def quantity(self, kind: PartKind) -> int:
        """Return how many pieces of a kind there are."""
        return sum(line.quantity for line in self.lines if line.kind is kind)

    @property
    def space(self) -> Space:
        """Return the rack units and the power of the switches."""
        switches = [line for line in self.lines if line.kind is PartKind.SWITCH]
        units = [(line.part, line.quantity, line.rack_units) for line in switches]
        power = [(line.part, line.quantity, line.max_power_w) for line in switches]
        return Space(_total(units), _total(power), _unstated(units), _unstated(power))


_Stated = Sequence[tuple[str, int, int | None]]


def _total(stated: _Stated) -> int | None:
    """Return the sum over all pieces of the parts that state it, None without any."""
    known = [quantity * each for _, quantity, each in stated if each is not None]
    return sum(known) if known else None


def _unstated(stated: _Stated) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part for part, _, each in stated if each is None))


class _Part(NamedTuple):
    kind: PartKind
    part: str
    description: str
    length_m: int | None = None
    rack_units: int | None = None
    max_power_w: int | None = None


def bill(fabric: Fabric, catalog: Catalog) -> Bill:
    """Return what ``fabric`` is bought of."""
    cables = cables_of(fabric, catalog)
    bought = assemblies(cables)
    counts: Counter[tuple[_Part, str]] = Counter()
    for switch in fabric.switches:
        model = catalog.switch(switch.panel.model)
        counts[_switch(model, switch.panel.hwsku), switch.tier.name] += 1
        if model.chassis is not None:
            card = _Part(PartKind.CARD, model.chassis.card, f"line card of {model.title}")
            counts[card, switch.tier.name] += model.chassis.line_cards
    for host in fabric.hosts:
        nic = catalog.find_nic(host.nic_model)
        title = host.nic_model if nic is None else nic.title
        ports = Counter(port.nic for port in host.ports)
        for used in ports.values():
            speeds = sorted({port.speed_gbps for port in host.ports})
            description = f"{counted(used, 'port')} of {' and '.join(f'{speed}G' for speed in speeds)}"
            counts[_Part(PartKind.NIC, title, description), host.kind] += 1
    run = trunked(fabric.racks, bought)
    for part, where in (*_modules(cables), *(_cable(one) for one in run.single)):
        counts[part, where] += 1
    for one in run.parts:
        counts[_Part(PartKind.FIBER, one.part, one.description, one.length_m), one.where] += one.quantity
    for part, where, quantity in () if fabric.management is None else _management(fabric.management):
        counts[part, where] += quantity
    remarks = (*_mixed_cages(cables), *_unbuildable(bought))
    shares = any(one.lower.ports > 1 for one in cables if one.link.is_access)
    return Bill(fabric.name, _lines(counts), remarks, shares_cages=shares, racks=summarize_racks(fabric, run))


def _switch(model: SwitchModel, hwsku: str) -> _Part:
    units, power_w = (None, None) if model.housing is None else model.housing[:2]
    return _Part(PartKind.SWITCH, model.title, f"HWSKU {hwsku}", None, units, power_w)


def _management(planned: Management) -> Iterable[tuple[_Part, str, int]]:
    """Yield the switches of the management network, and its cables."""
    where = PartKind.MANAGEMENT.value
    ports = f"{planned.switch_ports} management ports"
    yield _Part(PartKind.MANAGEMENT, planned.model, ports), where, len(planned.switches)
    cable = _Part(PartKind.MANAGEMENT, "RJ45 to RJ45", "twisted pair, Cat 5e or better", planned.length_m)
    yield cable, where, len(planned.ports)


def change(before: Bill, after: Bill, against: str) -> Bill:
    """Return what is bought more for ``after`` than for ``before``, the bill of the revision ``against``."""
    quantities: Counter[Line] = Counter()
    spares: Counter[Line] = Counter()
    places: dict[Line, Counter[str]] = {}
    for bought, sign in ((after, 1), (before, -1)):
        for line in bought.lines:
            part = line._replace(quantity=0, spares=0, where=())
            quantities[part] += sign * line.quantity
            spares[part] += sign * line.spares
            places.setdefault(part, Counter()).update(line.where)
    lines = (
        part._replace(quantity=quantities[part], spares=spares[part], where=tuple(places[part]))
        for part in quantities
        if quantities[part] or spares[part]
    )
    return after._replace(lines=_ordered(lines), against=against)


def _ordered(lines: Iterable[Line]) -> tuple[Line, ...]:
    order = list(PartKind)
    return tuple(sorted(lines, key=lambda one: (order.index(one.kind), natural_key(one.part), one.length_m or 0, one)))


def _lines(counts: Counter[tuple[_Part, str]]) -> tuple[Line, ...]:
    places: dict[_Part, Counter[str]] = {}
    for (part, where), quantity in counts.items():
        places.setdefault(part, Counter())[where] += quantity
    return _ordered(
        Line(
            one.kind,
            one.part,
            one.description,
            places[one].total(),
            one.length_m,
            tuple(places[one]),
            rack_units=one.rack_units,
            max_power_w=one.max_power_w,
        )
        for one in places
    )


def _modules(cables: Iterable[Cable]) -> Iterable[tuple[_Part, str]]:
    """Yield the transceivers: one in every cage that ends fibers, with as many ports as the cage is broken out into."""
    parts: dict[tuple[str, int, tuple[str, ...], Pmd], _Part] = {}
    seen = set()
    for cable in cables:
        for end in (cable.lower, cable.upper) if cable.medium.fiber else ():
            alike = cable.medium.id, end.ports, end.form_factors, end.pmd
            if alike not in parts:
                parts[alike] = _module(cable.medium, end)
            part = parts[alike]
            if (end.cage, part) not in seen:
                seen.add((end.cage, part))
                yield part, cable.link.kind


def _module(medium: Medium, end: CableEnd) -> _Part:
    ports = f"{end.ports}x" if end.ports > 1 else ""
    does = f"reaches {end.pmd.reach_m} m, host lanes of {end.pmd.host_lane_gbps}G"
    return _Part(PartKind.MODULE, f"{form_factor(medium, end)} {ports}{end.pmd.name}", does)


def cable_title(one: Assembly) -> str:
    """Return the part that an assembly is, as the bill names it."""
    return _cable(one)[0].part


_CROSSED = "crossed (TIA-568.3 type B)"


def _cable(one: Assembly) -> tuple[_Part, str]:
    first, second = one.plugs
    where = one.links[0].link.kind
    if not one.medium.fiber:
        title = f"{one.medium.id.upper()} {first} to {second}"
        return _Part(PartKind.CABLE, title, one.medium.title, one.length_m), where
    if one.shape is Shape.SHUFFLE:
        title = f"{one.medium.fiber} shuffle {first} to {second}"
        does = f"{counted(len(one.links), 'link')} that share plugs at both ends"
        return _Part(PartKind.FIBER, title, does, one.length_m), where
    joined = "breakout" if one.shape is Shape.BREAKOUT else "fiber"
    crossed = _CROSSED if first.startswith("MPO") else "duplex, crossed (A to B)"
    return _Part(PartKind.FIBER, f"{one.medium.fiber} {joined} {first} to {second}", crossed, one.length_m), where


def _mixed_cages(cables: Iterable[Cable]) -> Iterable[str]:
    media: dict[Cage, set[str]] = {}
    for cable in cables:
        for end in (cable.lower, cable.upper):
            media.setdefault(end.cage, set()).add(cable.medium.id)
    mixed = [(cage, held) for cage, held in media.items() if len(held) > 1]
    if mixed:
        (device, place), held = mixed[0]
        yield (
            f"{counted(len(mixed), 'cage')} would need plugs of several media, for example {device} cage {place}"
            f" ({' and '.join(sorted(held))}): give the links of a cage one medium (`cabling`)"
        )


def _unbuildable(bought: Iterable[Assembly]) -> Iterable[str]:
    meshed = [one for one in bought if one.shape is Shape.SHUFFLE and not one.medium.fiber]
    if meshed:
        medium, cages = meshed[0].medium.id, meshed[0].plugs
        yield (
            f"{counted(len(meshed), 'group')} of {medium} links share cages at both ends in different ways"
            f" ({cages[0]} to {cages[1]}): no cable with fixed ends joins these; choose fibers for them (`cabling`)"
        )
