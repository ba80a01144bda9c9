"""Which port of a spine every uplink meets where cages have two ports, counted by hand."""

import pytest

from railweave.api.design.intent import design_text
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric

TWIN_PLANES = """
fabric: pod1
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 64, gpus: 8, nics: {count: 8, speed: 400G, ports: 2, model: connectx-8}}
topology:
  planes: 2
  leaf: {model: nokia-ixr7220-h5-64d, downlink_speed: 400G, uplink_speed: 400G}
  spine: {model: nokia-ixr7220-h5-64d}
"""


def fabric_with(*keys: str) -> Fabric:
    lines = "".join(f"  {key}\n" for key in keys)
    text = TWIN_PLANES
    if "spine:" in lines:
        text = text.replace("  spine: {model: nokia-ixr7220-h5-64d}\n", "")
    return design_text(text.replace("topology:\n", f"topology:\n{lines}"), "f.yml").fabric


def met(links: tuple[Link, ...], *uplinks: int) -> list[tuple[str, int]]:
    """Return the spines and ports that uplinks, from 0, meet."""
    return [(links[uplink].upper, links[uplink].upper_port) for uplink in uplinks]


def test_both_ports_of_a_cage_meet_the_ports_of_one_cage() -> None:
    """64 uplinks on 32 cages to 4 spines of a plane, 8 cages of a leaf on each: the cage q of a leaf goes to spine
    q mod 4, whose cages are (q div 4) × ⌊64 cages ÷ 8⌋ + leaf."""
    links = fabric_with().uplinks_of["pod1-leaf5"]  # leaf 2 of plane 0, whose spines have odd numbers
    assert [link.lower_port for link in links] == list(range(64, 128))
    assert met(links, 0, 1) == [("pod1-spine1", 4), ("pod1-spine1", 5)]
    assert met(links, 2, 3) == [("pod1-spine3", 4), ("pod1-spine3", 5)]
    # The cage 4 begins the second turn: cage 8 + 2 of the spine.
    assert met(links, 8, 9) == [("pod1-spine1", 20), ("pod1-spine1", 21)]
    assert met(links, 62, 63) == [("pod1-spine7", (7 * 8 + 2) * 2), ("pod1-spine7", (7 * 8 + 2) * 2 + 1)]


def test_the_earlier_wiring_deals_out_port_by_port() -> None:
    links = fabric_with("wiring: ports").uplinks_of["pod1-leaf5"]
    # Uplink p goes to spine p mod 4, at (p div 4) × ⌊128 ÷ 16⌋ + leaf.
    assert met(links, 0, 1, 4, 63) == [
        ("pod1-spine1", 2), ("pod1-spine3", 2), ("pod1-spine1", 10), ("pod1-spine7", 15 * 8 + 2)
    ]  # fmt: skip


@pytest.mark.parametrize("spines", [8, 16, 32, 64])
def test_twice_the_spines_keep_half_of_the_cables_down_to_one_link_of_a_pair(spines: int) -> None:
    before = fabric_with(f"spine: {{model: nokia-ixr7220-h5-64d, count: {spines // 2}}}").fabric_links
    after = fabric_with(f"spine: {{model: nokia-ixr7220-h5-64d, count: {spines}}}").fabric_links
    # 16 leaves of 64 uplinks; addresses stay with the ports of leaves.
    # One link of a pair divides cages, for which the medium is a fiber.
    kept = {link._replace(media="") for link in before} & {link._replace(media="") for link in after}
    assert len(kept) == 16 * 64 // 2
    assert [link.network for link in before] == [link.network for link in after]
