"""ECN before PFC: the published examples, number by number."""

import pytest

from railweave.fabric.buffers import BufferSlices
from railweave.fabric.policy import ClassRole, Marking, MarkingPreset, TrafficClass, WatchdogAction, WatchdogPolicy
from railweave.intent.presets import PresetName, marking_of, preset_classes
from railweave.qos.buffering import ranges
from railweave.qos.mapping import map_chain
from railweave.qos.marking import bandwidth_delay_bytes, choose_marking, ecn_thresholds
from railweave.qos.mmu.pause import PauseLimits, mark_percent, marking_rules, marks_text
from railweave.qos.watchdog import watchdog

# Dell Z9864F, Tomahawk 5: pool 162 539 680 bytes with a headroom pool of 33 374 584, alpha 1, 64 ports.
Z9864F = PauseLimits(162_539_680 - 33_374_584, 0, 64, 1)


def held(marking: Marking, limits: PauseLimits) -> dict[str, bool]:
    return {rule.code: rule.holds for rule in marking_rules(marking, limits)}


def test_the_worked_example_of_a_tomahawk_5_is_reproduced() -> None:
    assert Z9864F.shared_bytes == 129_165_096
    assert Z9864F.single_bytes == 64_582_548
    assert Z9864F.all_bytes == 1_987_155
    assert Z9864F.conservative_bytes == 1_009_102
    assert PauseLimits(Z9864F.shared_bytes, 0, 64, 2).conservative_bytes == 672_735


def test_in_two_slices_a_port_has_half_of_it_and_competes_with_at_most_half_of_the_ports() -> None:
    halved = Z9864F._replace(slices=BufferSlices(2))
    half = Z9864F.shared_bytes // 2
    assert halved.single_bytes == half // 2
    assert halved.congested_bytes(16) == half // 17  # all 16 may be in one slice
    assert [halved.congested_bytes(32), halved.all_bytes] == [round(half / 33)] * 2
    assert halved.conservative_bytes == round(half / (64 * 2))
    assert marking_rules(Marking(1, 2, 5), halved)[1].numbers.endswith("(alpha 1, shared buffer 129165096 in 2 slices)")


