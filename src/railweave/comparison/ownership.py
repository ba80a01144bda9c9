"""What a network costs over years, and what GPUs that wait for it cost, by numbers of the user.

The two are never added: the first is paid to suppliers, the second is work that GPUs do not do. A collective takes a
latency for each message and a time for each byte, the inverse of the bandwidth (Thakur, Rabenseifner and Gropp,
Optimization of Collective Communication Operations in MPICH, International Journal of High Performance Computing
Applications 19 (1), 2005, section 3). The wait is taken to scale with the inverse of the bandwidth for each GPU. That
is an upper bound for the effect of another bandwidth, because latency does not change with it.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from railweave.bom.bill import Bill
from railweave.bom.prices import Prices, PriceTerms
from railweave.failures.rates import HOURS_A_YEAR

_MONTHS_A_YEAR = 12
_WATTS_OF_A_KW = 1000

POWER = "power and cooling"
RACK_SPACE = "rack space"
WAITING = "GPUs waiting for the network"


class LeftOut(NamedTuple):
    """A number that is not known, or not for all parts, and why."""

    number: str
    reason: str
    # The parts without a source for it; empty if a number of the user is missing.
    parts: tuple[str, ...] = ()


class Ownership(NamedTuple):
    """Costs over years, in the currency of the prices; None for a number that is left out."""

    # None if the file of prices has no `years`.
    years: Decimal | None
    # Of all parts with a price.
    purchase: Decimal | None
    # At the maximum power of all switches, and of further parts that the file of prices has watts of, with cooling.
    power: Decimal | None
    # Of the switches.
    rack_space: Decimal | None
    # GPU hours that wait for the network while the work is done that the first design does in these years.
    waiting: Decimal | None
    left_out: tuple[LeftOut, ...]

    @property
    def span(self) -> str:
        """Return the years in words."""
        if self.years == 1:
            return "1 year"
        return f"{self.years} years"

    @property
    def network(self) -> Decimal | None:
        """Return the sum of purchase, power and rack space as far as they are stated; None if none is."""
        stated_costs = [cost for cost in (self.purchase, self.power, self.rack_space) if cost is not None]
        if not stated_costs:
            return None
        return sum(stated_costs, Decimal(0))


class GpuDemand(NamedTuple):
    """The GPUs of a design, what its NICs carry for each, and what those of the first design carry, in Gb/s."""

    gpus: int
    gpu_gbps: float | None
    first_gpu_gbps: float | None


def ownership(bill: Bill | None, demand: GpuDemand, prices: Prices) -> Ownership:
    """Return the costs of a design; ``bill`` has its parts, None if its switches are not models of the catalog."""
    terms = prices.terms
    purchase: Decimal | None = None
    power: Decimal | None = None
    rack_space: Decimal | None = None
    if bill is not None:
        if prices.of:
            purchase = bill.total
        if bill.space.max_power_w is not None:
            power = power_price(terms, _watts(bill))
        if bill.space.rack_units is not None:
            rack_space = rack_unit_price(terms, bill.space.rack_units)
    waiting = waiting_price(terms, demand)
    left_out = tuple(_left_out(bill, demand, prices))
    return Ownership(
        years=terms.years, purchase=purchase, power=power, rack_space=rack_space, waiting=waiting, left_out=left_out
    )


def _watts(bill: Bill) -> int:
    """Return the maximum power of all parts for which it is stated."""
    return sum(line.quantity * line.max_power_w for line in bill.lines if line.max_power_w is not None)


def power_price(terms: PriceTerms, watts: int) -> Decimal | None:
    """Return the price of the energy of switches and of cooling them over the years; None if a number is missing."""
    if terms.years is None or terms.kwh is None or terms.cooling_factor is None:
        return None
    kilowatt_hours = Decimal(watts) / _WATTS_OF_A_KW * HOURS_A_YEAR * terms.years
    return kilowatt_hours * terms.kwh * terms.cooling_factor


def rack_unit_price(terms: PriceTerms, rack_units: int) -> Decimal | None:
    """Return the price of rack units over the years; None if a number is missing."""
    if terms.years is None or terms.rack_month is None or terms.rack_units is None:
        return None
    return Decimal(rack_units) / terms.rack_units * terms.rack_month * _MONTHS_A_YEAR * terms.years


def waiting_price(terms: PriceTerms, demand: GpuDemand) -> Decimal | None:
    """Return the price of the GPU hours that wait for the network; None if a number is missing.

    These are the hours of waiting while the work is done that the first design does in the years. The share of waiting
    that is stated for the first design is multiplied by the ratio of its bandwidth for each GPU to this design's.
    """
    if terms.years is None or terms.gpu_hour is None or terms.step_wait_share is None:
        return None
    if not demand.gpu_gbps or not demand.first_gpu_gbps:
        return None
    bandwidth_ratio = Decimal(demand.first_gpu_gbps) / Decimal(demand.gpu_gbps)
    gpu_hours = demand.gpus * HOURS_A_YEAR * terms.years
    return gpu_hours * terms.gpu_hour * terms.step_wait_share * bandwidth_ratio


_NEEDED = {
    POWER: ("years", "kwh", "cooling_factor"),
    RACK_SPACE: ("years", "rack_month", "rack_units"),
    WAITING: ("years", "gpu_hour", "step_wait_share"),
}
"""The keys of the file of prices that each number takes."""


def _left_out(bill: Bill | None, demand: GpuDemand, prices: Prices) -> Iterator[LeftOut]:
    """Yield every number that is not known, or not for all parts, with the reason."""
    if not prices.of:
        yield LeftOut("purchase", "the file of prices has no `prices`")
    for number, keys in _NEEDED.items():
        missing = [f"`{key}`" for key in keys if getattr(prices.terms, key) is None]
        if missing:
            yield LeftOut(number, f"the file of prices has no {', '.join(missing)}")
        else:
            yield from _without_source(number, bill, demand)


def _without_source(number: str, bill: Bill | None, demand: GpuDemand) -> Iterator[LeftOut]:
    """Yield the number if the design itself, or the catalog, does not give it for all parts."""
    if number == WAITING:
        if not demand.gpu_gbps or not demand.first_gpu_gbps:
            yield LeftOut(number, "the nodes have no GPUs")
        return
    if bill is None:
        yield LeftOut(number, "its switches are not models of the catalog")
        return
    unit = "rack units"
    parts = bill.space.no_units
    if number == POWER:
        unit = "power"
        parts = bill.space.no_power
    if parts:
        yield LeftOut(number, f"no source states the {unit} of {', '.join(parts)}", parts)
