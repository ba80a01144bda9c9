"""Equal-cost paths: what FRR may install, by the ports of a switch, and the limits of FRR and of the ASIC."""

import re
from collections.abc import Callable

import pytest
from config_checks import check_config

from railweave.diagnostics import Severity
from railweave.fabric.model import Fabric
from railweave.sonic.render.configure import configure
from railweave.templates import find_templates

Designed = Callable[..., Fabric]

# A 102.4T switch: 128 cages of 800G, that is 1,024 ports of 100G.
PLANES = """
fabric: wide
workload: {kind: pretraining}
nodes: [{name: gpu, count: 64, gpus: 4, nics: {count: 4, speed: %(nic)s, ports: %(ports)s, model: %(card)s}}]
topology:
  planes: %(ports)s
  leaf: {model: %(model)s}
  spine: {model: %(model)s}
traffic_classes: [{name: all, role: bulk, dscp: default, priority: 0, share: 100}]
"""


def paths_of(fabric: Fabric, name: str) -> set[int]:
    text = configure(fabric, fabric.switch_of[name], find_templates()).frr
    return set(map(int, re.findall(r"^  maximum-paths (\d+)$", text, re.M)))


def findings(fabric: Fabric) -> list[tuple[Severity, str, str]]:
    return [(found.severity, found.message, found.fix) for found in check_config(fabric) if found.code == "B-6"]


@pytest.mark.parametrize(
    ("nic", "ports", "uplinks", "paths"),
    # A leaf has as much bandwidth up as down: half of 102.4T, in ports of the NIC's speed.
    [("800G", 1, 64, 128), ("400G", 2, 128, 128), ("200G", 4, 256, 512), ("100G", 8, 512, 512)],
)
def test_a_leaf_installs_a_path_for_each_uplink_it_may_have(
    designed: Designed, nic: str, ports: int, uplinks: int, paths: int
) -> None:
    card = "broadcom-thor-ultra" if nic == "800G" else "connectx-8"
    fabric = designed(PLANES % {"nic": nic, "ports": ports, "model": "nokia-ixr7220-h6-128", "card": card})
    assert fabric.lowest.ports_up == uplinks == 51_200 // int(nic.removesuffix("G"))
    assert paths_of(fabric, "wide-leaf1") == {paths}
    assert all(severity is Severity.WARNING for severity, _, _ in findings(fabric))


GROWING = """
fabric: wide
workload: {kind: pretraining}
nodes: [{name: gpu, count: 4, gpus: 2, nics: {count: 2, speed: 400G, model: connectx-7}}]
topology:
  stripe: 4
  links_per_pair: 2
  oversubscription: "1:4"
  leaf: {model: nokia-ixr7220-h6-128, count: 2, uplink_speed: 100G}
  spine: {model: nokia-ixr7220-h6-128, count: %(spines)s}
  reserve: {spines: %(reserve)s}
traffic_classes: [{name: all, role: bulk, dscp: default, priority: 0, share: 100}]
"""


@pytest.mark.parametrize(("reserve", "paths"), [(64, 128), (65, 512), (160, 512)])
def test_the_reserve_not_the_spines_of_today_says_how_many_paths(designed: Designed, reserve: int, paths: int) -> None:
    # Two links to each of the reserved spines.
    for spines in (32, 40, 64):
        fabric = designed(GROWING % {"spines": spines, "reserve": reserve})
        assert fabric.lowest.ports_up == 2 * spines
        assert paths_of(fabric, "wide-leaf1") == {paths}


def test_the_frr_of_an_older_release_takes_fewer_paths(designed: Designed) -> None:
    text = PLANES % {"nic": "200G", "ports": 4, "model": "nokia-ixr7220-h6-128", "card": "connectx-8"}
    fabric = designed(text + "sonic: {release: '202405'}\n")
    assert findings(fabric) == [
        (
            Severity.ERROR,
            "leaves have 256 uplinks, more than the 255 equal paths that a route in FRR of SONiC 202405 can have",
            "use sonic.release 202411 or later, whose FRR takes 512; or use fewer, faster uplinks:"
            " topology.leaf.uplink_speed, or fewer topology.links_per_pair",
        )
    ]


def test_the_ecmp_groups_of_a_hwsku_are_as_wide_as_its_sai_profile_says(designed: Designed) -> None:
    # SAI_NUM_ECMP_MEMBERS is 128 in sonic-buildimage device/nexthop/x86_64-nexthop_4010-r0/NH-4010/sai.profile.
    fabric = designed(PLANES % {"nic": "100G", "ports": 8, "model": "nexthop-nh-4010", "card": "connectx-8"})
    assert findings(fabric) == [
        (
            Severity.ERROR,
            "leaves have 256 uplinks, more than the 128 equal paths that a route in Broadcom Tomahawk5 can have",
            "use fewer, faster uplinks: topology.leaf.uplink_speed, or fewer topology.links_per_pair",
        )
    ]


def test_one_spine_has_the_uplinks_of_a_leaf_as_equal_paths(designed: Designed) -> None:
    text = GROWING.replace("links_per_pair: 2", "links_per_pair: 160").replace('"1:4"', '"1:1"')
    fabric = designed(text % {"spines": 1, "reserve": 1})
    assert paths_of(fabric, "wide-spine1") == {512}
    old = designed(text.replace("160", "320") % {"spines": 1, "reserve": 1} + "sonic: {release: '202405'}\n")
    assert (
        Severity.ERROR,
        "spines have 320 equal paths to a leaf, more than the 255 that a route in FRR of SONiC 202405 can have",
        "use more spines, or fewer, faster links to each",
    ) in findings(old)
