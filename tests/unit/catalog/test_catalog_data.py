"""Every data file of the catalog is sound; one case a file, so that one mistake does not hide the rest."""

import re
from collections import Counter
from itertools import pairwise

import pytest

from railweave.catalog.load import load_catalog
from railweave.catalog.media import Medium
from railweave.catalog.model import BreakoutMode, Hwsku, SwitchModel
from railweave.catalog.own import switch_faults
from railweave.catalog.panel import PortGroup, boot_speed_gbps, build_panel, lane_rates
from railweave.fabric.buffers import BufferSlices
from railweave.fabric.panel import Panel

CATALOG = load_catalog()
NICS = pytest.mark.parametrize("nic_id", CATALOG.nic_ids())
MEDIA = pytest.mark.parametrize("medium", CATALOG.media(), ids=lambda medium: medium.id)

PROMISED = {
    "accton-as9716-32d",
    "accton-as9726-32d",
    "arista-7060dx5-64s",
    "arista-7060x6-64pe",
    "dell-z9432f",
    "dell-z9664f",
    "nokia-ixr7220-h4-64d",
    "nokia-ixr7220-h5-64d",
    "nvidia-sn2700",
    "nvidia-sn4700",
    "nvidia-sn5600",
    "sonic-vs",
}


BOOT_MIXED = {"nvidia-sn4410", "nvidia-sn5610n"}
"""Models of which SONiC has no HWSKU whose cages all boot alike."""


def children(mode: BreakoutMode) -> int:
    return sum(part.count for part in mode.parts)


def uniform(model: SwitchModel, hwsku: Hwsku) -> BreakoutMode | None:
    return next((mode for mode in model.breakout_modes if mode.text == hwsku.mode), None)


def test_the_promised_switch_models_are_there() -> None:
    assert set(CATALOG.switch_ids()) >= PROMISED
    assert len(CATALOG.switch_ids()) >= 60


def a_model_names_its_source_commit_and_license(model_id: str) -> None:
    model = CATALOG.switch(model_id)
    repository, _, rest = model.source.partition(":")
    assert repository == "sonic-net/sonic-buildimage"
    assert len(rest.rpartition("@")[2]) == 40
    assert model.license == "Apache-2.0"
    assert all(hwsku.source.endswith(f"/{hwsku.name}") for hwsku in model.hwskus)
    assert model.cage_type.source


def no_lane_of_a_model_is_used_twice_unless_the_file_says_so(model_id: str) -> None:
    model = CATALOG.switch(model_id)
    ports = [*(port.lanes for port in model.cages), *(port.lanes for port in model.service_ports)]
    lanes = Counter(lane for lanes in ports for lane in lanes)
    twice = [lane for lane, times in lanes.items() if times > 1]
    if model.chassis is not None:  # every chip of a line card counts its own lanes
        return
    assert bool(twice) == model.duplicate_lanes
    in_cages = Counter(lane for cage in model.cages for lane in cage.lanes)
    assert max(in_cages.values()) == 1


def every_cage_has_all_lanes_of_its_type_and_its_own_number_and_name(model_id: str) -> None:
    model = CATALOG.switch(model_id)
    assert {len(cage.lanes) for cage in model.cages} == {model.cage_type.lanes}
    assert [cage.number for cage in model.cages] == list(range(1, len(model.cages) + 1))
    assert len({cage.name for cage in model.cages}) == len(model.cages)
    assert {second.port_index - first.port_index for first, second in pairwise(model.cages)} == {1}


def names_of_cages_leave_room_for_the_children_of_a_breakout(model_id: str) -> None:
    model = CATALOG.switch(model_id)
    numbers = [int(cage.name.removeprefix("Ethernet")) for cage in model.cages]
    steps = {second - first for first, second in pairwise(numbers)}
    assert steps == ({model.cage_type.lanes} if model.breakout_modes else steps)
    assert min(steps) >= 1


def every_breakout_mode_names_an_alias_for_each_child(model_id: str) -> None:
    model = CATALOG.switch(model_id)
    for mode in model.breakout_modes:
        assert len(mode.aliases) == children(mode), mode.text
        assert sum(part.lanes or model.cage_type.lanes for part in mode.parts) <= model.cage_type.lanes
        assert mode.not_on <= {cage.number for cage in model.cages}
    assert len({mode.text for mode in model.breakout_modes}) == len(model.breakout_modes)


