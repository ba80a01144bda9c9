"""The kernel's counters as a switch's: marks and drops by ``nft``, a rate limit by ``tbf``, flaps of a carrier."""

from collections.abc import Iterator
from typing import Any

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.nightly]

LEAF, DOWNLINK, UPLINK = "lab-leaf1", "Ethernet0", "Ethernet112"
WATCH = f"""
table inet watch
delete table inet watch
table inet watch {{
 counter {DOWNLINK}_q3_ecn {{ }}
 counter {DOWNLINK}_q3_drop {{ }}
 chain out {{
  type filter hook postrouting priority mangle; policy accept;
  oifname "{DOWNLINK}" icmp type echo-request ip ecn set ce counter name {DOWNLINK}_q3_ecn
  oifname "{DOWNLINK}" udp dport 9 counter name {DOWNLINK}_q3_drop drop
 }}
}}
"""


@pytest.fixture
def counted(deployed: Any) -> Iterator[Any]:
    """Return the fabric with a leaf that marks and drops; the leaf is as before in the end."""
    deployed.on(LEAF, f"printf '%s' '{WATCH}' | nft -f -")
    yield deployed
    deployed.on(LEAF, "nft delete table inet watch", status=None)
    deployed.on(LEAF, f"tc qdisc del dev {DOWNLINK} root", status=None)
    deployed.mend()


def row(rig: Any, table: str, name: str) -> dict[str, int]:
    with rig.driver(LEAF) as driver:
        counters: dict[str, int] = driver.switch_driver.all_counters()[table].get(name, {})
    return counters


def test_marks_and_drops_of_the_kernel_are_those_of_a_queue(counted: Any) -> None:
    counted.on("gpu2", "ping -c 20 -i 0.05 -I 10.32.0.3 10.32.0.1")
    counted.wait_until(
        lambda: row(counted, "queues", f"{DOWNLINK}|3").get("SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS", 0) >= 20,
        20,
        "the marks of 20 packets",
    )


def test_what_a_rate_limit_drops_is_discarded_by_the_port(counted: Any) -> None:
    before = row(counted, "ports", DOWNLINK)["SAI_PORT_STAT_IF_OUT_DISCARDS"]
    counted.on(LEAF, f"tc qdisc add dev {DOWNLINK} root tbf rate 64kbit burst 2000 limit 3000")
    counted.on("gpu2", "ping -f -c 300 -s 1000 -I 10.32.0.3 10.32.0.1", status=None)
    counted.wait_until(
        lambda: row(counted, "ports", DOWNLINK)["SAI_PORT_STAT_IF_OUT_DISCARDS"] > before, 20, "discards of the port"
    )


def test_a_carrier_that_goes_and_comes_is_two_transitions(counted: Any) -> None:
    def transitions() -> int:
        with counted.driver(LEAF) as driver:
            return int(driver.switch_driver.link_state()["ports"][UPLINK]["flap_count"])

    before = transitions()
    counted.on(LEAF, f"ip link set {UPLINK} down; sleep 1; ip link set {UPLINK} up")
    counted.wait_until(lambda: transitions() == before + 2, 30, "the transitions of the uplink")
