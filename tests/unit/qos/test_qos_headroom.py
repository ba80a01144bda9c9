"""Headroom against what vendors publish, row by row."""

import math

import pytest

from railweave.catalog.load import load_catalog
from railweave.fabric.buffers import HeadroomChip
from railweave.fabric.policy import BufferModel
from railweave.qos.headroom import (
    DYNAMIC,
    TABLE_2021,
    TABLE_2024,
    Headroom,
    NoHeadroom,
    PortMedium,
    Variant,
    headroom,
    occupancy_factor,
    peer_response_bytes,
    published_headroom,
    round_trip_bytes,
    spectrum_headroom,
    worst_factor,
)

CATALOG = load_catalog()
SPECTRUM_2 = HeadroomChip(cell_bytes=144, pipeline_kib=19, mac_phy_bytes=819.2)


def rows_of(model: str) -> dict[tuple[int, int], int]:
    return {(row.speed_gbps, row.cable_m): row.xoff_bytes for row in CATALOG.switch(model).hwskus[0].pg_profiles}


def chip_of(model: str) -> HeadroomChip:
    chip = CATALOG.switch(model).asic.headroom
    assert chip is not None
    return chip


# The table of SN3700 (Spectrum-2, 200G) is that of SN4700 up to its own speed: chips with the same cells.
SN3700 = {place: xoff for place, xoff in rows_of("nvidia-sn4700").items() if place[0] <= 200}