def every_hwsku_is_one_that_its_cages_can_be(model_id: str) -> None:
    model = CATALOG.switch(model_id)
    assert len({hwsku.name for hwsku in model.hwskus}) == len(model.hwskus)
    for hwsku in model.hwskus:
        if hwsku.speed_gbps is None or hwsku.ports_per_cage is None:
            assert model.breakout_modes
            assert (hwsku.speed_gbps, hwsku.ports_per_cage, hwsku.mode, hwsku.aliases) == (None, None, None, ())
            continue
        lanes = model.cage_type.lanes // hwsku.ports_per_cage
        assert lane_rates(hwsku.speed_gbps, lanes, model.cage_type.lane_gbps), hwsku.name
        mode = uniform(model, hwsku)
        assert (mode is None) == (not model.breakout_modes)
        assert len(hwsku.aliases if mode is None else mode.aliases) == hwsku.ports_per_cage
        if mode is not None:
            assert children(mode) == hwsku.ports_per_cage
            assert hwsku.speed_gbps in (mode.parts[0].speed_gbps, *mode.parts[0].alternatives)


def the_base_hwsku_runs_the_cages_at_full_speed_or_boots_them_in_different_modes(model_id: str) -> None:
    model = CATALOG.switch(model_id)
    base = model.hwskus[0]
    assert (base.speed_gbps is None) == (model_id in BOOT_MIXED)
    if base.speed_gbps is not None and base.ports_per_cage is not None:
        assert base.ports_per_cage * base.speed_gbps == model.cage_type.lanes * model.cage_type.lane_gbps
    assert isinstance(build_panel(model, (PortGroup(len(model.cages), boot_speed_gbps(model)),)), Panel)


def buffers_are_plausible_sizes_in_bytes(model_id: str) -> None:
    model = CATALOG.switch(model_id)
    for hwsku in model.hwskus:
        for pools in hwsku.buffer_pools.values():
            assert {pool.type for pool in pools} <= {"ingress", "egress", "both", None}
            for pool in pools:
                assert pool.size_bytes is None or 1_000_000 < pool.size_bytes < 300_000_000
        for row in hwsku.pg_profiles:
            assert row.xoff_bytes > 0
            assert row.size_bytes > 0
            assert 5 <= row.cable_m <= 2000
    assert model.asic.buffer_bytes is None or model.asic.buffer_bytes >= 16_000_000


HALF_OF_THE_LANES = {*range(1, 129), *range(385, 513)}
"""Lanes of pipes 0-3 and 12-15, all that half of a Tomahawk 4 or 5 has."""
SLICES = {
    "Tomahawk2": BufferSlices(4, 2),
    **dict.fromkeys(("Tomahawk3", "Tomahawk4", "Tomahawk5", "Trident4"), BufferSlices(2)),
    **dict.fromkeys(("Tomahawk6", "Trident3"), BufferSlices(1)),
}


def the_slices_of_the_buffer_are_those_of_the_chip_and_half_of_a_chip_has_one(model_id: str) -> None:
    model = CATALOG.switch(model_id)
    lanes = {lane for cage in model.cages for lane in cage.lanes}
    is_half = model.asic.family in ("Tomahawk4", "Tomahawk5") and lanes == HALF_OF_THE_LANES
    assert model.asic.slices == (BufferSlices(1) if is_half else SLICES.get(model.asic.family))
    assert ("slices: " in model.asic.source) == (model.asic.slices is not None)


def the_chip_lane_sums_agree_with_what_modules_see(model_id: str) -> None:
    cage = CATALOG.switch(model_id).cage_type
    lanes, lane_gbps = cage.module
    assert cage.lanes * cage.lane_gbps == lanes * lane_gbps


