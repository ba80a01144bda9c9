"""Front panels: what SONiC calls the ports at the speeds that are chosen."""

import pytest

from railweave.catalog.load import load_catalog
from railweave.catalog.panel import (
    PortGroup,
    boot_speed_gbps,
    build_panel,
    cage_use,
    logical_ports_per_cage,
    speeds,
)
from railweave.diagnostics import Blocker
from railweave.fabric.panel import Panel, SwitchPort

CATALOG = load_catalog()


def panel(model_id: str, *groups: tuple[int, int]) -> Panel:
    built = build_panel(CATALOG.switch(model_id), [PortGroup(cages, speed) for cages, speed in groups])
    assert isinstance(built, Panel), built
    return built


def refusal(model_id: str, *groups: tuple[int, int]) -> Blocker:
    built = build_panel(CATALOG.switch(model_id), [PortGroup(cages, speed) for cages, speed in groups])
    assert isinstance(built, Blocker)
    return built


def test_an_sn5600_cage_breaks_out_into_two_ports_of_400g() -> None:
    first, second = panel("nvidia-sn5600", (64, 400)).ports[:2]
    assert first == SwitchPort(0, "Ethernet0", "etp1a", "0,1,2,3", 400, 1, 1, "rs")
    assert second == SwitchPort(1, "Ethernet4", "etp1b", "4,5,6,7", 400, 1, 2, "rs")


def test_the_hwsku_is_the_one_that_is_native_to_the_speed_of_all_ports() -> None:
    assert panel("nvidia-sn5600", (64, 800)).hwsku == "ACS-SN5600"
    assert panel("nvidia-sn5600", (64, 400)).hwsku == "Mellanox-SN5600-O128"
    assert panel("arista-7060x6-64pe", (64, 400)).hwsku == "Arista-7060X6-64PE-O128S2"


def test_mixed_speeds_take_the_base_hwsku_and_breakout() -> None:
    mixed = panel("nvidia-sn5600", (32, 400), (32, 800))
    assert mixed.hwsku == "ACS-SN5600"
    assert len(mixed.ports) == 64 + 32
    assert dict(mixed.breakout)["Ethernet248"] == "2x400G[200G,100G,50G,40G,25G,10G]"
    assert dict(mixed.breakout)["Ethernet256"] == "1x800G[400G,200G,100G,50G,40G,25G,10G]"
    assert mixed.ports[64] == SwitchPort(
        64, "Ethernet256", "etp33", "256,257,258,259,260,261,262,263", 800, 33, 0, "rs"
    )


def test_a_speed_without_its_own_hwsku_takes_the_base_hwsku() -> None:
    broken_out = panel("nvidia-sn5600", (64, 200))
    assert broken_out.hwsku == "ACS-SN5600"
    assert len(broken_out.ports) == 256
    assert [port.alias for port in broken_out.ports[:4]] == ["etp1a", "etp1b", "etp1c", "etp1d"]


def test_a_nokia_h4_has_the_ports_of_its_own_table() -> None:
    built = panel("nokia-ixr7220-h4-64d", (64, 400))
    assert built.platform == "x86_64-nokia_ixr7220_h4-r0"
    assert built.hwsku == "Nokia-IXR7220-H4-64D"
    assert built.asic == "Broadcom Tomahawk4"
    assert built.ports[0].lanes == "129,130,131,132,133,134,135,136"
    assert built.ports[0].alias == "Ethernet1/1"
    assert built.ports[63].name == "Ethernet504"
    assert built.breakout[0] == ("Ethernet0", "1x400G")
    assert len(built.ports) == 64


def test_a_nokia_child_is_named_after_its_first_lane() -> None:
    ports = panel("nokia-ixr7220-h5-64d", (64, 400)).ports
    assert [port.alias for port in ports[:3]] == ["Ethernet1/1", "Ethernet1/5", "Ethernet2/1"]
    assert ports[2].lanes == "17,18,19,20"


def test_the_virtual_switch_has_the_ports_that_it_boots_with() -> None:
    built = panel("sonic-vs", (32, 100))
    assert (built.hwsku, built.platform) == ("Force10-S6000", "x86_64-kvm_x86_64-r0")
    assert built.ports[1] == SwitchPort(1, "Ethernet4", "fortyGigE0/4", "29,30,31,32", 100, 1, 0, "rs")
    assert built.ports[31].lanes == "97,98,99,100"
    assert set(built.breakout) == {(port.name, "1x100G[40G]") for port in built.ports}


def test_the_virtual_switch_runs_40g_without_breaking_out_and_without_fec() -> None:
    built = panel("sonic-vs", (32, 40))
    assert built.breakout[0] == ("Ethernet0", "1x100G[40G]")
    assert {(port.speed_gbps, port.subport, port.fec) for port in built.ports} == {(40, 0, "none")}


def test_a_cage_of_the_virtual_switch_that_lacks_a_mode_is_named() -> None:
    assert len(panel("sonic-vs", (6, 50)).ports) == 12
    refused = refusal("sonic-vs", (7, 50))
    assert refused == Blocker(
        "cage 7 (Ethernet24) of SONiC virtual switch cannot be broken out to 50G",
        "use 50G only on cages 1…6, 8…32, or another speed",
    )