PUBLISHED: dict[str, tuple[HeadroomChip, Variant, dict[tuple[int, int], int], int]] = {
    "SN2700": (chip_of("nvidia-sn2700"), TABLE_2021, rows_of("nvidia-sn2700"), 15),
    "SN3700": (SPECTRUM_2, TABLE_2021, SN3700, 18),
    "SN4700": (chip_of("nvidia-sn4700"), TABLE_2021, rows_of("nvidia-sn4700"), 21),
    "SN5600": (chip_of("nvidia-sn5600"), TABLE_2024, rows_of("nvidia-sn5600"), 24),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_computation_gives_every_published_row_of_a_spectrum_switch(name: str) -> None:
    chip, variant, rows, count = PUBLISHED[name]
    assert len(rows) == count
    for (speed, length), xoff in rows.items():
        computed = spectrum_headroom(chip, PortMedium(speed, length, 9100, 4), variant)
        assert computed.xoff_bytes == xoff, (speed, length)


@pytest.mark.parametrize(
    ("speed", "xoff", "size"), [(100, 53_248, 72_704), (200, 64_512, 83_968)], ids=["100G 40 m", "200G 40 m"]
)
def test_the_dynamic_model_gives_the_worked_examples_of_spectrum_3(speed: int, xoff: int, size: int) -> None:
    found = spectrum_headroom(chip_of("nvidia-sn4700"), PortMedium(speed, 40, 9100, 4))
    assert (found.xoff_bytes, found.xon_bytes, found.size_bytes) == (xoff, 19_456, size)


def test_the_terms_of_the_worked_example_are_those_of_the_script() -> None:
    assert worst_factor(144, rounds=True) == 3
    assert worst_factor(144, rounds=False) == 2.25
    assert worst_factor(96, rounds=False) == pytest.approx(1.979, abs=0.001)
    assert occupancy_factor(3, 50, 1024) == pytest.approx(1.2353, abs=0.0001)
    assert occupancy_factor(3, 100, 1024) == 3
    assert round_trip_bytes(100, 40) == pytest.approx(5050.5, abs=0.1)
    assert peer_response_bytes(100) == 25_216
    assert peer_response_bytes(400) == 57_920
    assert peer_response_bytes(1600) == peer_response_bytes(800)


def test_older_scripts_lack_the_2_kib_for_mixed_packets() -> None:
    older = Variant("before 2026", 50, True, None, None, False)
    port = PortMedium(100, 40, 9100, 4)
    assert spectrum_headroom(chip_of("nvidia-sn4700"), port, older).xoff_bytes == 51_200


def test_a_port_of_eight_lanes_has_twice_the_pipeline_and_a_frame_more() -> None:
    four = spectrum_headroom(SPECTRUM_2, PortMedium(400, 40, 9100, 4))
    eight = spectrum_headroom(SPECTRUM_2, PortMedium(400, 40, 9100, 8))
    assert eight.xon_bytes == 2 * four.xon_bytes
    assert eight.xoff_bytes == four.xoff_bytes
    assert eight.size_bytes == math.ceil((eight.xoff_bytes + eight.xon_bytes + 9100) / 1024) * 1024


def test_with_a_shared_pool_a_group_reserves_only_what_it_holds_without_a_pause() -> None:
    found = spectrum_headroom(SPECTRUM_2, PortMedium(100, 40, 9100, 4), shared_pool=True)
    assert found.size_bytes == found.xon_bytes
    assert found.xoff_bytes == 51_200


@pytest.mark.parametrize("larger", [{"length_m": 41}, {"mtu_bytes": 9216}, {"speed_gbps": 200}])
def test_headroom_never_shrinks_with_length_mtu_or_speed(larger: dict[str, int]) -> None:
    base = {"speed_gbps": 100, "length_m": 40, "mtu_bytes": 9100, "lanes": 4}
    before, after = (spectrum_headroom(SPECTRUM_2, PortMedium(**each), DYNAMIC) for each in (base, {**base, **larger}))
    assert after.xoff_bytes >= before.xoff_bytes


@pytest.mark.parametrize(
    ("model", "hwsku", "port", "xoff", "row_m"),
    [
        ("nokia-ixr7220-h4-64d", 0, (400, 20), 330_200, 40),
        ("nokia-ixr7220-h4-64d", 0, (400, 5), 307_848, 5),
        ("nokia-ixr7220-h4-64d", 0, (100, 300), 268_736, 300),
        ("nokia-ixr7220-h5-64d", 0, (800, 30), 614_172, 40),
        ("dell-z9664f", 0, (400, 41), 817_372, 300),
        ("arista-7060x6-64pe", 1, (400, 100), 612_140, 150),
        ("nvidia-sn4700", 0, (400, 20), 77_824, 40),
    ],
)
def test_the_published_row_or_the_next_longer_one_counts(
    model: str, hwsku: int, port: tuple[int, int], xoff: int, row_m: int
) -> None:
    buffers = CATALOG.switch(model).hwskus[hwsku].buffers
    assert buffers is not None
    found = headroom(buffers, BufferModel.TRADITIONAL, PortMedium(port[0], port[1], 9100, 8))
    assert isinstance(found, Headroom)
    assert (found.xoff_bytes, found.row_m) == (xoff, row_m)
    assert buffers.source in found.formula


def test_a_cable_longer_than_every_published_one_is_unknown_and_told_with_the_lengths() -> None:
    buffers = CATALOG.switch("nokia-ixr7220-h4-64d").hwskus[0].buffers
    assert buffers is not None
    found = published_headroom(buffers, PortMedium(400, 301, 9100, 8))
    assert isinstance(found, NoHeadroom)
    assert "301 m" in found.reason
    assert "5 m, 40 m, 300 m" in found.fix


def test_a_speed_that_is_not_published_is_unknown_and_told_with_the_speeds() -> None:
    buffers = CATALOG.switch("nokia-ixr7220-h4-64d").hwskus[0].buffers
    assert buffers is not None
    found = published_headroom(buffers, PortMedium(200, 5, 9100, 4))
    assert isinstance(found, NoHeadroom)
    assert "10G, 25G, 40G, 50G, 100G, 400G" in found.reason


def test_the_dynamic_model_is_refused_where_the_vendor_publishes_no_computation() -> None:
    buffers = CATALOG.switch("nokia-ixr7220-h4-64d").hwskus[0].buffers
    assert buffers is not None
    assert isinstance(headroom(buffers, BufferModel.DYNAMIC, PortMedium(400, 5, 9100, 8)), NoHeadroom)
