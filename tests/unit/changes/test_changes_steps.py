"""The steps of a merge: SONiC's traps, the order, and what is refused."""

from typing import Any

import pytest
from engine_tools import apply_steps, rollback_steps

from railweave.sonic.delta.change import Disruption
from railweave.sonic.delta.merge import delta_of
from railweave.sonic.delta.snapshot import snapshot_before
from railweave.sonic.delta.steps import (
    HdelStep,
    LoadStep,
    PatchStep,
    RecreateStep,
    ReloadStep,
    VtyshStep,
    rollback_document,
)
from railweave.sonic.document import DocumentError, RunningConfig, running_from
from railweave.sonic.rows import DeviceConfig

METADATA = {"hwsku": "SKU", "mac": "52:54:00:00:00:01", "platform": "x86_64-p-r0", "hostname": "leaf1"}
FRR = "log syslog informational\nrouter bgp 65001\n neighbor 10.0.0.1 remote-as 65100\nexit\n"


def running(**tables: Any) -> RunningConfig:
    return running_from({"DEVICE_METADATA": {"localhost": METADATA}, **tables, "bgpraw": FRR})


def test_a_row_that_loses_its_last_field_is_kept_by_the_placeholder() -> None:
    device = running(QUEUE={"Ethernet0|3": {"scheduler": "x"}})
    assert apply_steps({"QUEUE": {"Ethernet0|3": {"scheduler": None}}}, device) == (
        LoadStep({"QUEUE": {"Ethernet0|3": {}}}),
        HdelStep("QUEUE|Ethernet0|3", ("scheduler",)),
    )


def test_a_field_set_on_an_empty_row_drives_the_placeholder_out() -> None:
    device = running(SCHEDULER={"x": {}})
    assert apply_steps({"SCHEDULER": {"x": {"type": "STRICT"}}}, device) == (
        LoadStep({"SCHEDULER": {"x": {"type": "STRICT"}}}),
        HdelStep("SCHEDULER|x", ("NULL",)),
    )


def test_a_list_is_deleted_under_the_name_that_redis_has() -> None:
    device = running(ACL_TABLE={"A": {"ports": ["Ethernet0"], "type": "L3"}})
    assert apply_steps({"ACL_TABLE": {"A": {"ports": None}}}, device) == (HdelStep("ACL_TABLE|A", ("ports@",)),)
    assert apply_steps({"ACL_TABLE": {"A": {"ports": "Ethernet0"}}}, device) == (
        LoadStep({"ACL_TABLE": {"A": {"ports": "Ethernet0"}}}),
        HdelStep("ACL_TABLE|A", ("ports@",)),
    )


def test_a_patch_adds_a_table_with_its_first_row_and_removes_it_with_its_last() -> None:
    device = running(DEVICE_NEIGHBOR={"Ethernet0": {"name": "x"}})
    merge = {"DEVICE_NEIGHBOR": {"Ethernet0": None}, "INTERFACE": {"Ethernet0": {}, "Ethernet0|10.0.0.0/31": {}}}
    first, last = apply_steps(merge, device)
    assert first == PatchStep(
        (
            {"op": "add", "path": "/INTERFACE", "value": {"Ethernet0": {}}},
            {"op": "add", "path": "/INTERFACE/Ethernet0|10.0.0.0~131", "value": {}},
        )
    )
    assert last == PatchStep(({"op": "remove", "path": "/DEVICE_NEIGHBOR"},))


def kinds(steps: object) -> list[str]:
    names = {LoadStep: "load", HdelStep: "hdel", PatchStep: "patch", VtyshStep: "vtysh", ReloadStep: "reload"}
    return [names[type(step)] for step in steps]  # type: ignore[attr-defined]


def test_neighbors_come_after_their_addresses_and_go_before_them() -> None:
    merge = {"INTERFACE": {"Ethernet0": {}}, "bgpraw": "router bgp 65001\n neighbor 10.0.0.3 remote-as 65100\n"}
    assert kinds(apply_steps(merge, running())) == ["patch", "vtysh"]
    device = running(INTERFACE={"Ethernet0": {}})
    merge = {"INTERFACE": {"Ethernet0": None}, "bgpraw": "router bgp 65001\n no neighbor 10.0.0.1\n"}
    assert kinds(apply_steps(merge, device)) == ["vtysh", "patch"]


