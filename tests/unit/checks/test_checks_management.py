"""Switches are managed from outside the fabric that is changed."""

from collections.abc import Callable

import pytest

from railweave.checks.management import management_findings
from railweave.diagnostics import Severity, Where
from railweave.fabric.model import Fabric
from railweave.units import ipv4_text

Pod = Callable[..., Fabric]


@pytest.mark.parametrize("address", ["192.0.2.1", "pod-leaf1.example.net", "127.0.0.1", ""])
def test_addresses_outside_and_names_are_fine(pod: Pod, address: str) -> None:
    assert not list(management_findings(pod(), {"pod-leaf1": address}, Where("inventory/production.yml")))


def test_a_switch_that_is_reached_at_its_loopback_is_refused(pod: Pod) -> None:
    fabric = pod()
    addresses = {one.name: ipv4_text(one.loopback) for one in fabric.switches[:2]}
    (found,) = management_findings(fabric, addresses, Where("inventory/production.yml"))
    assert (found.code, found.severity) == ("S-2", Severity.ERROR)
    assert found.message == (
        "pod-leaf1 is reached at 10.255.0.1, an address of the fabric itself (pool of loopbacks 10.255.0.0/16): a"
        " change may cut the way to it"
    )
    assert found.devices == ("pod-leaf1", "pod-leaf2")


def test_a_switch_that_is_reached_over_a_link_of_the_fabric_is_refused(pod: Pod) -> None:
    fabric = pod()
    link = next(one for one in fabric.links if one.upper == "pod-spine1")
    (found,) = management_findings(fabric, {"pod-spine1": ipv4_text(link.network)}, Where("t.yml"))
    assert found.severity is Severity.ERROR


@pytest.mark.parametrize(
    ("address", "severity"),
    [("fd00:10::2", Severity.ERROR), ("fd00:10:0:9::1", Severity.WARNING), ("fd00:20::1", None)],
)
def test_addresses_of_ipv6_are_looked_for_in_the_pool_of_the_nodes(
    pod: Pod, address: str, severity: Severity | None
) -> None:
    fabric = pod("addressing: {underlay: unnumbered, hosts_ipv6: fd00:10::/44}\n")
    found = list(management_findings(fabric, {"pod-leaf1": address}, Where("t.yml")))
    assert [one.severity for one in found] == ([] if severity is None else [severity])
    assert all("pool of hosts_ipv6 fd00:10::/44" in one.message for one in found)


def test_an_address_that_a_pool_may_give_away_later_is_a_warning(pod: Pod) -> None:
    (found,) = management_findings(pod(), {"pod-leaf1": "10.200.3.4"}, Where("t.yml"))
    assert (found.code, found.severity) == ("S-2", Severity.WARNING)
    assert "may give to another device" in found.message