RULES = (
    a_model_names_its_source_commit_and_license,
    no_lane_of_a_model_is_used_twice_unless_the_file_says_so,
    every_cage_has_all_lanes_of_its_type_and_its_own_number_and_name,
    names_of_cages_leave_room_for_the_children_of_a_breakout,
    every_breakout_mode_names_an_alias_for_each_child,
    every_hwsku_is_one_that_its_cages_can_be,
    the_base_hwsku_runs_the_cages_at_full_speed_or_boots_them_in_different_modes,
    buffers_are_plausible_sizes_in_bytes,
    the_slices_of_the_buffer_are_those_of_the_chip_and_half_of_a_chip_has_one,
    the_chip_lane_sums_agree_with_what_modules_see,
)
"""What holds of every model of a switch; none takes a millisecond, so a model is one test."""


@pytest.mark.parametrize("model_id", CATALOG.switch_ids())
def test_a_model_of_a_switch_is_sound(model_id: str) -> None:
    for rule in RULES:
        rule(model_id)
    assert list(switch_faults(CATALOG.switch(model_id))) == [], "a project's own model would be refused for it"


def test_a_housing_states_units_or_watts_and_where_they_stand() -> None:
    housings = {model_id: housing for model_id in CATALOG.switch_ids() if (housing := CATALOG.switch(model_id).housing)}
    assert len(housings) >= 24
    for model_id, one in housings.items():
        assert one.rack_units in {None, 1, 2, 4, 16}, model_id
        assert one.max_power_w is None or 300 <= one.max_power_w <= 5000 * (one.rack_units or 1), model_id
        assert one.rack_units or one.max_power_w, model_id
        assert re.search(r"[\w-]+/[\w-]+:[\w./-]+@[0-9a-f]{12}\b", one.source), model_id


@NICS
def test_a_nic_runs_every_combination_on_one_two_four_or_eight_lanes(nic_id: str) -> None:
    nic = CATALOG.nic(nic_id)
    assert nic.source
    assert bool(nic.form_factors) == bool(nic.combinations)
    assert nic.combinations or nic.not_public
    for use in nic.combinations:
        assert all(use.speed_gbps // rate in (1, 2, 4, 8) for rate in use.lane_gbps)
        assert nic.total_gbps(use.ports, use.speed_gbps) <= use.ports * use.speed_gbps
        assert nic.refusal_of(use.ports, use.speed_gbps) is None


@NICS
def test_a_nic_fits_the_slots_that_it_was_made_for(nic_id: str) -> None:
    nic = CATALOG.nic(nic_id)
    most = max((nic.total_gbps(use.ports, use.speed_gbps) for use in nic.combinations), default=0)
    assert nic.pcie or nic.not_public
    assert all(CATALOG.pcie_slot(slot).raw_gbps >= most for slot in nic.pcie)


@MEDIA
def test_a_medium_names_its_source_and_runs_each_speed_on_whole_lanes(medium: Medium) -> None:
    assert medium.source
    for pmd in medium.pmds:
        assert pmd.speed_gbps // pmd.host_lane_gbps in (1, 2, 4, 8)
        assert pmd.speed_gbps % pmd.wire_lane_gbps == 0
        assert pmd.wire_lane_gbps >= pmd.host_lane_gbps
        assert "copper" not in medium.title or pmd.wire_lane_gbps == pmd.host_lane_gbps
    keys = [(pmd.speed_gbps, pmd.host_lane_gbps, pmd.wire_lane_gbps) for pmd in medium.pmds]
    assert len(set(keys)) == len(keys)


def test_a_dearer_medium_reaches_farther() -> None:
    ranks = [medium.cost_rank for medium in CATALOG.media()]
    farthest = [max(pmd.reach_m for pmd in medium.pmds if pmd.speed_gbps == 400) for medium in CATALOG.media()]
    assert ranks == sorted(set(ranks))
    assert farthest == sorted(farthest)


def test_pcie_slots_carry_less_payload_than_their_raw_rate() -> None:
    for slot_id in CATALOG.pcie_ids():
        slot = CATALOG.pcie_slot(slot_id)
        low, high = slot.payload_gbps
        assert low < high < slot.raw_gbps
        assert slot.raw_gbps == pytest.approx(
            slot.lanes * {3: 7.877, 4: 15.754, 5: 31.508, 6: 60.5}[slot.generation], rel=0.002
        )