def test_the_neighbors_of_bgpcfgd_go_before_ours_come() -> None:
    # bgpcfgd answers the removal with `no neighbor`, which would take ours of the same address along.
    device = running(BGP_NEIGHBOR={"10.0.0.3": {"asn": "65100"}})
    merge = {"BGP_NEIGHBOR": {"10.0.0.3": None}, "bgpraw": "router bgp 65001\n neighbor 10.0.0.3 remote-as 65100\n"}
    assert kinds(apply_steps(merge, device)) == ["load", "vtysh"]


def test_definitions_come_before_their_users_and_go_after_them() -> None:
    device = running(SCHEDULER={"old": {"type": "STRICT"}}, QUEUE={"Ethernet0|3": {"scheduler": "old"}})
    merge = {"SCHEDULER": {"old": None, "new": {"type": "STRICT"}}, "QUEUE": {"Ethernet0|3": {"scheduler": "new"}}}
    documents = [step.document for step in apply_steps(merge, device) if isinstance(step, LoadStep)]
    assert documents == [
        {"SCHEDULER": {"new": {"type": "STRICT"}}},
        {"QUEUE": {"Ethernet0|3": {"scheduler": "new"}}},
        {"SCHEDULER": {"old": None}},
    ]


def test_a_port_that_was_taken_joins_its_vlan_again_after_it_is_no_longer_routed() -> None:
    device = running(VLAN_MEMBER={"Vlan1|Ethernet0": {"tagging_mode": "untagged"}})
    merge = {"VLAN_MEMBER": {"Vlan1|Ethernet0": None}, "INTERFACE": {"Ethernet0": {}}}
    assert kinds(apply_steps(merge, device)) == ["load", "patch"]
    assert rollback_steps(merge, device) == (
        LoadStep({"INTERFACE": {"Ethernet0": None}}),
        LoadStep({"VLAN_MEMBER": {"Vlan1|Ethernet0": {"tagging_mode": "untagged"}}}),
    )


def test_a_reload_keeps_everything_foreign_and_the_system_lines_of_frr() -> None:
    device = running(SNMP_COMMUNITY={"seen": {"TYPE": "RO"}})
    merge = {
        "DEVICE_METADATA": {"localhost": {"hostname": "leaf2"}},
        "bgpraw": "router bgp 65001\n no neighbor 10.0.0.1\n",
    }
    (step,) = apply_steps(merge, device)
    assert isinstance(step, ReloadStep)
    assert step.config_db == {
        "DEVICE_METADATA": {"localhost": {**METADATA, "hostname": "leaf2"}},
        "SNMP_COMMUNITY": {"seen": {"TYPE": "RO"}},
    }
    assert step.frr == "frr defaults traditional\nlog syslog informational\n!\nrouter bgp 65001\nexit\nend\n"
    (back,) = rollback_steps(merge, device)
    assert isinstance(back, ReloadStep)
    assert back.config_db["DEVICE_METADATA"]["localhost"] == METADATA
    assert "neighbor 10.0.0.1 remote-as 65100" in back.frr


def test_a_reload_leaves_out_priority_groups_that_sonic_made_for_ports_that_are_gone() -> None:
    groups = {"Ethernet0|3": {"profile": "pg_lossless_100000_5m_profile"}, "Ethernet2|3": {"profile": "pg_lossless_1"}}
    device = running(PORT={"Ethernet0": {"lanes": "1"}, "Ethernet2": {"lanes": "2"}}, BUFFER_PG=groups)
    (step,) = apply_steps({"PORT": {"Ethernet2": None}}, device)
    assert isinstance(step, ReloadStep)
    assert list(step.config_db["BUFFER_PG"]) == ["Ethernet0|3"]


@pytest.mark.parametrize("name", ["hwsku", "mac", "platform"])
def test_a_reload_that_would_hang_the_switch_is_refused(name: str) -> None:
    metadata = {field: value for field, value in METADATA.items() if field != name}
    device = running_from({"DEVICE_METADATA": {"localhost": metadata}, "bgpraw": FRR})
    with pytest.raises(DocumentError, match=name):
        apply_steps({"DEVICE_METADATA": {"localhost": {"hostname": "leaf2"}}}, device)


def test_a_reload_without_knowing_frr_is_refused() -> None:
    device = RunningConfig({"DEVICE_METADATA": {"localhost": METADATA}}, None)
    with pytest.raises(DocumentError, match="unknown"):
        apply_steps({"DEVICE_METADATA": {"localhost": {"hostname": "leaf2"}}}, device)


