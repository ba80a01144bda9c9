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
    """Return what one switch of each model adds at least; models for which nobody states it are left out."""
    result = {}
    for model_id in catalog.switch_ids():
        weight = _weight(order, catalog.switch(model_id), prices)
        if weight is not None:
            result[model_id] = weight
    return result


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
    """Return the price of a switch with that of its power and rack space as far as they are stated."""
    if prices is None or model.title not in prices.of:
        return None
    rack_units = 0
    if model.housing is not None:
        rack_units = model.housing.rack_units or 0
    running = (power_price(prices.terms, _watts(model, prices) or 0), rack_unit_price(prices.terms, rack_units))
    return Fraction(prices.of[model.title]) + sum(Fraction(price) for price in running if price is not None)


def _watts(model: SwitchModel, prices: Prices | None) -> int | None:
    if prices is not None and model.title in prices.watts:
        return prices.watts[model.title]
    if model.housing is None:
        return None
    return model.housing.max_power_w


def value(order: DesignOrder, alternative: Alternative) -> Fraction | None:
    """Return what a design is sorted by; None where it is not known of all of its switches, or without prices."""
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
