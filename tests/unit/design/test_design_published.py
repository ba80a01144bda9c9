"""Published designs: the sizes that their sources state, from the numbers that they give."""

from collections.abc import Callable

import pytest

from railweave.design.build import Design

Designer = Callable[..., Design]

PORTS_64 = "{ports: 64, speed: 400G}"


@pytest.mark.parametrize(
    ("units", "tiers", "leaves", "spines", "super_spines", "links"),
    [
        (2, 2, 16, 8, 0, 512),
        (4, 2, 32, 16, 0, 1024),
        (8, 2, 64, 32, 0, 2048),
        (16, 3, 128, 128, 64, 4096),
        (32, 3, 256, 256, 128, 8192),
        (64, 3, 512, 512, 256, 16_384),
    ],
)
def test_a_dgx_superpod_of_b200(
    designed: Designer, units: int, tiers: int, leaves: int, spines: int, super_spines: int, links: int
) -> None:
    """NVIDIA DGX SuperPOD reference architecture (docs.nvidia.com, scalable-infrastructure-b200): a scalable unit is
    32 nodes of 8 × 400G, rail-optimized and non-blocking, every switch has 64 ports of 400G."""
    sizing = designed(
        nodes=32 * units, nics="{count: 8, speed: 400G, model: connectx-7}", leaf=PORTS_64, spine=PORTS_64
    ).sizing
    assert sizing is not None
    assert (sizing.tiers, sizing.leaves, sizing.spines, sizing.super_spines) == (tiers, leaves, spines, super_spines)
    assert (sizing.links.host_leaf, sizing.links.leaf_spine) == (links, links)
    assert sizing.links.spine_super_spine == (links if tiers == 3 else 0)


@pytest.mark.parametrize(
    ("units", "shape", "leaves", "spines", "links"),
    [
        (1, "rail-optimized", 16, 8, 512),
        (2, "rail-optimized", 32, 16, 1024),
        (4, "rail-optimized", 64, 32, 2048),
        # Two tiers of 64 ports join no more than 2,048: spines serve the leaves of some rails alone.
        (8, "rail-only", 128, 64, 4096),
        (16, "rail-only", 256, 128, 8192),
    ],
)
def test_a_dgx_superpod_of_b300(
    designed: Designer, units: int, shape: str, leaves: int, spines: int, links: int
) -> None:
    """NVIDIA DGX SuperPOD reference architecture (docs.nvidia.com, scalable-infrastructure-b300, table 3): a scalable
    unit is 64 nodes of 8 × 800G, non-blocking, every switch has 64 ports."""
    port = "{ports: 64, speed: 800G}"
    sizing = designed(
        nodes=64 * units,
        nics="{count: 8, speed: 800G}",
        leaf=port,
        spine=port,
        shape=shape,
        topology="tiers: 2",
    ).sizing
    assert sizing is not None
    assert (sizing.leaves, sizing.spines, sizing.super_spines) == (leaves, spines, 0)
    assert (sizing.links.host_leaf, sizing.links.leaf_spine) == (links, links)


def test_two_stripes_of_juniper(designed: Designer) -> None:
    """Juniper's validated design jvd-ai-dc-qpp-bgp-dpf: two stripes of eight leaves and eight nodes, four spines, one
    link of 400G between each leaf and spine, 25.6 Tb/s to the nodes of both stripes and as much to the spines."""
    port = "{ports: 128, speed: 400G}"
    sizing = designed(
        nodes=8,
        nics="{count: 8, speed: 400G}",
        leaf=port,
        spine=port.replace("}", ", count: 4}"),
        topology="stripe: 4\nlinks_per_pair: 1",
    ).sizing
    assert sizing is not None
    assert (sizing.leaves, sizing.spines) == (16, 4)
    assert (sizing.links.host_leaf, sizing.links.leaf_spine) == (64, 64)
    assert 400 * sizing.links.leaf_spine == 25_600
    assert sizing.oversubscription.leaf == 1