def test_a_rollback_file_has_all_kinds_but_patches() -> None:
    steps = (
        LoadStep({"PORT": {"Ethernet0": {"mtu": "9100"}}}),
        HdelStep("PORT|Ethernet0", ("description",)),
        RecreateStep((("PFC_WD|Ethernet0", ()),), {"PFC_WD": {"Ethernet0": {"action": "drop"}}}),
        VtyshStep("no ip route 10.0.0.0/8 blackhole\n"),
        ReloadStep({"PORT": {}}, "end\n"),
    )
    assert rollback_document(steps) == {
        "version": 1,
        "steps": [
            {"kind": "load", "document": {"PORT": {"Ethernet0": {"mtu": "9100"}}}},
            {"kind": "hdel", "key": "PORT|Ethernet0", "fields": ["description"]},
            {
                "kind": "recreate",
                "removed": [["PFC_WD|Ethernet0", []]],
                "rows": {"PFC_WD": {"Ethernet0": {"action": "drop"}}},
            },
            {"kind": "vtysh", "text": "no ip route 10.0.0.0/8 blackhole\n"},
            {"kind": "reload", "config_db": {"PORT": {}}, "frr": "end\n"},
        ],
    }
    with pytest.raises(ValueError, match="never patches"):
        rollback_document([PatchStep(())])


def test_a_range_that_is_split_is_deleted_and_set_again() -> None:
    profile = {"profile": "pg_lossless_100000_40m_profile"}
    device = running(BUFFER_PG={"Ethernet0|3-4": profile, "Ethernet4|3": profile})
    merge = {"BUFFER_PG": {"Ethernet0|3-4": None, "Ethernet0|4": profile, "Ethernet4|3": None}}
    split = RecreateStep(
        (("BUFFER_PG|Ethernet0|3-4", ()), ("BUFFER_PG|Ethernet0|4", ())), {"BUFFER_PG": {"Ethernet0|4": profile}}
    )
    assert apply_steps(merge, device) == (split, LoadStep({"BUFFER_PG": {"Ethernet4|3": None}}))
    back = RecreateStep(
        (("BUFFER_PG|Ethernet0|4", ()), ("BUFFER_PG|Ethernet0|3-4", ())), {"BUFFER_PG": {"Ethernet0|3-4": profile}}
    )
    assert back in rollback_steps(merge, device)


GROUP = {"profile": "pg_lossless_100000_40m_profile"}


def paused(port: str, priorities: str, *groups: str, **tables: Any) -> RunningConfig:
    """Return a port of a switch with the traditional buffer model, which pauses ``priorities``."""
    return running(
        PORT={port: {"lanes": "1", "speed": "100000", "admin_status": "up"}},
        CABLE_LENGTH={"AZURE": {port: "40m"}},
        PORT_QOS_MAP={port: {"pfc_enable": priorities}},
        BUFFER_PG={f"{port}|{group}": GROUP for group in groups},
        **tables,
    )


def test_a_group_that_goes_takes_what_buffermgrd_made_of_it_along_port_by_port() -> None:
    ports = ("Ethernet4", "Ethernet0", "Ethernet120")
    device = running(BUFFER_PG={f"{port}|{span}": GROUP for port in ports for span in ("3", "4", "3-4")})
    gone = {f"{port}|{span}": None for port in ports for span in ("4", "3-4")}
    steps = apply_steps({"BUFFER_PG": gone}, device)
    assert steps[:3] == tuple(
        RecreateStep(((f"BUFFER_PG|{port}|3-4", ()), (f"BUFFER_PG|{port}|3", ())), {"BUFFER_PG": {f"{port}|3": GROUP}})
        for port in ("Ethernet0", "Ethernet4", "Ethernet120")
    )
    assert steps[3] == LoadStep(
        {"BUFFER_PG": {f"{port}|4": None for port in ("Ethernet0", "Ethernet4", "Ethernet120")}}
    )
    delta = delta_of({"BUFFER_PG": gone}, device)
    assert {change.key for change in delta if change.disruption is Disruption.FLAP} == {f"{one}|3-4" for one in ports}


