"""Every rule of `railweave health` on counters written by hand, with its limit x 0.9 and x 1.1.

The numbers of lab-4 follow from CONFIG_DB of its switches: Kmax 152,000 bytes, marking probability 20 %, ports of 100G.
"""

from collections.abc import Callable

import pytest
from health_trials import (
    GROUP,
    LEAF,
    MARKS,
    NODE_PORT,
    PORT,
    QUEUE,
    RESTORED,
    STORMS,
    UPLINKS,
    WATERMARK,
    HealthTrial,
)

from railweave.diagnostics import Severity
from railweave.health import codes
from railweave.health.registry import RULES
from railweave.plan.outcome import CheckKind

Plant = Callable[[HealthTrial, float], None]

ROCE = f"queues {NODE_PORT}|3"
DEFAULT = f"queues {NODE_PORT}|0"


def long_frames(trial: HealthTrial, factor: float) -> None:
    # At most 1 a second over 30 s; the chip counts what it refuses as errors, here of the same frames.
    trial.grow(NODE_PORT, f"{PORT}ETHER_RX_OVERSIZE_PKTS", round(30 * factor))
    trial.grow(NODE_PORT, f"{PORT}IF_IN_DISCARDS", 40)


def foreign_priority(trial: HealthTrial, factor: float) -> None:
    trial.grow(NODE_PORT, f"{PORT}PFC_4_RX_PKTS", int(2.8 * factor))


def silent_queue(trial: HealthTrial, factor: float) -> None:
    trial.grow(ROCE, f"{QUEUE}PACKETS", 50_000)
    trial.after[LEAF]["queues"][f"{NODE_PORT}|3"][WATERMARK] = round(152_000 * factor)


def marked_queue(trial: HealthTrial, factor: float) -> None:
    trial.grow(ROCE, f"{QUEUE}PACKETS", 100_000)
    trial.grow(ROCE, MARKS, round(20_000 * factor))


def stray_queue(trial: HealthTrial, factor: float) -> None:
    trial.grow(f"queues {NODE_PORT}|5", f"{QUEUE}PACKETS", round(3000 * factor))


def bulk_by_default(trial: HealthTrial, factor: float) -> None:
    # A tenth of 100 Gb/s over 30 s is 37.5 GB.
    trial.grow(DEFAULT, f"{QUEUE}BYTES", round(37.5e9 * factor))
    trial.grow(DEFAULT, f"{QUEUE}PACKETS", round(37.5e9 * factor / 4096))


def incast(trial: HealthTrial, factor: float) -> None:
    trial.grow(DEFAULT, f"{QUEUE}DROPPED_PACKETS", round(30 * factor))


def queue_drop(trial: HealthTrial, factor: float) -> None:
    trial.grow(ROCE, f"{QUEUE}DROPPED_PACKETS", int(factor))


def group_drop(trial: HealthTrial, factor: float) -> None:
    trial.grow(f"groups {UPLINKS[0]}|3", f"{GROUP}DROPPED_PACKETS", int(factor))


def storm(trial: HealthTrial, factor: float) -> None:
    trial.grow(ROCE, STORMS, int(factor))
    trial.grow(ROCE, RESTORED, int(factor))


def pause_first(trial: HealthTrial, factor: float) -> None:
    # An XOFF and an XON at the one port may come before the first mark.
    trial.grow(NODE_PORT, f"{PORT}PFC_3_TX_PKTS", int(2.8 * factor))


def uneven(trial: HealthTrial, factor: float) -> None:
    # Jain's index of 300 and 100 GB is (4^2) / (2 * 10) = 0.8; both uplinks are loaded with more than a tenth.
    ratio = 3 * factor
    for port, load in zip(UPLINKS, (ratio, 1), strict=True):
        trial.grow(port, f"{PORT}IF_OUT_OCTETS", round(100e9 / ratio * 3 * load))


