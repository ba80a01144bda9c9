"""Headroom against what vendors publish, row by row."""

import json
import math
from pathlib import Path

import pytest

from railweave.catalog.load import load_catalog
from railweave.catalog.panel import hwsku_buffers
from railweave.fabric.buffers import Buffers, HeadroomChip
from railweave.fabric.policy import BufferModel, SonicPolicy
from railweave.fabric.releases import RELEASES
from railweave.qos.mmu.headroom import (
    SCRIPTS,
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
TRADITIONAL = SonicPolicy(buffer_model=BufferModel.TRADITIONAL)
LATEST = SCRIPTS[max(RELEASES)]
TABLE_2021 = Variant("NVIDIA's tables for Spectrum-1 to -3", 100, False, 9216, 3.8 * 1024)
TABLE_2024 = Variant("NVIDIA's tables for Spectrum-4", 100, True, 9216)
SPECTRUM_2 = HeadroomChip(cell_bytes=144, pipeline_kib=19, mac_phy_bytes=819.2)


def buffers_of(model: str, hwsku: int) -> Buffers:
    switch = CATALOG.switch(model)
    found = hwsku_buffers(switch, switch.hwskus[hwsku].name)
    assert found is not None
    return found


def rows_of(model: str) -> dict[tuple[int, int], int]:
    return {(row.speed_gbps, row.cable_m): row.xoff_bytes for row in CATALOG.switch(model).hwskus[0].pg_profiles}


def chip_of(model: str) -> HeadroomChip:
    chip = CATALOG.switch(model).asic.headroom
    assert chip is not None
    return chip


PUBLISHED = {
    **dict.fromkeys(("nvidia-sn3700", "nvidia-sn3700c"), (TABLE_2021, 18)),
    **dict.fromkeys(("nvidia-sn4410", "nvidia-sn4600", "nvidia-sn4600c", "nvidia-sn4700"), (TABLE_2021, 21)),
    **dict.fromkeys(("nvidia-sn5400", "nvidia-sn5600"), (TABLE_2024, 24)),
    "nvidia-sn2700": (TABLE_2021, 15),
}
"""Every model with the dynamic buffer model, and how many rows its HWSKU publishes."""


def test_every_model_with_the_dynamic_buffer_model_is_held_against_its_rows() -> None:
    models = map(CATALOG.switch, CATALOG.switch_ids())
    dynamic = {one.id for one in models if one.hwskus[0].buffers and one.hwskus[0].buffers.model is BufferModel.DYNAMIC}
    assert dynamic == set(PUBLISHED)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_computation_gives_every_published_row_of_a_spectrum_switch(name: str) -> None:
    variant, count = PUBLISHED[name]
    chip, rows = chip_of(name), rows_of(name)
    assert len(rows) == count
    for (speed, length), xoff in rows.items():
        computed = spectrum_headroom(chip, PortMedium(speed, length, 9100, 4), variant)
        assert computed.xoff_bytes == xoff, (speed, length)


def test_size_and_xon_of_a_published_row_are_computed_too() -> None:
    # SN3700 again: 200G over 300 m has size 223232, xon 19456.
    found = spectrum_headroom(SPECTRUM_2, PortMedium(200, 300, 9100, 4), TABLE_2021)
    assert (found.size_bytes, found.xon_bytes, found.xoff_bytes) == (223_232, 19_456, 203_776)


# Broadcom publishes no computation; SONiC's device files are the source, in which 5 m, 40 m and 300 m are listed.
# Nokia IXR-7220-H4 (Tomahawk 4), Nokia IXR-7220-H5 and Arista 7060X6 (Tomahawk 5), Dell Z9664F (Tomahawk 4).
BROADCOM = [
    ("nokia-ixr7220-h4-64d", 0, {(400, 5): 307_848, (400, 40): 330_200, (100, 40): 177_632, (100, 300): 268_736}),
    ("dell-z9664f", 0, {(100, 5): 129_032, (100, 40): 142_240, (100, 300): 240_538, (400, 5): 371_348,
                        (400, 40): 424_434, (400, 300): 817_372}),
    ("nokia-ixr7220-h5-64d", 0, {(800, 40): 614_172}),
    ("arista-7060x6-64pe", 1, {(400, 5): 612_140, (400, 40): 612_140, (400, 150): 612_140}),
]  # fmt: skip


@pytest.mark.parametrize(("model", "hwsku", "published"), BROADCOM, ids=[row[0] for row in BROADCOM])
def test_the_published_rows_of_broadcom_switches_come_back_as_they_are(
    model: str, hwsku: int, published: dict[tuple[int, int], int]
) -> None:
    buffers = buffers_of(model, hwsku)
    found = {place: headroom(buffers, TRADITIONAL, PortMedium(*place, 9100, 8)) for place in published}
    assert {place: one.xoff_bytes for place, one in found.items() if isinstance(one, Headroom)} == published
    assert {one.row_m for one in found.values() if isinstance(one, Headroom)} == {length for _, length in published}


@pytest.mark.parametrize(
    ("speed", "xoff", "size"), [(100, 53_248, 72_704), (200, 64_512, 83_968)], ids=["100G 40 m", "200G 40 m"]
)
def test_the_dynamic_model_gives_the_worked_examples_of_spectrum_3(speed: int, xoff: int, size: int) -> None:
    found = spectrum_headroom(chip_of("nvidia-sn4700"), PortMedium(speed, 40, 9100, 4), LATEST)
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
    port = PortMedium(100, 40, 9100, 4)
    assert spectrum_headroom(chip_of("nvidia-sn4700"), port, SCRIPTS["202511"]).xoff_bytes == 51_200


RUN = json.loads((Path(__file__).parent / "data" / "spectrum_scripts.json").read_text())
"""What SONiC's own scripts gave."""


def test_every_release_computes_what_its_own_script_computes() -> None:
    assert len(RUN["headroom"]) > 1000
    for release, model, speed, length, mtu, lanes, *numbers in RUN["headroom"]:
        script = SCRIPTS[release]._replace(small_packet_percent=50)
        found = spectrum_headroom(chip_of(model), PortMedium(speed, length, mtu, lanes), script)
        assert [found.xon_bytes, found.xoff_bytes, found.size_bytes] == numbers, (release, model, speed, length, mtu)


def test_releases_up_to_202405_compute_for_small_packets_alone() -> None:
    assert {row[0] for row in RUN["all_small"]} == {"202305", "202311", "202405"}
    for release, model, speed, length, mtu, lanes, *numbers in RUN["all_small"]:
        found = spectrum_headroom(chip_of(model), PortMedium(speed, length, mtu, lanes), SCRIPTS[release])
        assert [found.xon_bytes, found.xoff_bytes, found.size_bytes] == numbers, (release, model, speed, length, mtu)
    later = {SCRIPTS[release].small_packet_percent for release in RELEASES if release > "202405"}
    assert later == {50}


def test_the_releases_between_have_the_script_of_one_that_was_run() -> None:
    alike = {release: SCRIPTS[release].name for release in RELEASES}
    assert alike["202311"] == alike["202305"]
    assert {alike[one] for one in ("202405", "202411", "202511")} == {alike["202505"]}


def test_a_port_of_eight_lanes_has_twice_the_pipeline_and_a_frame_more() -> None:
    four = spectrum_headroom(SPECTRUM_2, PortMedium(400, 40, 9100, 4), LATEST)
    eight = spectrum_headroom(SPECTRUM_2, PortMedium(400, 40, 9100, 8), LATEST)
    assert eight.xon_bytes == 2 * four.xon_bytes
    assert eight.xoff_bytes == four.xoff_bytes
    assert eight.size_bytes == math.ceil((eight.xoff_bytes + eight.xon_bytes + 9100) / 1024) * 1024


@pytest.mark.parametrize("larger", [{"length_m": 41}, {"mtu_bytes": 9216}, {"speed_gbps": 200}])
def test_headroom_never_shrinks_with_length_mtu_or_speed(larger: dict[str, int]) -> None:
    base = {"speed_gbps": 100, "length_m": 40, "mtu_bytes": 9100, "lanes": 4}
    before, after = (spectrum_headroom(SPECTRUM_2, PortMedium(**each), LATEST) for each in (base, {**base, **larger}))
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
    buffers = buffers_of(model, hwsku)
    found = headroom(buffers, TRADITIONAL, PortMedium(port[0], port[1], 9100, 8))
    assert isinstance(found, Headroom)
    assert (found.xoff_bytes, found.row_m) == (xoff, row_m)
    assert buffers.source in found.formula


def test_a_cable_longer_than_every_published_one_is_unknown_and_told_with_the_lengths() -> None:
    buffers = buffers_of("nokia-ixr7220-h4-64d", 0)
    found = published_headroom(buffers, PortMedium(400, 301, 9100, 8))
    assert isinstance(found, NoHeadroom)
    assert "301 m" in found.reason
    assert "5 m, 40 m, 300 m" in found.fix


def test_a_speed_that_is_not_published_is_unknown_and_told_with_the_speeds() -> None:
    buffers = buffers_of("nokia-ixr7220-h4-64d", 0)
    found = published_headroom(buffers, PortMedium(200, 5, 9100, 4))
    assert isinstance(found, NoHeadroom)
    assert "10G, 25G, 40G, 50G, 100G, 400G" in found.reason


def test_the_dynamic_model_is_refused_where_the_vendor_publishes_no_computation() -> None:
    buffers = buffers_of("nokia-ixr7220-h4-64d", 0)
    assert isinstance(
        headroom(buffers, SonicPolicy(buffer_model=BufferModel.DYNAMIC), PortMedium(400, 5, 9100, 8)), NoHeadroom
    )