def test_what_buffermgrd_makes_in_the_middle_of_a_change_goes_with_it() -> None:
    device = paused("Ethernet0", "3", "3")
    merge = {
        "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "4"}},
        "BUFFER_PG": {"Ethernet0|3": None, "Ethernet0|4": GROUP},
    }
    last = RecreateStep(
        (("BUFFER_PG|Ethernet0|3-4", ()), ("BUFFER_PG|Ethernet0|4", ())), {"BUFFER_PG": {"Ethernet0|4": GROUP}}
    )
    assert last in apply_steps(merge, device)
    (claim,) = [change for change in delta_of(merge, device) if change.disruption is Disruption.FLAP]
    assert (claim.table, claim.field) == ("PORT_QOS_MAP", "pfc_enable")
    # Priorities that are no neighbors stay apart, and the dynamic model has no such rows.
    merge["PORT_QOS_MAP"] = {"Ethernet0": {"pfc_enable": "5"}}
    merge["BUFFER_PG"] = {"Ethernet0|3": None, "Ethernet0|5": GROUP}
    assert not [step for step in apply_steps(merge, device) if isinstance(step, RecreateStep)]


def test_a_change_that_is_taken_back_leaves_nothing_that_buffermgrd_made_of_it() -> None:
    device = paused("Ethernet0", "3", "3")
    merge = {"PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3,4"}}, "BUFFER_PG": {"Ethernet0|4": GROUP}}
    assert delta_of(merge, device).disruptions == {Disruption.NONE}
    assert not [step for step in apply_steps(merge, device) if isinstance(step, RecreateStep)]
    assert rollback_steps(merge, device)[-1] == RecreateStep(
        (("BUFFER_PG|Ethernet0|3-4", ()), ("BUFFER_PG|Ethernet0|3", ())), {"BUFFER_PG": {"Ethernet0|3": GROUP}}
    )


def test_what_was_held_before_comes_back_without_what_buffermgrd_made_since() -> None:
    device = paused("Ethernet0", "3", "3")
    merge = {"PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3,4"}}, "BUFFER_PG": {"Ethernet0|4": GROUP}}
    before = snapshot_before(delta_of(merge, device), device, DeviceConfig("leaf1", (), FRR))
    back = before.difference(paused("Ethernet0", "3,4", "3", "3-4", "4")).delta
    assert {(change.table, change.key, change.disruption) for change in back} == {
        ("BUFFER_PG", "Ethernet0|4", Disruption.NONE),
        ("BUFFER_PG", "Ethernet0|3-4", Disruption.FLAP),
        ("PORT_QOS_MAP", "Ethernet0", Disruption.NONE),
    }


def test_a_row_that_covers_a_queue_without_a_change_claims_its_moment_whatever_the_queue_carries() -> None:
    device = running(BUFFER_QUEUE={"Ethernet0|4-6": {"profile": "lossy"}}, QUEUE={"Ethernet0|0-2": {"scheduler": "x"}})
    merge = {
        "BUFFER_QUEUE": {
            "Ethernet0|4-6": None,
            "Ethernet0|4": {"profile": "lossless"},
            "Ethernet0|5": {"profile": "lossy"},
            "Ethernet0|6": {"profile": "lossy"},
        },
        "QUEUE": {"Ethernet0|0-2": None, "Ethernet0|1": {"scheduler": "x"}},
    }
    claims = {change.key for change in delta_of(merge, device) if change.disruption is Disruption.FLAP}
    assert claims == {"Ethernet0|4-6", "Ethernet0|0-2"}


def test_a_cable_s_length_comes_before_the_priorities_of_its_port() -> None:
    device = paused("Ethernet0", "3", "3")
    other = {"profile": "pg_lossless_100000_5m_profile"}
    merge = {
        "CABLE_LENGTH": {"AZURE": {"Ethernet0": "5m"}},
        "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3,4"}},
        "BUFFER_PG": {"Ethernet0|3": other, "Ethernet0|4": other},
    }
    first, *_ = apply_steps(merge, device)
    assert first == LoadStep({"CABLE_LENGTH": {"AZURE": {"Ethernet0": "5m"}}})