def lazy_rail(trial: HealthTrial, factor: float) -> None:
    # 100 GB into rail 0 at every port, a quarter of the rate; rail 1 is well from 80 GB on.
    for port in ("Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12"):
        trial.grow(port, f"{PORT}IF_IN_OCTETS", 100_000_000_000)
        trial.grow(port, f"{PORT}IF_IN_OCTETS", round(80_000_000_000 / factor), device="lab-leaf2")


def bad_frames(trial: HealthTrial, factor: float) -> None:
    trial.grow(UPLINKS[1], f"{PORT}IF_IN_ERRORS", round(30 * factor))


def lost_codewords(trial: HealthTrial, factor: float) -> None:
    # 100 Gb/s over 30 s are 5.5e8 codewords, of which the standard lets 0.034 be lost: four or more at one of 16
    # ports by chance are less probable than 1e-6.
    trial.grow(UPLINKS[1], f"{PORT}IF_IN_FEC_NOT_CORRECTABLE_FRAMES", int(3.7 * factor))


def flap(trial: HealthTrial, factor: float) -> None:
    trial.grow(UPLINKS[0], "flap_count", int(1.9 * factor))


def link_down(trial: HealthTrial, factor: float) -> None:
    if factor > 1:
        trial.fail(CheckKind.LINK, UPLINKS[0], "up", "enabled, down")


def wrong_cable(trial: HealthTrial, factor: float) -> None:
    if factor > 1:
        trial.fail(CheckKind.LLDP, UPLINKS[0], "lab-spine1 Ethernet0", "lab-spine2 Ethernet0")


def session_down(trial: HealthTrial, factor: float) -> None:
    if factor > 1:
        trial.fail(CheckKind.BGP, "10.192.0.0", "AS 4200100000 up", "down")


def other_state(trial: HealthTrial, factor: float) -> None:
    if factor > 1:
        trial.fail(CheckKind.ADDRESS, "Loopback0", "10.255.0.1/32", "none")


PLANTS: dict[str, Plant] = {
    codes.MTU_MISMATCH: long_frames,
    codes.PRIORITY_MISMATCH: foreign_priority,
    codes.MARKS_NEVER: silent_queue,
    codes.MARKED_SHARE: marked_queue,
    codes.MIXED_TRAFFIC: stray_queue,
    codes.INCAST_DROPS: incast,
    codes.LOSSLESS_QUEUE_DROPS: queue_drop,
    codes.LOSSLESS_GROUP_DROPS: group_drop,
    codes.PFC_STORM: storm,
    codes.PFC_WITHOUT_ECN: pause_first,
    codes.UPLINK_IMBALANCE: uneven,
    codes.SLOW_RAIL: lazy_rail,
    codes.LINK_ERRORS: bad_frames,
    codes.FEC_UNCORRECTABLE: lost_codewords,
    codes.LINK_FLAPS: flap,
    codes.LINK_DOWN: link_down,
    codes.WRONG_NEIGHBOR: wrong_cable,
    codes.BGP_DOWN: session_down,
    codes.OTHER_STATE: other_state,
}


def test_a_healthy_fabric_has_no_finding_and_every_rule_is_judged() -> None:
    trial = HealthTrial()
    assert trial.findings() == ()
    assert trial.gaps() == ()
    assert trial.unread == {}


def test_every_rule_is_planted_here_once() -> None:
    assert [rule.code for rule in RULES] == list(PLANTS)


@pytest.mark.parametrize("code", PLANTS)
def test_a_rule_fires_above_its_limit_and_not_below(code: str) -> None:
    below = HealthTrial()
    PLANTS[code](below, 0.9)
    assert code not in below.codes()
    above = HealthTrial()
    PLANTS[code](above, 1.1)
    assert above.codes() == [code]


@pytest.mark.parametrize("code", PLANTS)
def test_no_other_rule_reports_what_a_removed_rule_would(code: str) -> None:
    trial = HealthTrial()
    PLANTS[code](trial, 1.1)
    assert trial.findings(tuple(rule for rule in RULES if rule.code != code)) == ()


