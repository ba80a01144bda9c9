"""Pools that are exactly as large as a fabric needs: accepted, with the growth that they prevent."""

import pytest

from railweave.catalog.load import load_catalog
from railweave.design.build import Design, design
from railweave.diagnostics import Diagnostic, Severity
from railweave.intent.load import load_intent_text

# 4 leaves of 32 ports down and 32 up; 4 spines with 8 links to each have ports for 8 leaves.
INTENT = """
fabric: pod1
workload: {kind: pretraining}
nodes: [{name: gpu, count: 32, gpus: 8, nics: {count: 4, speed: 400G, model: connectx-7}}]
topology:
  links_per_pair: 8
  leaf: {model: nokia-ixr7220-h4-64d}
  spine: {model: nokia-ixr7220-h4-64d}
  reserve: {%s}
addressing: {loopbacks: %s, links: %s, hosts: %s}
"""


def designed(reserve: str, loopbacks: str, links: str, hosts: str) -> Design:
    return design(load_intent_text(INTENT % (reserve, loopbacks, links, hosts), "pod1.yml"), load_catalog())


def of_pools(outcome: Design) -> list[Diagnostic]:
    return [found for found in outcome.diagnostics if found.code == "G-1"]


def test_pools_of_the_fabric_of_today_are_accepted_and_say_what_they_prevent() -> None:
    # 4 leaves and a first address, twice: 10. Each has 64 links of 2 addresses, and a block of 2 x 64 for its nodes.
    outcome = designed("", "10.255.0.0/28", "10.192.0.0/23", "10.32.0.0/23")
    assert outcome.fabric is not None
    assert [(found.severity, found.where.path, found.message, found.fix) for found in of_pools(outcome)] == [
        (
            Severity.INFO,
            "addressing.loopbacks",
            "loopbacks 10.255.0.0/28 has 16 addresses, enough for the fabric of today; all that ports are laid out for"
            " needs 18: 8 leaves in its lower half and 4 spines in its upper half; growth ends at 7 leaves",
            "use a /27 or larger pool where the fabric is to grow further",
        ),
        (
            Severity.INFO,
            "addressing.links",
            "links 10.192.0.0/23 has 512 addresses, enough for the fabric of today; all that ports are laid out for"
            " needs 1024: 8 leaves with 64 networks of 2 addresses each; growth ends at 4 leaves",
            "use a /22 or larger pool where the fabric is to grow further",
        ),
        (
            Severity.INFO,
            "addressing.hosts",
            "hosts 10.32.0.0/23 has 512 addresses, enough for the fabric of today; all that ports are laid out for"
            " needs 1024: 8 leaves with 128 addresses each; growth ends at 4 leaves",
            "use a /22 or larger pool where the fabric is to grow further",
        ),
    ]
    assert outcome.sizing is not None
    assert outcome.sizing.limits.first == "address_pool"
    assert outcome.sizing.limits.nodes == 32


@pytest.mark.parametrize(
    ("reserve", "links"),
    # What is stated must fit, and so must the fabric of today.
    [("leaves: 8", "10.192.0.0/23"), ("", "10.192.0.0/24")],
)
def test_pools_below_a_stated_reserve_or_below_today_are_refused(reserve: str, links: str) -> None:
    outcome = designed(reserve, "10.255.0.0/24", links, "10.32.0.0/20")
    assert outcome.fabric is None
    assert [(found.severity, found.where.path) for found in of_pools(outcome)] == [(Severity.ERROR, "addressing.links")]


def test_pools_for_all_that_ports_are_laid_out_for_say_nothing() -> None:
    outcome = designed("", "10.255.0.0/27", "10.192.0.0/22", "10.32.0.0/22")
    assert outcome.fabric is not None
    assert of_pools(outcome) == []