def test_in_four_slices_of_which_a_port_uses_two_half_of_the_ports_compete_for_a_quarter() -> None:
    quarter = Z9864F._replace(slices=BufferSlices(4, 2))
    assert quarter.single_bytes == Z9864F.shared_bytes // 8
    assert quarter.all_bytes == round(Z9864F.shared_bytes // 4 / 33)
    assert quarter.conservative_bytes == round(Z9864F.shared_bytes // 4 / (32 * 2))
    assert quarter._replace(lossy_bytes=1_000_000).lossy_all_bytes == round((Z9864F.shared_bytes // 4 - 1_000_000) / 33)


def test_sonics_default_thresholds_hold_on_it_but_for_the_conservative_bound() -> None:
    found = held(Marking(1_048_576, 2_097_152, 5), Z9864F)
    assert found == {"E-1": True, "E-2": True, "E-3": True, "E-4": True, "E-5": False, "E-6": True}


@pytest.mark.parametrize(
    ("marking", "broken"),
    [
        (Marking(500, 400, 5), {"E-1"}),
        (Marking(400, 400, 5), {"E-1"}),
        (Marking(65_000_000, 66_000_000, 5), {"E-2", "E-3", "E-4", "E-5"}),
        (Marking(1_000_000, 65_000_000, 5), {"E-3"}),
        (Marking(2_000_000, 4_000_000, 5), {"E-4", "E-5"}),
        (Marking(1_009_102, 4_000_000, 5), {"E-5"}),
        (Marking(1_009_101, 4_000_000, 5), set()),
    ],
)
def test_each_tier_breaks_at_its_own_number(marking: Marking, broken: set[str]) -> None:
    assert {code for code, holds in held(marking, Z9864F).items() if not holds} == broken


def test_marking_beyond_what_the_queue_may_hold_breaks_the_first_tier() -> None:
    limits = PauseLimits(Z9864F.shared_bytes, 0, 64, 1, queue_bytes=1_000_000)
    assert not held(Marking(100_000, 1_000_001, 5), limits)["E-1"]
    assert held(Marking(100_000, 1_000_000, 5), limits)["E-1"]


def test_the_numbers_of_every_tier_are_shown() -> None:
    shown = " ".join(rule.numbers for rule in marking_rules(Marking(1_048_576, 2_097_152, 5), Z9864F))
    for number in ("1048576", "2097152", "64582548", "1987155", "1009102", "129165096"):
        assert number in shown


def test_the_rule_is_lowered_where_the_chip_would_pause_before() -> None:
    small = PauseLimits(12_766_208, -3, 32, 1)
    lowered = ecn_thresholds(100, small)
    assert ecn_thresholds(100) == Marking(400_000, 1_600_000, 20)
    assert lowered.minimum_bytes <= small.all_bytes // 2
    assert lowered.minimum_bytes < small.conservative_bytes
    assert lowered.maximum_bytes <= small.single_bytes // 2
    assert lowered.maximum_bytes == 4 * lowered.minimum_bytes


def test_marking_starts_at_half_of_the_pause_with_all_ports_congested_whatever_one_flow_has_on_its_way() -> None:
    spine = PauseLimits(26_312_696, 0, 32, 1)
    assert spine.all_bytes == 797_354
    assert ecn_thresholds(400, spine) == Marking(398_000, 1_592_000, 20)
    assert bandwidth_delay_bytes(400) == 400_000


def test_a_lossy_queue_in_the_same_buffer_lowers_it_further_unless_it_may_take_all() -> None:
    leaf = PauseLimits(64_739_012, 0, 64, 1, lossy_bytes=3_327_758)
    assert leaf.lossy_all_bytes == round((64_739_012 - 3_327_758) / 65)
    assert ecn_thresholds(400, leaf).minimum_bytes == leaf.lossy_all_bytes // 2 // 1000 * 1000
    all_of_it = leaf._replace(lossy_bytes=leaf.shared_bytes)
    assert ecn_thresholds(400, all_of_it) == ecn_thresholds(400, leaf._replace(lossy_bytes=0))
    assert not held(ecn_thresholds(400, all_of_it), all_of_it)["E-6"]


def test_the_probability_of_a_mark_at_the_pause_is_told_by_traffic_pattern() -> None:
    marking = Marking(400_000, 1_600_000, 20)
    assert [mark_percent(marking, depth) for depth in (399_999, 400_000, 1_000_000, 1_599_999, 1_600_000)] == (
        [0, 0, 10, pytest.approx(20, abs=0.001), 100]
    )
    assert [mark_percent(Marking(400, 400, 20), depth) for depth in (399, 400)] == [0, 100]
    assert [mark_percent(Marking(500, 400, 20), depth) for depth in (399, 450)] == [0, 100]
    spine = PauseLimits(26_312_696, 0, 32, 1)
    assert marks_text(ecn_thresholds(400, spine), spine) == (
        "where PFC pauses, a packet is marked: 100 % with one congested port, 100 % with an incast of 2 ports to"
        " one, 100 % with 8 congested ports, 6.69 % with all 32 ports congested"
    )


def roce(ecn: Marking | None = None) -> TrafficClass:
    return TrafficClass("roce", ClassRole.RDMA, (26,), False, True, 3, False, 90, ecn)


def test_the_class_counts_before_the_preset_and_the_preset_before_the_rule() -> None:
    preset = MarkingPreset("x", "a book", ((0, Marking(10, 20, 5)), (400, Marking(30, 40, 7))))
    assert choose_marking(roce(Marking(1, 2, None)), 400, preset, None).thresholds == Marking(1, 2, 20)
    assert choose_marking(roce(), 400, preset, None).thresholds == Marking(30, 40, 7)
    assert choose_marking(roce(), 100, preset, None).thresholds == Marking(10, 20, 5)
    assert choose_marking(roce(), 100, None, None).thresholds == ecn_thresholds(100)


PUBLISHED = {
    "nvidia": ({26: 3, 24: 3, 31: 3, 48: 6, 55: 6, 0: 0}, (3,), (153_600, 1_536_000, 100)),
    "microsoft": ({3: 3, 4: 4, 48: 6, 46: 5, 8: 0, 26: 1, 0: 1}, (3, 4), (1_048_576, 2_097_152, 5)),
    "cisco": ({26: 3, 48: 7, 0: 0}, (3,), (950_000, 3_000_000, 7)),
    "arista": ({26: 3, 48: 7}, (3,), (500_000, 1_500_000, 20)),
    "dell": ({24: 3, 26: 3, 4: 4, 48: 6}, (3, 4), (500_000, 1_500_000, 20)),
    "juniper": ({26: 3, 48: 6}, (3,), None),
    "broadcom": ({26: 3, 48: 7}, (3,), None),
    "amd": ({24: 3, 46: 6, 48: 7, 26: 0}, (3,), None),
}


@pytest.mark.parametrize("name", PresetName)
def test_a_preset_has_its_published_code_points_priorities_and_thresholds(name: PresetName) -> None:
    dscp, lossless, ecn = PUBLISHED[name]
    chain = map_chain(preset_classes(name))
    assert {point: chain.dscp_to_tc[point] for point in dscp} == dscp
    assert chain.lossless == lossless
    assert len(chain.dscp_to_tc) == 64
    marking = marking_of(name)
    assert (marking and marking.at(400)) == (Marking(*ecn) if ecn else None)


@pytest.mark.parametrize("name", PresetName)
def test_in_every_preset_congestion_notification_is_strict_and_never_paused(name: PresetName) -> None:
    cnp = [one for one in preset_classes(name) if one.role is ClassRole.CNP]
    assert [(one.strict, one.lossless) for one in cnp] == [(True, False)]


def test_the_slower_thresholds_of_a_preset_hold_below_its_faster_ones() -> None:
    marking = marking_of(PresetName.CISCO)
    assert marking is not None
    assert marking.at(100).minimum_bytes == 150_000
    assert marking.at(800).minimum_bytes == 950_000


@pytest.mark.parametrize(
    ("numbers", "text"), [([3], ("3",)), ([4, 3], ("3-4",)), ([0, 1, 2, 5, 6], ("0-2", "5-6")), ([], ())]
)
def test_groups_and_queues_are_written_as_buffermgrd_writes_them(numbers: list[int], text: tuple[str, ...]) -> None:
    assert ranges(numbers) == text


def test_what_the_intent_states_of_the_watchdog_counts_before_the_rule() -> None:
    assert (watchdog(64).detection_ms, watchdog(64).poll_ms) == (400, 400)
    found = watchdog(64, WatchdogPolicy(True, 300, 900, None, WatchdogAction.ALERT))
    assert (found.detection_ms, found.restoration_ms, found.poll_ms, found.action) == (300, 900, 300, "alert")
