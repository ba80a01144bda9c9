from collections.abc import Callable
from dataclasses import replace

import pytest
from engine_tools import configure_all

from railweave.errors import RefusedError
from railweave.fabric.devices import Switch
from railweave.fabric.model import Fabric
from railweave.fabric.policy import Overrides
from railweave.sonic.ownership import RENDERED_TABLES
from railweave.sonic.render.configure import configure
from railweave.sonic.render.overrides import override_rows
from railweave.sonic.rows import DeviceConfig, Fields
from railweave.templates import find_templates
from railweave.wording import natural_key

Lab = Callable[..., Fabric]


def config_of(fabric: Fabric, name: str) -> DeviceConfig:
    return configure(fabric, fabric.switch_of[name], find_templates())


def tables_of(fabric: Fabric, name: str) -> dict[str, dict[str, Fields]]:
    return config_of(fabric, name).config_db()


def with_asic(fabric: Fabric, switch: Switch, asic: str) -> tuple[Fabric, Switch]:
    other = switch._replace(panel=switch.panel._replace(asic=asic))
    switches = tuple(other if one.name == other.name else one for one in fabric.switches)
    return replace(fabric, switches=switches), other


def with_overrides(fabric: Fabric, rows: dict[str, dict[str, dict[str, dict[str, str]]]]) -> Fabric:
    return replace(fabric, policies=fabric.policies._replace(overrides=Overrides(rows)))


def test_every_row_stands_once_in_natural_order_in_a_table_that_is_ours(lab_fabric: Lab) -> None:
    for config in configure_all(lab_fabric()):
        places = [(row.table, natural_key(row.key)) for row in config.rows]
        assert places == sorted(set(places))
        assert {row.table for row in config.rows} <= RENDERED_TABLES


def test_every_row_has_a_reason_and_every_value_is_text(lab_fabric: Lab) -> None:
    for config in configure_all(lab_fabric()):
        for row in config.rows:
            assert row.reason.endswith(".")
            texts = [text for value in row.fields.values() for text in ([value] if isinstance(value, str) else value)]
            assert all(isinstance(text, str) and text for text in texts), row


def test_no_management_row_and_no_neighbor_of_bgpcfgd_is_rendered(lab_fabric: Lab) -> None:
    tables = tables_of(lab_fabric(), "lab-leaf1")
    assert not [name for name in tables if name.startswith(("MGMT_", "BGP_"))]


def test_a_port_without_a_cable_is_down_and_reserved(lab_fabric: Lab) -> None:
    fabric = lab_fabric()
    tables = tables_of(fabric, "lab-leaf1")
    used = set(tables["DEVICE_NEIGHBOR"])
    assert len(tables["PORT"]) == 32
    assert len(used) == 6
    for name, fields in tables["PORT"].items():
        assert fields["admin_status"] == ("up" if name in used else "down")
        assert (fields["description"] == "reserved") is (name not in used)
        assert (f"{name}|3" in tables["QUEUE"]) is (name in used)


def test_a_leaf_names_its_hosts_and_spines_as_lldp_shows_them(lab_fabric: Lab) -> None:
    tables = tables_of(lab_fabric(), "lab-leaf1")
    assert tables["DEVICE_NEIGHBOR"]["Ethernet0"] == {"name": "gpu1", "port": "rail0"}
    spine = next(fields for fields in tables["DEVICE_NEIGHBOR"].values() if fields["name"] == "lab-spine1")
    assert spine["port"] == "fortyGigE0/0"
    assert tables["DEVICE_NEIGHBOR_METADATA"]["gpu1"] == {"type": "Server"}
    assert tables["DEVICE_NEIGHBOR_METADATA"]["lab-spine1"]["type"] == "LeafRouter"


def test_the_routing_file_is_ours_and_no_field_asks_for_more_than_every_release_knows(lab_fabric: Lab) -> None:
    fields = tables_of(lab_fabric(), "lab-leaf2")["DEVICE_METADATA"]["localhost"]
    assert fields["docker_routing_config_mode"] == "split-unified"
    assert fields["frr_mgmt_framework_config"] == "false"
    assert fields["type"] == "ToRRouter"
    assert fields["bgp_asn"] == "4210000001"
    assert not {"mac", "platform", "suppress-fib-pending"} & set(fields)


