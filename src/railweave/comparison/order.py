"""What suggested designs are sorted by: switches, cost or power, and what a switch of each model adds to it."""

from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction

from railweave.bom.prices import Prices
from railweave.catalog.load import Catalog
from railweave.catalog.model import SwitchModel
from railweave.comparison.alternative import Alternative
from railweave.comparison.ownership import power_price, rack_unit_price
from railweave.comparison.suggestion import switches


class DesignOrder(StrEnum):
    """What the first of the suggested designs has least of."""

    SWITCHES = "switches"
    COST = "cost"
    POWER = "power"


def weights(order: DesignOrder, catalog: Catalog, prices: Prices | None) -> Mapping[str, Fraction]:
    """Return the least that one switch of each model adds to the value of ``order``.

    Models without a known price or power are left out.
    """
    weight_of = {}
    for model_id in catalog.switch_ids():
        weight = _weight(order, catalog.switch(model_id), prices)
        if weight is not None:
            weight_of[model_id] = weight
    return weight_of


def _weight(order: DesignOrder, model: SwitchModel, prices: Prices | None) -> Fraction | None:
    if order is DesignOrder.SWITCHES:
        return Fraction(1)
    if order is DesignOrder.COST:
        return _cost(model, prices)
    watts = _watts(model, prices)
    if watts is None:
        return None
    return Fraction(watts)


def _cost(model: SwitchModel, prices: Prices | None) -> Fraction | None:
    """Return the price of a switch with that of its power and rack space, as far as these are stated.

    Returns None if the switch has no price.
    """
    if prices is None or model.title not in prices.of:
        return None
    cost = Fraction(prices.of[model.title])
    power = power_price(prices.terms, _watts(model, prices) or 0)
    if power is not None:
        cost += Fraction(power)
    rack_units = 0
    if model.housing is not None:
        rack_units = model.housing.rack_units or 0
    rack_space = rack_unit_price(prices.terms, rack_units)
    if rack_space is not None:
        cost += Fraction(rack_space)
    return cost


def _watts(model: SwitchModel, prices: Prices | None) -> int | None:
    """Return the power that the file of prices or else the catalog states; None if neither does."""
    if prices is not None and model.title in prices.watts:
        return prices.watts[model.title]
    if model.housing is None:
        return None
    return model.housing.max_power_w


def value(order: DesignOrder, alternative: Alternative) -> Fraction | None:
    """Return what a design is sorted by; None if prices, or the power of any of its switches, are not known."""
    if order is DesignOrder.SWITCHES:
        return Fraction(switches(alternative.sizing))
    if alternative.bill is None:
        return None
    if order is DesignOrder.POWER:
        space = alternative.bill.space
        if space.max_power_w is None or space.no_power:
            return None
        return Fraction(space.max_power_w)
    if alternative.ownership is None or alternative.ownership.network is None:
        return None
    return Fraction(alternative.ownership.network)
