"""When drained ports count as quiet, by counters that a test lets rise."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from nornir_railweave.checked_driver import CheckedDriver
from nornir_railweave.device.counting import count_of
from nornir_railweave.device.drained_traffic import packet_rates, wait_until_drained
from railweave.switch_driver import STATE, Capability, ObserveRequest, SwitchDriver, SwitchView

KINDS = ("unicast", "multicast", "broadcast")


@dataclass(frozen=True)
class Moment:
    """Counters at one moment."""

    at_s: float
    ports: Mapping[str, Mapping[str, int]]


class Counters(SwitchView):
    """What the driver shows: counters alone."""

    def __init__(self, counted: tuple[Moment, ...]) -> None:
        self._counted = counted

    @property
    def counted(self) -> tuple[Moment, ...]:
        return self._counted


class Counting(SwitchDriver):
    """A driver whose ports carry packets at rates that a function of the time gives; time passes in ``sleep``."""

    def __init__(
        self, rate: Callable[[str, float], float], ports: tuple[str, ...] = ("Ethernet0", "Ethernet4")
    ) -> None:
        self.rate, self.ports = rate, ports
        self.now = 1000.0
        self.carried = dict.fromkeys(ports, 50_000.0)
        self.times_read = 0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        for port in self.ports:
            self.carried[port] += self.rate(port, self.now - 1000) * seconds
        self.now += seconds

    capabilities = frozenset({Capability.OBSERVE})

    def observe(self, request: ObserveRequest = STATE) -> SwitchView:
        first = Moment(self.now, self.get_interfaces_counters())
        self.sleep(request.over_s)
        return Counters((first, Moment(self.now, self.get_interfaces_counters())))

    def get_interfaces_counters(self) -> dict[str, dict[str, int]]:
        self.times_read += 1
        return {
            port: {
                **{f"{way}_{kind}_packets": -1 for way in ("rx", "tx") for kind in KINDS},
                "rx_unicast_packets": int(self.carried[port]),
                "tx_unicast_packets": 7,
            }
            for port in self.ports
        }

    def wait(self, *ports: str, packets_per_s: float = 100, timeout_s: float = 20) -> str:
        driver = CheckedDriver(self, "Counting")
        return wait_until_drained(
            driver, ports or self.ports, packets_per_s=packets_per_s, timeout_s=timeout_s, interval_s=1,
            clock=self,
        )  # fmt: skip


def test_keepalives_are_quiet_and_need_one_interval() -> None:
    driver = Counting(lambda port, at: 3)
    assert driver.wait() == ""
    assert driver.now == 1001
    assert driver.times_read == 2


def test_traffic_that_ends_is_waited_for() -> None:
    driver = Counting(lambda port, at: 5000 if at < 7 else 2)
    assert driver.wait() == ""
    assert 1007 <= driver.now <= 1009


def test_traffic_that_stays_is_named_with_its_rate_when_time_is_up() -> None:
    driver = Counting(lambda port, at: 1500 if port == "Ethernet4" else 2)
    assert driver.wait() == "packets a second still flow on Ethernet4 1500 (quiet: below 100)"
    assert 1020 <= driver.now <= 1021


def test_only_the_ports_that_are_drained_have_to_be_quiet() -> None:
    driver = Counting(lambda port, at: 1500 if port == "Ethernet4" else 2)
    assert driver.wait("Ethernet0") == ""
    many = Counting(lambda port, at: 900, tuple(f"Ethernet{4 * place}" for place in range(5)))
    assert many.wait(timeout_s=1).endswith("Ethernet0 900, Ethernet4 900, Ethernet8 900 and 2 more (quiet: below 100)")


UNKNOWN = (
    "whether traffic flows on {} is unknown: the switch shows no counters of these ports, or renews them too rarely"
    " (`counterpoll show`)"
)


def uncounted(ports: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    return {}


def without_one(ports: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    return {port: counters for port, counters in ports.items() if port != "Ethernet0"}


def without_unicast(ports: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    absent = {"tx_unicast_packets": -1}
    return {port: {**counters, **(absent if port == "Ethernet0" else {})} for port, counters in ports.items()}


def without_the_field(ports: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    for name in [name for name in ports["Ethernet0"] if name.startswith("rx_")]:
        del ports["Ethernet0"][name]
    return ports


@pytest.mark.parametrize(
    ("damage", "unknown"),
    [
        (uncounted, "Ethernet0, Ethernet4"),
        (without_one, "Ethernet0"),
        (without_unicast, "Ethernet0"),
        (without_the_field, "Ethernet0"),
    ],
)
def test_a_port_without_counters_is_not_said_to_be_quiet(
    damage: Callable[[dict[str, dict[str, int]]], dict[str, dict[str, int]]], unknown: str
) -> None:
    class Damaged(Counting):
        def get_interfaces_counters(self) -> dict[str, dict[str, int]]:
            return damage(super().get_interfaces_counters())

    assert Damaged(lambda port, at: 2).wait() == UNKNOWN.format(unknown)
    loud = Damaged(lambda port, at: 900 if port == "Ethernet4" else 0).wait()
    assert loud.endswith(UNKNOWN.format(unknown))
    assert ("Ethernet4 900" in loud) is (damage is not uncounted)


def test_counters_that_appear_while_it_waits_are_looked_at() -> None:
    class Late(Counting):
        def get_interfaces_counters(self) -> dict[str, dict[str, int]]:
            return super().get_interfaces_counters() if self.now > 1005 else {}

    assert Late(lambda port, at: 2).wait() == ""


@pytest.mark.parametrize(("after", "said"), [(40, ""), (9000, "Ethernet0 9000")])
def test_a_counter_that_is_cleared_meanwhile_counts_from_nothing(
    after: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Counting(lambda port, at: 0, ("Ethernet0",))

    def clear(seconds: float) -> None:
        driver.now += seconds
        driver.carried["Ethernet0"] = after

    monkeypatch.setattr(driver, "sleep", clear)
    found = driver.wait("Ethernet0", timeout_s=0)
    assert said in found
    assert bool(found) is bool(said)


@pytest.mark.parametrize("unknown", [None, "N/A", "", float("nan"), float("inf"), True, [], -7])
def test_a_counter_without_a_number_is_unknown(unknown: object) -> None:
    assert count_of({"rx_unicast_packets": unknown}, "rx_unicast_packets") == -1
    assert count_of({}, "rx_unicast_packets") == -1
    assert count_of({"rx_unicast_packets": "12"}, "rx_unicast_packets") == 12
    rows: dict[str, Any] = {"Ethernet0": {"rx_unicast_packets": unknown, "tx_unicast_packets": 5}}
    assert packet_rates((Moment(1.0, rows), Moment(3.0, rows)), ("Ethernet0",)) == {}


@pytest.mark.parametrize("at_s", [float("nan"), float("inf")])
def test_over_an_unknown_time_no_rate_is_known(at_s: float) -> None:
    rows = {"Ethernet0": {"rx_unicast_packets": 5, "tx_unicast_packets": 5}}
    assert packet_rates((Moment(1.0, rows), Moment(at_s, rows)), ("Ethernet0",)) == {}