def test_a_model_with_fast_cages_at_the_end_of_its_panel_has_them_where_uplinks_are() -> None:
    built = panel("nvidia-sn4410", (24, 200), (8, 400))
    assert [port.name for port in built.ports[46:50]] == ["Ethernet184", "Ethernet188", "Ethernet192", "Ethernet200"]
    refused = refusal("nvidia-sn4410", (23, 200), (9, 400))
    assert refused.message == "cage 24 (Ethernet184) of NVIDIA SN4410 cannot be broken out to 400G"
    assert refused.fix == "use 400G only on cages 25…32, or another speed"


def test_a_platform_that_counts_its_ports_from_0_names_them_so() -> None:
    built = panel("ufispace-s9321-64eo", (64, 400))
    assert [port.alias for port in built.ports[:3]] == ["Eth0/1(Port0)", "Eth0/2(Port0)", "Eth1/1(Port1)"]
    assert built.breakout[0] == ("Ethernet0", "2x400G[200G, 100G]")


def test_a_platform_without_breakout_has_only_its_native_ports() -> None:
    built = panel("accton-as9726-32d", (32, 400))
    assert built.breakout == ()
    assert [port.name for port in built.ports[:2]] == ["Ethernet1", "Ethernet2"]
    assert built.ports[31].alias == "fourHundredGigE32"
    assert refusal("accton-as9726-32d", (32, 200)) == Blocker(
        "no 200G ports are known of Accton AS9726-32D: its SONiC has no breakout modes (platform.json of"
        " x86_64-accton_as9726_32d-r0 lists no interfaces)",
        "choose its native speed: 400G; or another model",
    )


def test_an_index_that_counts_from_0_keeps_its_alias_from_1() -> None:
    first = panel("accton-as9716-32d", (32, 400)).ports[0]
    assert (first.panel, first.alias) == (0, "fourHundredGigE1")


def test_a_slower_speed_is_broken_out_and_not_run_on_a_whole_cage() -> None:
    assert logical_ports_per_cage(CATALOG.switch("arista-7060x6-64pe"), 400) == 2
    assert logical_ports_per_cage(CATALOG.switch("nokia-ixr7220-h5-64d"), 100) == 8


def test_a_speed_that_no_lanes_carry_is_not_offered() -> None:
    # 8x50G[40G,...] of this switch gives one lane a port, and 40G takes four.
    use = cage_use(CATALOG.switch("arista-7060dx5-64s"), 40)
    assert use is not None
    assert (use.ports, use.lane_gbps) == (2, 10)


def test_speeds_are_listed_fastest_first() -> None:
    assert speeds(CATALOG.switch("nokia-ixr7220-h4-64d")) == (400, 200, 100, 50)


def test_an_impossible_speed_is_refused_with_the_possible_ones() -> None:
    refused = refusal("nokia-ixr7220-h4-64d", (64, 800))
    assert refused.message == "Nokia 7220 IXR-H4-64D has no 800G ports"
    assert refused.fix == "choose one of its speeds: 400G, 200G, 100G, 50G; or another model"
    assert logical_ports_per_cage(CATALOG.switch("nokia-ixr7220-h4-64d"), 800) is None


def test_more_cages_than_the_front_panel_has_are_refused() -> None:
    assert "32 cages and 33 are needed" in refusal("nvidia-sn4700", (20, 400), (13, 200)).message


def test_more_ports_than_the_chip_drives_are_refused() -> None:
    refused = refusal("nokia-ixr7220-h5-64d", (64, 100))
    assert "drives 320 ports and 512 are needed" in refused.message
    assert "at most 40" in refused.fix
    assert len(panel("nokia-ixr7220-h5-64d", (40, 100)).ports) == 320
    assert len(panel("nokia-ixr7220-h4-64d", (64, 100)).ports) == 256


def test_unused_cages_stay_out_of_the_panel() -> None:
    built = panel("nvidia-sn4700", (4, 400))
    assert [port.name for port in built.ports] == ["Ethernet0", "Ethernet8", "Ethernet16", "Ethernet24"]
    assert len(built.breakout) == 4


def test_the_same_arguments_give_the_same_panel_object() -> None:
    whole = panel("nvidia-sn5600", (64, 400))
    assert panel("nvidia-sn5600", (64, 400)) is whole
    assert panel("nvidia-sn5600", (32, 400), (0, 800), (32, 400)) is whole
    assert panel("nvidia-sn5600", (64, 800)) is not whole


@pytest.mark.parametrize("model_id", [one for one in CATALOG.switch_ids() if CATALOG.switch(one).service_ports])
def test_service_ports_stay_out_of_the_panel(model_id: str) -> None:
    model = CATALOG.switch(model_id)
    names = {port.name for port in panel(model_id, (len(model.cages), boot_speed_gbps(model))).ports}
    assert not names & {port.name for port in model.service_ports}
