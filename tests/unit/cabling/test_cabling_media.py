"""The medium of a link: reach, lane rates, and the way out of a wish that cannot be met."""

import pytest

from railweave.cabling.media import LaneEnd, choose_medium, linking_pmds, nic_end, switch_end
from railweave.catalog.load import load_catalog
from railweave.catalog.media import Medium
from railweave.diagnostics import Blocker

CATALOG = load_catalog()


def switch(model_id: str, speed_gbps: int) -> LaneEnd:
    end = switch_end(CATALOG.switch(model_id), speed_gbps)
    assert isinstance(end, LaneEnd)
    return end


def nic(nic_id: str, ports: int, speed_gbps: int) -> LaneEnd:
    end = nic_end(CATALOG.nic(nic_id), ports, speed_gbps)
    assert isinstance(end, LaneEnd)
    return end


H4 = switch("nokia-ixr7220-h4-64d", 400)
SN4700 = switch("nvidia-sn4700", 400)
SN5600 = switch("nvidia-sn5600", 400)
CX7 = nic("connectx-7", 1, 400)


def chosen(a: LaneEnd, b: LaneEnd, length_m: int, wanted: str | None = None) -> str:
    medium = choose_medium(a, b, length_m, wanted, CATALOG)
    assert isinstance(medium, Medium), medium
    return medium.id


def refused(a: LaneEnd, b: LaneEnd, length_m: int, wanted: str | None = None) -> Blocker:
    medium = choose_medium(a, b, length_m, wanted, CATALOG)
    assert isinstance(medium, Blocker), medium
    return medium


def test_an_end_says_how_many_lanes_of_which_rate_it_has() -> None:
    assert H4.lane_gbps == (50,)
    assert SN5600.lane_gbps == (100,)
    assert str(CX7) == "NVIDIA ConnectX-7 (400G as 4x100G, OSFP or QSFP112)"


def test_a_module_behind_a_gearbox_sees_its_own_lanes_not_those_of_the_chip() -> None:
    assert switch("dell-z9664f", 400).lane_gbps == (50,)


@pytest.mark.parametrize(
    ("length_m", "medium"), [(1, "dac"), (3, "dac"), (4, "acc"), (20, "aoc"), (45, "sr"), (100, "dr"), (1500, "fr")]
)
def test_auto_is_the_cheapest_medium_that_reaches(length_m: int, medium: str) -> None:
    assert chosen(SN5600, CX7, length_m) == medium


@pytest.mark.parametrize("length_m", [1, 20, 500])
def test_50g_lanes_meet_100g_lanes_over_a_gearbox_only(length_m: int) -> None:
    assert chosen(H4, CX7, length_m) == "dr"


@pytest.mark.parametrize("wanted", ["dac", "acc", "aoc", "sr"])
def test_copper_and_sr_link_no_50g_lanes_to_100g_lanes(wanted: str) -> None:
    refusal = refused(H4, CX7, 2, wanted)
    assert "does not link the lane rates" in refusal.message
    assert "8x50G" in refusal.message
    assert "4x100G" in refusal.message
    assert refusal.fix == "write media: dr or media: auto"


def test_the_wire_of_a_dr4_has_one_rate_at_both_ends() -> None:
    medium = CATALOG.find_medium("dr")
    assert medium is not None
    pair = linking_pmds(medium, H4, CX7)
    assert pair is not None
    assert (pair.a.name, pair.a.host_lane_gbps, pair.b.host_lane_gbps) == ("400G-DR4", 50, 100)
    assert pair.a.wire_lane_gbps == pair.b.wire_lane_gbps == 100


def test_copper_that_cannot_reach_is_refused_with_its_reach_and_a_medium_that_does() -> None:
    refusal = refused(SN5600, CX7, 20, "dac")
    assert refusal.message == "dac (passive copper cable) reaches 3 m at these lanes and the link has 20 m"
    assert refusal.fix == "write media: aoc or media: auto, or a length_m of at most 3"


def test_a_wanted_medium_that_fits_is_kept_though_a_cheaper_one_would_do() -> None:
    assert chosen(SN5600, CX7, 2, "sr") == "sr"


def test_an_unknown_medium_is_refused_with_the_known_ones() -> None:
    refusal = refused(SN5600, CX7, 2, "thread")
    assert "thread" in refusal.message
    assert refusal.fix.endswith("dac, acc, aoc, sr, dr, fr, lr")


def test_ends_of_different_speed_are_refused() -> None:
    assert "differ in speed" in refused(SN5600, nic("connectx-7", 2, 200), 2).message


def test_a_length_that_nothing_reaches_is_refused_with_the_longest_reach() -> None:
    end = switch("nvidia-sn5600", 800)
    assert refused(end, end, 5000).fix == "give a length_m of at most 2000"


def test_a_medium_that_does_not_exist_for_an_end_is_refused() -> None:
    refusal = refused(switch("sonic-vs", 100), nic("intel-e810", 1, 100), 2, "acc")
    assert "does not exist for SONiC virtual switch" in refusal.message
    assert refusal.fix == "write media: dac or media: auto"


def test_ends_that_nothing_links_are_refused_without_a_length() -> None:
    odd = LaneEnd("odd", 200, (200,), ("OSFP",))
    refusal = refused(odd, LaneEnd("other", 200, (50,), ("QSFP56",)), 2)
    assert "none in common" in refusal.message


def test_the_virtual_switch_links_100g_nics_on_25g_lanes() -> None:
    assert chosen(switch("sonic-vs", 100), nic("connectx-6-dx", 2, 100), 3) == "dac"


def test_leaf_and_spine_of_50g_lanes_take_the_cheapest_fibre_at_30_m() -> None:
    assert chosen(H4, SN4700, 30) == "aoc"


def test_a_switch_without_the_speed_has_no_end() -> None:
    assert isinstance(switch_end(CATALOG.switch("nokia-ixr7220-h4-64d"), 800), Blocker)


def test_a_connectx_8_as_one_port_of_800g_is_refused_with_the_reason() -> None:
    end = nic_end(CATALOG.nic("connectx-8"), 1, 800)
    assert isinstance(end, Blocker)
    assert "no single 800G port" in end.message


def test_a_nic_in_a_form_that_it_has_not_is_refused_with_those_that_it_has() -> None:
    end = nic_end(CATALOG.nic("connectx-7"), 2, 400)
    assert isinstance(end, Blocker)
    assert end.fix == "it can be 1x400G, 2x200G, 1x200G, 2x100G or 1x100G"


@pytest.mark.parametrize("speed_gbps", [200, 400, 800, 1600])
@pytest.mark.parametrize(("length_m", "medium"), [(1, "dac"), (500, "dr")])
def test_switches_with_lanes_of_200g_link_at_every_speed(speed_gbps: int, length_m: int, medium: str) -> None:
    end = switch_end(CATALOG.switch("nokia-ixr7220-h6-64"), speed_gbps)
    assert isinstance(end, LaneEnd)
    assert end.lane_gbps[-1] == 200
    found = choose_medium(end, end, length_m, None, CATALOG)
    assert not isinstance(found, Blocker)
    assert found.id == medium
