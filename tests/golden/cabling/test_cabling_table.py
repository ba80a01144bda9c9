"""The cable table of a small fabric built by hand, whole and byte by byte.

``RAILWEAVE_UPDATE_GOLDEN=1`` rewrites the expected file; review its difference.
"""

import csv
import os
from dataclasses import replace
from pathlib import Path

import pytest

from railweave.cabling.table import CableRow, cable_rows, cables_csv
from railweave.catalog.load import load_catalog
from railweave.catalog.panel import PortGroup, build_panel
from railweave.fabric.devices import Host, HostPort, Switch, Tier
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.fabric.panel import Panel
from railweave.fabric.policy import Addressing, BgpPolicy, Mtu, Overrides, Policies, Pool
from railweave.fabric.sizing import (
    LeafSplit,
    Limits,
    LinkCounts,
    Oversubscription,
    RoomLeft,
    Sizing,
)

GOLDEN = Path(__file__).with_name("cables.csv")
COLUMNS = "a_device,a_port,a_alias,b_device,b_port,b_alias,speed_gbps,kind,plane,rail,length_m,media"
LEAF = Tier("leaf", 0, 2, 2, 3, 400, 2, 400, 1)
SPINE = Tier("spine", 1, 2, 2, 64, 400)
HOSTS = ("gpu1", "gpu2", "gpu10")


def panel(model_id: str, speed_gbps: int) -> Panel:
    model = load_catalog().switch(model_id)
    built = build_panel(model, [PortGroup(len(model.cages), speed_gbps)])
    assert isinstance(built, Panel)
    return built


def host_link(place: int, rail: int) -> Link:
    return Link(0, 0, rail, HOSTS[place], rail, f"pod1-leaf{rail + 1}", place, 0, 400, 20, "dac")


def uplink(leaf: int, spine: int) -> Link:
    leaf_name, spine_name = f"pod1-leaf{leaf + 1}", f"pod1-spine{spine + 1}"
    return Link(1, 0, None, leaf_name, 126 + spine, spine_name, leaf, 0, 400, 30, "dr")


def switch(tier: Tier, number: int, of: Panel) -> Switch:
    stripe, rail = (0, number) if tier.attaches_nodes else (None, None)
    return Switch(f"pod1-{tier.name}{number + 1}", tier, number, number, 0, stripe, rail, 0, 0, of)


@pytest.fixture
def fabric() -> Fabric:
    leaf_panel, spine_panel = panel("nvidia-sn5600", 400), panel("nokia-ixr7220-h4-64d", 400)
    switches = (
        *(switch(LEAF, number, leaf_panel) for number in (0, 1)),
        *(switch(SPINE, number, spine_panel) for number in (0, 1)),
    )
    ports = tuple(HostPort(f"rail{rail}", rail, 0, rail, 0, 400) for rail in (0, 1))
    hosts = tuple(Host(name, "gpu", place, 0, place, "connectx-7", ports) for place, name in enumerate(HOSTS))
    links = (
        *(uplink(leaf, spine) for spine in (1, 0) for leaf in (1, 0)),
        *(host_link(place, rail) for rail in (1, 0) for place in (2, 0, 1)),
    )
    pool = Pool(0, 16)
    return Fabric(
        name="pod1",
        rails=2,
        planes=1,
        policies=Policies(
            (),
            Mtu(9100, 9000),
            BgpPolicy(3, 9),
            Addressing(False, pool, pool, pool, pool, 4210000000, 4200001000, 4200000000),
            Overrides({}),
        ),
        sizing=Sizing(
            fabric="pod1",
            tiers=2,
            planes=1,
            rails=2,
            stripes=1,
            nodes=3,
            gpus=24,
            leaves=2,
            spines=2,
            super_spines=0,
            leaf=LeafSplit(3, 2, 1200, 800),
            links=LinkCounts(6, 4, 0, 1),
            oversubscription=Oversubscription(1.5, 1.5, 3.0),
            limits=Limits(126, "leaf_uplinks"),
            room=RoomLeft(0, 0, ""),
            steps=(),
            diagnostics=(),
        ),
        tiers=(LEAF, SPINE),
        switches=switches,
        hosts=hosts,
        links=links,
        host_blocks={},
    )


def test_the_cable_table_is_the_reviewed_one(fabric: Fabric) -> None:
    table = cables_csv(fabric)
    if os.environ.get("RAILWEAVE_UPDATE_GOLDEN"):
        GOLDEN.write_bytes(table)
    assert table == GOLDEN.read_bytes()


def test_the_columns_are_those_of_the_contract(fabric: Fabric) -> None:
    assert cables_csv(fabric).decode().splitlines()[0] == COLUMNS
    assert ",".join(CableRow._fields) == COLUMNS


def test_every_link_has_one_row_in_natural_order_of_its_lower_end(fabric: Fabric) -> None:
    rows = list(cable_rows(fabric))
    assert len(rows) == len(fabric.links)
    assert [(row.a_device, row.a_port) for row in rows[:6]] == [
        (name, port) for name in ("gpu1", "gpu2", "gpu10") for port in ("rail0", "rail1")
    ]
    assert [row.a_device for row in rows[6:]] == ["pod1-leaf1", "pod1-leaf1", "pod1-leaf2", "pod1-leaf2"]


def test_the_order_of_links_in_the_fabric_does_not_show(fabric: Fabric) -> None:
    assert cables_csv(replace(fabric, links=fabric.links[::-1])) == cables_csv(fabric)


def test_a_host_port_has_no_alias_and_an_uplink_no_rail(fabric: Fabric) -> None:
    rows = list(csv.DictReader(cables_csv(fabric).decode().splitlines()))
    assert {row["a_alias"] for row in rows if row["kind"] == "host_leaf"} == {""}
    assert {row["rail"] for row in rows if row["kind"] == "leaf_spine"} == {""}
    assert {row["rail"] for row in rows if row["kind"] == "host_leaf"} == {"0", "1"}


def test_the_ports_of_a_cable_are_named_as_sonic_and_the_front_panel_name_them(fabric: Fabric) -> None:
    uplinks = [row for row in cable_rows(fabric) if row.kind == "leaf_spine"]
    assert (uplinks[0].a_port, uplinks[0].a_alias) == ("Ethernet504", "etp64a")
    assert (uplinks[0].b_port, uplinks[0].b_alias) == ("Ethernet0", "Ethernet1/1")


def test_a_fabric_without_links_gives_the_header_alone(fabric: Fabric) -> None:
    assert cables_csv(replace(fabric, links=())).decode() == COLUMNS + "\n"