def test_priority_group_maps_go_to_spectrum_only(lab_fabric: Lab) -> None:
    fabric = lab_fabric()
    leaf = fabric.switch_of["lab-leaf1"]
    assert "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP" not in tables_of(fabric, leaf.name)
    changed, spectrum = with_asic(fabric, leaf, "NVIDIA Spectrum-4")
    tables = configure(changed, spectrum, find_templates()).config_db()
    assert tables["PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"] == {"FABRIC": {"3": "3"}}
    assert tables["PORT_QOS_MAP"]["Ethernet0"]["pfc_to_pg_map"] == "FABRIC"


def test_a_strict_queue_of_notifications_gets_a_tenth_of_its_port(lab_fabric: Lab) -> None:
    tables = tables_of(lab_fabric(), "lab-leaf1")
    rate = str(100_000_000_000 // 8 // 10)
    assert tables["SCHEDULER"]["cnp-100g"] == {"cir": rate, "meter_type": "bytes", "pir": rate, "type": "STRICT"}
    assert tables["QUEUE"]["Ethernet0|6"] == {"scheduler": "cnp-100g"}


def test_no_scheduler_has_a_priority_which_orchagent_refuses(lab_fabric: Lab) -> None:
    schedulers = tables_of(lab_fabric(), "lab-leaf1")["SCHEDULER"]
    assert schedulers["cnp-100g"]["type"] == "STRICT"
    assert all("priority" not in row for row in schedulers.values())
    assert schedulers["roce"] == {"type": "DWRR", "weight": "90"}


def test_a_fabric_without_lossless_classes_has_no_pfc_at_all(lab_fabric: Lab) -> None:
    fabric = lab_fabric()
    lossy = tuple(one._replace(lossless=False) for one in fabric.policies.classes)
    tables = tables_of(replace(fabric, policies=fabric.policies._replace(classes=lossy)), "lab-leaf1")
    assert not {"PFC_WD", "WRED_PROFILE", "MAP_PFC_PRIORITY_TO_QUEUE"} & set(tables)
    assert "pfc_enable" not in tables["PORT_QOS_MAP"]["Ethernet0"]


def test_overrides_of_role_and_device_are_taken_as_they_stand(lab_fabric: Lab) -> None:
    fabric = with_overrides(
        lab_fabric(),
        {
            "leaf": {"SYSLOG_SERVER": {"10.9.9.9": {"port": "514"}}},
            "lab-leaf1": {"SYSLOG_SERVER": {"10.9.9.9": {"port": "1514"}, "10.9.9.10": {}}},
        },
    )
    assert tables_of(fabric, "lab-leaf1")["SYSLOG_SERVER"] == {"10.9.9.9": {"port": "1514"}, "10.9.9.10": {}}
    assert tables_of(fabric, "lab-leaf2")["SYSLOG_SERVER"] == {"10.9.9.9": {"port": "514"}}
    assert "SYSLOG_SERVER" not in tables_of(fabric, "lab-spine1")
    row = override_rows(fabric.policies.overrides, fabric.switch_of["lab-leaf2"])[0]
    assert "overrides.leaf.SYSLOG_SERVER" in row.reason


def test_an_override_may_add_a_field_to_a_rendered_row(lab_fabric: Lab) -> None:
    wanted = {"spine": {"DEVICE_METADATA": {"localhost": {"timezone": "UTC"}}}}
    rows = tables_of(with_overrides(lab_fabric(), wanted), "lab-spine1")["DEVICE_METADATA"]
    assert rows["localhost"]["timezone"] == "UTC"
    assert rows["localhost"]["hostname"] == "lab-spine1"


def test_an_override_of_a_rendered_field_is_refused(lab_fabric: Lab) -> None:
    fabric = with_overrides(lab_fabric(), {"leaf": {"PORT": {"Ethernet0": {"mtu": "1500"}}}})
    with pytest.raises(RefusedError, match=r"PORT\|Ethernet0\|mtu on lab-leaf1"):
        tables_of(fabric, "lab-leaf1")


def test_an_unnumbered_link_has_no_address_and_uses_link_local_ones(lab_fabric: Lab) -> None:
    fabric = lab_fabric()
    addressing = fabric.policies.addressing._replace(unnumbered=True)
    tables = tables_of(replace(fabric, policies=fabric.policies._replace(addressing=addressing)), "lab-leaf1")
    rows = tables["INTERFACE"]
    assert rows["Ethernet112"] == {"ipv6_use_link_local_only": "enable"}
    assert not [key for key in rows if key.startswith("Ethernet112|")]
    assert rows["Ethernet0"] == {}, "links to nodes keep their addresses"
    assert [key for key in rows if key.startswith("Ethernet0|")] == ["Ethernet0|10.32.0.0/31"]