def test_two_guides_of_asterfusion(designed: Designer) -> None:
    """Asterfusion's configuration guides for backend fabrics, nodes of 4 GPUs with a NIC of 400G each. Medium
    (cloudswit.ch/implementation/m-compute-backend-fabric-configuration): 64 nodes, rail-optimized, four leaves and two
    spines of 64 × 800G. Small (…/s-compute-backend-fabric-configuration-guide): 32 nodes, rail-only, four leaves of
    32 × 400G and no spine."""
    nics = "{count: 4, speed: 400G}"
    port = "{ports: 128, speed: 400G}"
    medium = designed(nodes=64, gpus=4, nics=nics, leaf=port, spine=port).sizing
    assert medium is not None
    assert (medium.gpus, medium.leaves, medium.spines, medium.links.leaf_spine) == (256, 4, 2, 256)
    port = "{ports: 32, speed: 400G}"
    small = designed(nodes=32, gpus=4, nics=nics, leaf=port, spine=port, shape="rail-only").sizing
    assert small is not None
    assert (small.gpus, small.tiers, small.leaves, small.spines) == (128, 1, 4, 0)


def test_a_pod_of_alibaba_hpn_with_a_third_tier_at_15_to_1(designed: Designer) -> None:
    """Alibaba HPN 7.0 (SIGCOMM 2024, 10.1145/3651890.3672265): two planes, NICs of 2 × 200G, 15 segments of 128 nodes
    and 8 spares, leaves with 60 uplinks of 400G to as many spines, 1.0667:1; 15:1 above.

    Each plane of it here has one leaf a rail and segment: 240 leaves and 120 spines, 14,400 links."""
    sizing = designed(
        nodes=15 * 128,
        nics="{count: 8, speed: 200G, ports: 2, model: connectx-7}",
        leaf="{ports: 128, speed: 400G, downlink_speed: 200G, uplink_speed: 400G}",
        spine="{ports: 128, speed: 400G, count: 60}",
        topology='planes: 2\nstripe: 128\nlinks_per_pair: 1\noversubscription: "1.07:1"',
    ).sizing
    assert sizing is not None
    assert (sizing.tiers, sizing.leaves, sizing.spines) == (2, 240, 120)
    assert (sizing.links.leaf_spine, sizing.links.per_leaf_spine_pair) == (14_400, 1)
    assert sizing.oversubscription.leaf == pytest.approx(1.0667, abs=1e-4)
    pods = designed(
        nodes=4 * 15 * 128,
        nics="{count: 8, speed: 200G, ports: 2, model: connectx-7}",
        leaf="{ports: 128, speed: 400G, downlink_speed: 200G, uplink_speed: 400G}",
        spine="{ports: 128, speed: 400G, count: 240}",
        topology='planes: 2\nstripe: 128\nlinks_per_pair: 1\noversubscription: "1.07:1"\npod: 15\n'
        'super_spine: {ports: 128, speed: 400G, oversubscription: "15:1"}',
    ).sizing
    assert pods is not None
    assert (pods.tiers, pods.leaves, pods.spines) == (3, 4 * 240, 4 * 120)
    # 120 ports down and 8 up on each spine, in 60 groups of a plane.
    assert (pods.super_spines, pods.links.spine_super_spine) == (2 * 60, 4 * 120 * 8)


def test_a_zone_of_meta(designed: Designer) -> None:
    """RDMA over Ethernet for distributed training at Meta scale (SIGCOMM 2024): 192 racks of 16 × 400G with 18
    uplinks each, 3,456 links, 0.889:1, which tolerates two of 18 spines lost at 1:1."""
    sizing = designed(
        shape="rack-aligned",
        nodes=192 * 2,
        nics="{count: 8, speed: 400G, model: connectx-7}",
        leaf="{ports: 64, speed: 400G}",
        spine="{ports: 192, speed: 400G, count: 18}",
        topology="stripe: 2\nlinks_per_pair: 1",
    ).sizing
    assert sizing is not None
    assert (sizing.tiers, sizing.leaves, sizing.spines, sizing.links.leaf_spine) == (2, 192, 18, 3456)
    assert sizing.oversubscription.leaf == pytest.approx(16 / 18)
