import pytest

from railweave.fabric.policy import ClassRole, TrafficClass
from railweave.qos.mapping import control_dscp, map_chain
from railweave.qos.marking import ecn_thresholds
from railweave.qos.scheduling import queue_shares
from railweave.qos.watchdog import watchdog

ROCE = TrafficClass("roce", ClassRole.RDMA, (26,), False, True, 3, False, 90)
CNP = TrafficClass("cnp", ClassRole.CNP, (48,), False, False, 6, True, 0)
REST = TrafficClass("best-effort", ClassRole.BULK, (), True, False, 0, False, 10)
ROUTING = TrafficClass("routing", ClassRole.CONTROL, (46, 56), False, False, 7, True, 0)


def test_code_points_that_no_class_names_go_to_the_default_class() -> None:
    chain = map_chain((ROCE, CNP, TrafficClass("rest", ClassRole.BULK, (), True, False, 1, False, 10)))
    assert chain.dscp_to_tc[26] == 3
    assert chain.dscp_to_tc[48] == 6
    assert {tc for dscp, tc in enumerate(chain.dscp_to_tc) if dscp not in (26, 48)} == {1}


def test_only_a_lossless_class_has_a_priority_group_of_its_own() -> None:
    assert map_chain((ROCE, CNP, REST)).tc_to_group == (0, 0, 0, 3, 0, 0, 0, 0)
    assert map_chain((ROCE, CNP, REST)).lossless == (3,)


def test_bgp_is_marked_for_the_control_class_and_else_with_cs6() -> None:
    assert control_dscp((ROCE, CNP, REST)) == 48
    assert control_dscp((ROCE, CNP, ROUTING, REST)) == 46


def test_strict_queues_have_no_weight_and_the_others_their_share() -> None:
    shares = {share.name: (share.queue, share.strict, share.weight) for share in queue_shares((ROCE, CNP, REST))}
    assert shares == {"best-effort": (0, False, 10), "roce": (3, False, 90), "cnp": (6, True, 0)}


def test_only_strict_queues_of_notifications_and_control_are_limited() -> None:
    strict = ROCE._replace(strict=True, share_percent=0)
    limits = {one.name: one.limit_bytes_per_second(400) for one in queue_shares((strict, CNP, ROUTING, REST))}
    assert limits == {"roce": 0, "cnp": 5_000_000_000, "routing": 5_000_000_000, "best-effort": 0}
    assert [one.limit_percent for one in queue_shares((CNP._replace(strict=False, share_percent=5),))] == [0]


@pytest.mark.parametrize(
    ("speed_gbps", "minimum", "maximum"),
    [(25, 100_000, 400_000), (100, 400_000, 1_600_000), (400, 1_600_000, 6_400_000), (800, 3_200_000, 12_800_000)],
)
def test_marking_starts_at_100_kb_for_each_25_gbps(speed_gbps: int, minimum: int, maximum: int) -> None:
    thresholds = ecn_thresholds(speed_gbps)
    assert (thresholds.minimum_bytes, thresholds.maximum_bytes) == (minimum, maximum)


@pytest.mark.parametrize("speed_gbps", [25, 50, 100, 200, 400, 800, 1600])
def test_a_single_flow_at_line_rate_is_not_marked(speed_gbps: int) -> None:
    round_trip_us = 8
    assert ecn_thresholds(speed_gbps).minimum_bytes >= speed_gbps * 1000 * round_trip_us // 8
    assert ecn_thresholds(speed_gbps).maximum_bytes < 2**31


@pytest.mark.parametrize(
    ("ports", "detection_ms", "poll_ms"),
    [(1, 200, 200), (32, 200, 200), (33, 400, 400), (64, 400, 400), (128, 800, 800), (256, 1600, 1000)],
)
def test_watchdog_times_follow_the_number_of_ports(ports: int, detection_ms: int, poll_ms: int) -> None:
    times = watchdog(ports)
    assert (times.detection_ms, times.restoration_ms, times.poll_ms) == (detection_ms, detection_ms, poll_ms)
    assert times.action == "drop"


@pytest.mark.parametrize("ports", [1, 64, 512, 2048])
def test_watchdog_times_stay_inside_what_sonic_takes(ports: int) -> None:
    times = watchdog(ports)
    assert times.poll_ms is not None
    assert times.detection_ms is not None
    assert 100 <= times.poll_ms <= min(1000, times.detection_ms)
    assert times.detection_ms <= 5000
