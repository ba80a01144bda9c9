"""What holds for the configuration of any fabric: both ends agree, maps are closed, growth leaves others alone."""

import re
from functools import cache
from pathlib import Path

from engine_tools import config_db_json, configure_all
from examples import few
from hypothesis import given
from hypothesis import strategies as st

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.fabric.policy import ClassRole, TrafficClass
from railweave.intent.load import load_intent_text
from railweave.qos.mapping import map_chain
from railweave.sonic.rows import DeviceConfig
from railweave.units import ipv4_text

LAB = """
fabric: lab
workload: {{kind: pretraining}}
nodes:
  - name: gpu
    count: {nodes}
    gpus: 2
    nics: {{count: 2, speed: 100G, ports: {ports}, model: connectx-6, pcie: gen4x16}}
topology:
  shape: {shape}
  planes: {planes}
  stripe: 4
  links_per_pair: {pairs}
  oversubscription: "{ratio}:1"
  leaf: {{model: sonic-vs, downlink_speed: 100G, uplink_speed: 100G}}
  spine: {{model: sonic-vs, count: {spines}}}
  reserve: {{leaves: 8, spines: 4}}
"""


@cache
def lab(
    nodes: int = 4, spines: int = 2, pairs: int = 1, planes: int = 1, shape: str = "rail-optimized", ratio: int = 4
) -> Fabric:
    text = LAB.format(nodes=nodes, spines=spines, pairs=pairs, planes=planes, ports=planes, shape=shape, ratio=ratio)
    outcome = design(load_intent_text(text, "lab.yml"), load_catalog())
    assert outcome.fabric is not None, outcome.diagnostics
    return outcome.fabric


def configured(fabric: Fabric) -> dict[str, DeviceConfig]:
    return {config.device: config for config in configure_all(fabric)}


def rows_of(config: DeviceConfig) -> dict[tuple[str, str], dict[str, object]]:
    return {(row.table, row.key): dict(row.fields) for row in config.rows}


fabrics = st.builds(
    lab,
    nodes=st.sampled_from([2, 4, 6, 8]),
    spines=st.sampled_from([2, 4]),
    pairs=st.sampled_from([1, 2]),
    planes=st.sampled_from([1, 2]),
    shape=st.sampled_from(["rail-optimized", "rack-aligned"]),
)


@few
@given(fabrics)
def test_both_ends_of_a_link_agree_on_net_mtu_speed_and_fec(fabric: Fabric) -> None:
    tables = {name: config.config_db() for name, config in configured(fabric).items()}
    for link in fabric.links:
        if link.is_access:
            continue
        lower = fabric.switch_of[link.lower].panel.ports[link.lower_port].name
        upper = fabric.switch_of[link.upper].panel.ports[link.upper_port].name
        low, high = tables[link.lower]["PORT"][lower], tables[link.upper]["PORT"][upper]
        for field in ("mtu", "speed", "fec", "admin_status"):
            assert low[field] == high[field], (link, field)
        assert f"{upper}|{ipv4_text(link.network)}/31" in tables[link.upper]["INTERFACE"]
        assert f"{lower}|{ipv4_text(link.network + 1)}/31" in tables[link.lower]["INTERFACE"]
        assert tables[link.lower]["DEVICE_NEIGHBOR"][lower]["name"] == link.upper
        assert tables[link.upper]["DEVICE_NEIGHBOR"][upper]["name"] == link.lower


@few
@given(fabrics)
def test_both_ends_of_a_session_name_each_other(fabric: Fabric) -> None:
    configs = configured(fabric)
    own_as = {name: re.search(r"^router bgp (\d+)$", one.frr, re.M)[1] for name, one in configs.items()}  # type: ignore[index]
    owner = {
        key.split("|")[1].removesuffix("/31"): name
        for name, config in configs.items()
        for key in config.config_db()["INTERFACE"]
        if "|" in key
    }
    sessions = 0
    for config in configs.values():
        for address, remote in re.findall(r"^ neighbor (\S+) remote-as (\d+)$", config.frr, re.M):
            sessions += 1
            assert own_as[owner[address]] == remote
    assert sessions == 2 * sum(not link.is_access for link in fabric.links)


@few
@given(fabrics)
def test_no_address_stands_twice_and_no_link_subnet_is_announced(fabric: Fabric) -> None:
    configs = configured(fabric)
    addresses = [
        key.split("|")[1]
        for config in configs.values()
        for table in ("INTERFACE", "LOOPBACK_INTERFACE")
        for key in config.config_db()[table]
        if "|" in key
    ]
    assert len(addresses) == len(set(addresses))
    for config in configs.values():
        assert "/31" not in "".join(re.findall(r"^  network (\S+)$", config.frr, re.M))


@st.composite
def classes(draw: st.DrawFn) -> tuple[TrafficClass, ...]:
    priorities = draw(st.permutations(range(1, 8)))
    code_points = draw(st.permutations(range(64)))
    lossless = draw(st.integers(0, 2))
    count = draw(st.integers(lossless, 6))
    rest = TrafficClass("rest", ClassRole.BULK, (), True, False, 0, False, 10)
    return (
        rest,
        *(
            TrafficClass(
                f"class-{number}",
                ClassRole.RDMA if number < lossless else ClassRole.STORAGE,
                tuple(code_points[number * 8 : number * 8 + draw(st.integers(1, 8))]),
                False,
                number < lossless,
                priorities[number],
                False,
                10,
            )
            for number in range(count)
        ),
    )


