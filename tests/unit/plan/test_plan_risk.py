"""The risk of a plan, by which rules of approval decide."""

from collections.abc import Callable

import pytest

from railweave.plan.model import Plan
from railweave.plan.risk import Risk, risk_of
from railweave.sonic.delta.change import Change, Disruption, Method


def test_nothing_to_do_is_no_risk(plan_of: Callable[..., Plan]) -> None:
    assert risk_of(plan_of()) is Risk.NONE


@pytest.mark.parametrize(
    ("disruption", "method", "table", "risk"),
    [
        (Disruption.NONE, Method.WRITE, "PORT", Risk.NONE),
        (Disruption.SESSION, Method.WRITE, "PORT", Risk.DISRUPTIVE),
        (Disruption.FLAP, Method.PATCH, "PORT", Risk.DISRUPTIVE),
        (Disruption.RELOAD, Method.RELOAD, "PORT", Risk.RELOAD),
        (Disruption.NONE, Method.WRITE, "AAA", Risk.LOCKOUT),
        (Disruption.RELOAD, Method.RELOAD, "TACPLUS_SERVER", Risk.LOCKOUT),
    ],
)
def test_the_worst_change_decides(
    disruption: Disruption,
    method: Method,
    table: str,
    risk: Risk,
    plan_of: Callable[..., Plan],
    change: Callable[..., Change],
) -> None:
    harmless = change(field="description", method=Method.WRITE, disruption=Disruption.NONE)
    risky = change(table=table, field="a", method=method, disruption=disruption)
    assert risk_of(plan_of(harmless, risky)) is risk


def test_a_first_provisioning_is_a_reload(growth: Plan) -> None:
    assert risk_of(growth) is Risk.RELOAD