def test_a_watchdog_is_set_again_where_its_action_or_the_lossless_priorities_change() -> None:
    watchdog = {"action": "drop", "detection_time": "400"}
    device = running(
        PORT={"Ethernet0": {"lanes": "1"}, "Ethernet4": {"lanes": "2"}},
        PORT_QOS_MAP={"Ethernet0": {"pfc_enable": "3", "pfcwd_sw_enable": "3"}},
        PFC_WD={"GLOBAL": {"POLL_INTERVAL": "200"}, "Ethernet0": watchdog, "Ethernet4": watchdog},
    )
    again = RecreateStep((("PFC_WD|Ethernet0", ()),), {"PFC_WD": {"Ethernet0": watchdog}})
    merge: dict[str, object] = {"PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "4", "pfcwd_sw_enable": "4"}}}
    for steps in (apply_steps(merge, device), rollback_steps(merge, device)):
        assert steps[0] == LoadStep({"PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3,4", "pfcwd_sw_enable": "3,4"}}})
        assert steps[-1] == again
    merge = {"PFC_WD": {"Ethernet0": {"action": "forward", "detection_time": "500"}}}
    forward = {"action": "forward", "detection_time": "500"}
    assert apply_steps(merge, device) == (
        RecreateStep((("PFC_WD|Ethernet0", ()),), {"PFC_WD": {"Ethernet0": forward}}),
    )
    assert rollback_steps(merge, device) == (again,)
    # The times of a watchdog follow while it runs.
    merge = {"PFC_WD": {"Ethernet0": {"detection_time": "500"}}}
    assert apply_steps(merge, device) == (LoadStep({"PFC_WD": {"Ethernet0": {"detection_time": "500"}}}),)


def test_a_port_has_its_priorities_before_its_watchdog_and_loses_them_after_it() -> None:
    # orchagent keeps the priorities to watch of a port whose PORT_QOS_MAP row has gone (run on 202505): a PFC_WD row
    # that comes before that row would watch those.
    device = running(PORT={"Ethernet0": {"lanes": "1"}}, PFC_WD={"GLOBAL": {"POLL_INTERVAL": "200"}})
    maps = {"PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "4", "pfcwd_sw_enable": "4"}}}
    watchdog = {"PFC_WD": {"Ethernet0": {"action": "drop", "detection_time": "400"}}}
    assert apply_steps({**watchdog, **maps}, device) == (LoadStep(maps), LoadStep(watchdog))
    gone = (LoadStep({"PFC_WD": {"Ethernet0": None}}), LoadStep({"PORT_QOS_MAP": {"Ethernet0": None}}))
    assert rollback_steps({**watchdog, **maps}, device) == gone


@pytest.mark.parametrize("odd", ["9" * 5000, "²"])
def test_priorities_on_a_switch_that_are_no_numbers_are_replaced(odd: str) -> None:
    device = running(PORT_QOS_MAP={"Ethernet0": {"pfc_enable": odd}})
    merge = {"PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3"}}}
    assert apply_steps(merge, device) == (LoadStep(merge),)


def test_a_rate_goes_with_the_scheduler_which_its_queues_let_go_of() -> None:
    device = running(
        SCHEDULER={"cnp": {"type": "STRICT", "cir": "1000", "pir": "1000"}},
        QUEUE={"Ethernet0|6": {"scheduler": "cnp"}, "Ethernet0|3": {"scheduler": "roce"}},
    )
    assert apply_steps({"SCHEDULER": {"cnp": {"cir": None, "pir": None}}}, device) == (
        RecreateStep(
            (("QUEUE|Ethernet0|6", ("scheduler",)), ("SCHEDULER|cnp", ())),
            {"QUEUE": {"Ethernet0|6": {"scheduler": "cnp"}}, "SCHEDULER": {"cnp": {"type": "STRICT"}}},
        ),
    )


def test_a_field_whose_removal_daemons_ignore_gets_what_holds_without_it_forwards_and_backwards() -> None:
    device = running(SCHEDULER={"roce": {"type": "STRICT"}}, PORT={"Ethernet0": {"lanes": "1"}})
    merge = {"SCHEDULER": {"roce": {"type": "DWRR", "weight": "30"}}, "PORT": {"Ethernet0": {"fec": "rs"}}}
    assert rollback_steps(merge, device) == (
        LoadStep({"SCHEDULER": {"roce": {"type": "STRICT", "weight": "1"}}}),
        LoadStep({"PORT": {"Ethernet0": {"fec": "none"}}}),
    )
    device = running(SCHEDULER={"roce": {"type": "DWRR", "weight": "30"}})
    assert apply_steps({"SCHEDULER": {"roce": {"type": "STRICT", "weight": None}}}, device) == (
        LoadStep({"SCHEDULER": {"roce": {"type": "STRICT", "weight": "1"}}}),
    )