@given(classes())
def test_the_map_chain_keeps_lossless_classes_to_themselves(given_classes: tuple[TrafficClass, ...]) -> None:
    chain = map_chain(given_classes)
    lossless = {one.priority for one in given_classes if one.lossless}
    assert set(chain.lossless) == lossless
    for one in given_classes:
        for dscp in one.dscp:
            assert chain.dscp_to_tc[dscp] == one.priority
        queue, group = chain.tc_to_queue[one.priority], chain.tc_to_group[one.priority]
        if one.lossless:
            assert chain.pfc_to_queue[one.priority] == queue == group == one.priority
        else:
            assert group not in lossless
            assert queue not in {chain.tc_to_queue[priority] for priority in lossless}
    named = {dscp for one in given_classes for dscp in one.dscp}
    assert {chain.dscp_to_tc[dscp] for dscp in set(range(64)) - named} <= {0}
    assert len(chain.dscp_to_tc) == 64


@few
@given(fabrics)
def test_pfc_and_its_watchdog_name_the_same_priorities_on_every_used_port(fabric: Fabric) -> None:
    for config in configured(fabric).values():
        tables = config.config_db()
        assert set(tables["PFC_WD"]) == {*tables["DEVICE_NEIGHBOR"], "GLOBAL"}
        for port, fields in tables["PORT_QOS_MAP"].items():
            if port != "global":
                assert fields["pfc_enable"] == fields["pfcwd_sw_enable"] == "3"
                assert "wred_profile" in tables["QUEUE"][f"{port}|3"]
                assert "wred_profile" not in tables["QUEUE"][f"{port}|6"]


@few
@given(
    planes=st.sampled_from([1, 2]),
    pairs=st.sampled_from([1, 2]),
    shape=st.sampled_from(["rail-optimized", "rack-aligned"]),
)
def test_a_new_stripe_changes_no_byte_of_an_old_leaf(planes: int, pairs: int, shape: str) -> None:
    small = lab(nodes=4, planes=planes, pairs=pairs, shape=shape)
    before, after = configured(small), configured(lab(nodes=8, planes=planes, pairs=pairs, shape=shape))
    assert len(after) > len(before)
    for switch in small.switches:
        old, new = before[switch.name], after[switch.name]
        if switch.tier.attaches_nodes:
            assert (config_db_json(old), old.frr) == (config_db_json(new), new.frr)
        else:
            only_new_ports_differ(old, new)


def only_new_ports_differ(old: DeviceConfig, new: DeviceConfig) -> None:
    """Every row and line of ``old`` stands in ``new``, but the ports that were reserved before."""
    before, after = rows_of(old), rows_of(new)
    for place, fields in before.items():
        if place[0] == "CABLE_LENGTH":
            assert fields.items() <= after[place].items()
        elif after[place] != fields:
            assert place[0] == "PORT"
            assert fields["description"] == "reserved"
    used = set(old.config_db()["DEVICE_NEIGHBOR"])
    for table, key in after.keys() - before.keys():
        assert table == "DEVICE_NEIGHBOR_METADATA" or key.split("|")[0] not in used
    assert set(old.frr.splitlines()) <= set(new.frr.splitlines())


@few
@given(planes=st.sampled_from([1, 2]), pairs=st.sampled_from([1, 2]))
def test_new_spines_change_only_the_ports_that_meet_them(planes: int, pairs: int) -> None:
    small = lab(spines=2, planes=planes, pairs=pairs)
    before, after = configured(small), configured(lab(spines=4, planes=planes, pairs=pairs))
    for switch in small.switches:
        old, new = before[switch.name], after[switch.name]
        if not switch.tier.attaches_nodes:
            assert (config_db_json(old), old.frr) == (config_db_json(new), new.frr)
        else:
            only_new_ports_differ(old, new)


def test_a_second_stripe_on_the_wide_pod_touches_only_reserved_spine_ports() -> None:
    text = (Path(__file__).resolve().parents[2] / "intent" / "pod-32-wide.yml").read_text(encoding="utf-8")
    grown = (
        text.replace("count: 32", "count: 64").replace("gpus: 256", "gpus: 512").replace("count: 4}", "count: 8}", 1)
    )
    fabrics = [design(load_intent_text(each, "wide.yml"), load_catalog()).fabric for each in (text, grown)]
    assert fabrics[0] is not None
    assert fabrics[1] is not None
    before, after = configured(fabrics[0]), configured(fabrics[1])
    assert (len(before), len(after)) == (8, 12)
    for name, old in before.items():
        if fabrics[0].switch_of[name].tier.attaches_nodes:
            assert (config_db_json(old), old.frr) == (config_db_json(after[name]), after[name].frr)
        else:
            only_new_ports_differ(old, after[name])