def test_bulk_data_in_the_default_class_is_mixed_traffic() -> None:
    below = HealthTrial()
    bulk_by_default(below, 0.9)
    assert below.codes() == []
    above = HealthTrial()
    bulk_by_default(above, 1.1)
    (finding,) = above.findings()
    assert (finding.code, finding.severity) == (codes.MIXED_TRAFFIC, Severity.WARNING)


def test_short_packets_in_the_default_class_are_no_bulk_data() -> None:
    trial = HealthTrial()
    trial.grow(DEFAULT, f"{QUEUE}BYTES", 90_000_000_000)
    trial.grow(DEFAULT, f"{QUEUE}PACKETS", 900_000_000)
    assert trial.codes() == []


def test_an_mtu_that_verify_finds_is_a_finding_at_its_port() -> None:
    trial = HealthTrial()
    trial.fail(CheckKind.MTU, NODE_PORT, "9216", "1500")
    (finding,) = trial.findings()
    assert finding.code == codes.MTU_MISMATCH
    assert finding.message == "lab-leaf1 Ethernet0 (cable gpu1 rail0, to gpu1) has MTU 1500, the design has 9216"
    assert (finding.devices, finding.ports, finding.cables) == ((LEAF,), ("lab-leaf1 Ethernet0",), ("gpu1 rail0",))


def test_a_chip_that_counts_every_jumbo_frame_as_oversize_is_well() -> None:
    trial = HealthTrial()
    trial.grow(NODE_PORT, f"{PORT}ETHER_RX_OVERSIZE_PKTS", 5_000_000)
    trial.grow(NODE_PORT, f"{PORT}IF_IN_DISCARDS", 20)
    assert trial.codes() == []


def test_pause_frames_of_the_whole_port_show_that_pfc_of_the_nic_is_off() -> None:
    trial = HealthTrial()
    trial.grow(NODE_PORT, f"{PORT}PAUSE_RX_PKTS", 500)
    (finding,) = trial.findings()
    assert finding.code == codes.PRIORITY_MISMATCH
    assert finding.message.endswith("received 500 pause frames of the whole port: gpu1 has PFC off")
    assert finding.fix == "turn PFC on at gpu1 for priority 3 alone (`railweave hosts plan` shows its settings)"


def test_a_node_that_does_not_stop_when_paused_is_named() -> None:
    trial = HealthTrial()
    trial.grow(NODE_PORT, f"{PORT}PFC_3_TX_PKTS", 900)
    trial.grow(ROCE, MARKS, 10)
    trial.grow(ROCE, f"{QUEUE}PACKETS", 10_000)
    trial.grow(f"groups {NODE_PORT}|3", f"{GROUP}DROPPED_PACKETS", 70)
    assert trial.codes() == [codes.PRIORITY_MISMATCH, codes.LOSSLESS_GROUP_DROPS]
    assert "gpu1 does not stop" in trial.findings()[0].message


def test_an_old_watermark_says_nothing_of_a_queue_that_has_marked() -> None:
    trial = HealthTrial()
    trial.set_both(ROCE, WATERMARK, 900_000)
    trial.grow(ROCE, f"{QUEUE}PACKETS", 50_000)
    assert trial.codes() == []


def test_a_queue_that_never_marked_although_it_was_deep_is_found_by_an_old_watermark() -> None:
    trial = HealthTrial()
    trial.set_both(ROCE, WATERMARK, 900_000)
    trial.set_both(ROCE, MARKS, 0)
    trial.grow(ROCE, f"{QUEUE}PACKETS", 50_000)
    assert trial.codes() == [codes.MARKS_NEVER]


def test_a_storm_that_lasts_is_found_without_a_new_one() -> None:
    trial = HealthTrial()
    trial.set_both(ROCE, RESTORED, 1)
    (finding,) = trial.findings()
    assert finding.message == (
        "lab-leaf1 Ethernet0 (cable gpu1 rail0, to gpu1) is in a PFC storm: gpu1 pauses queue 3 without end"
    )


def test_a_storm_is_not_judged_by_a_counter_that_fell() -> None:
    trial = HealthTrial()
    trial.grow(ROCE, RESTORED, -1)
    assert trial.codes() == []
    trial.grow(ROCE, STORMS, 1)
    assert trial.codes() == [codes.PFC_STORM]


def test_what_the_watchdog_drops_in_a_storm_that_lasts_is_no_finding_of_its_own() -> None:
    trial = HealthTrial()
    trial.set_both(ROCE, STORMS, 3)
    trial.grow(ROCE, f"{QUEUE}DROPPED_PACKETS", 8122)
    assert trial.codes() == [codes.PFC_STORM]


def test_drops_of_the_pfc_watchdog_are_the_storm_and_no_finding_of_their_own() -> None:
    trial = HealthTrial()
    storm(trial, 1.1)
    trial.grow(ROCE, f"{QUEUE}DROPPED_PACKETS", 800)
    assert trial.codes() == [codes.PFC_STORM]


def test_a_switch_that_passes_a_pause_on_needs_no_marks() -> None:
    trial = HealthTrial()
    trial.grow(UPLINKS[0], f"{PORT}PFC_3_RX_PKTS", 100)
    for port in trial.ports[LEAF]:
        trial.grow(port.port, f"{PORT}PFC_3_TX_PKTS", 100)
    assert trial.codes() == []


def test_uplinks_with_little_load_are_not_compared() -> None:
    trial = HealthTrial()
    # 9 % of the rate of two uplinks, all on one of them.
    trial.grow(UPLINKS[0], f"{PORT}IF_OUT_OCTETS", round(0.18 * 375e9))
    assert trial.codes() == []
    trial.grow(UPLINKS[0], f"{PORT}IF_OUT_OCTETS", round(0.04 * 375e9))
    assert trial.codes() == [codes.UPLINK_IMBALANCE]


def test_an_uplink_that_is_down_is_no_imbalance() -> None:
    trial = HealthTrial()
    trial.grow(UPLINKS[0], f"{PORT}IF_OUT_OCTETS", 300_000_000_000)
    link_down(trial, 1.1)
    trial.checks[0] = trial.checks[0].__class__(LEAF, CheckKind.LINK, UPLINKS[1], "up", "enabled, down", ok=False)
    assert trial.codes() == [codes.LINK_DOWN]


def test_rails_with_little_load_are_not_compared() -> None:
    trial = HealthTrial()
    for port in ("Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12"):
        trial.grow(port, f"{PORT}IF_IN_OCTETS", round(0.09 * 375e9))
    assert trial.codes() == []


def test_a_slow_rail_is_named_with_its_switch() -> None:
    trial = HealthTrial()
    lazy_rail(trial, 2)
    (finding,) = trial.findings()
    assert finding.message == "rail 1 of plane 0 carries 40% of what its peers carry (lab-leaf2)"
    assert finding.devices == ("lab-leaf2",)


def test_drops_that_only_the_port_counts_are_incast_drops() -> None:
    trial = HealthTrial()
    trial.grow(NODE_PORT, f"{PORT}IF_OUT_DISCARDS", 1000)
    (finding,) = trial.findings()
    assert finding.code == codes.INCAST_DROPS
    assert finding.message == (
        "lab-leaf1 Ethernet0 (cable gpu1 rail0, to gpu1) dropped 1,000 packets:"
        " more was sent to gpu1 at once than its port absorbs"
    )


def test_drops_towards_switches_are_no_incast_at_a_node() -> None:
    trial = HealthTrial()
    trial.grow(UPLINKS[0], f"{PORT}IF_OUT_DISCARDS", 1000)
    assert trial.codes() == []


def test_errors_come_before_warnings() -> None:
    trial = HealthTrial()
    marked_queue(trial, 2)
    bad_frames(trial, 2)
    assert trial.codes() == [codes.LINK_ERRORS, codes.MARKED_SHARE]
