"""Pools on the chip: against what SONiC's own scripts computed, and against the templates of the traditional model."""

import json
from pathlib import Path

import pytest

from railweave.catalog.load import load_catalog
from railweave.catalog.panel import hwsku_buffers
from railweave.fabric.buffers import Buffers, Division
from railweave.fabric.policy import BufferModel, SonicPolicy
from railweave.qos.mmu.headroom import SCRIPTS, PortMedium, headroom, spectrum_headroom
from railweave.qos.mmu.pools import PortUse, Queues, divide

CATALOG = load_catalog()
RUN = json.loads((Path(__file__).parent / "data" / "spectrum_scripts.json").read_text())
"""What SONiC's own scripts gave."""


def buffers_of(model: str, hwsku: int = 0) -> Buffers:
    switch = CATALOG.switch(model)
    found = hwsku_buffers(switch, switch.hwskus[hwsku].name)
    assert found is not None
    return found


def divided(
    buffers: Buffers, sonic: SonicPolicy, role: str, uses: list[list[int]], lossless: int = 1, mtu: int = 9100
) -> Division:
    model = sonic.buffer_model or buffers.model
    ports = []
    for speed, length, lanes, count in uses:
        port = PortMedium(speed, length, mtu, lanes)
        if model is BufferModel.DYNAMIC and buffers.chip:  # the scripts were run with half of the packets small
            room = spectrum_headroom(buffers.chip, port, SCRIPTS[sonic.release]._replace(small_packet_percent=50))
            ports.append(PortUse(count, lanes, room))
        else:
            ports.append(PortUse(count, lanes, headroom(buffers, sonic, port)))
    return divide(buffers, model, buffers.pools[role], Queues(lossless, 7 - lossless), ports)


def test_every_pool_has_the_size_that_the_script_of_its_release_gives_it() -> None:
    assert {row[0] for row in RUN["pools"]} == set(RUN["commits"])
    for release, model, mtu, lossless, uses, size in RUN["pools"]:
        found = divided(buffers_of(model), SonicPolicy(release), "t1", uses, lossless, mtu)
        sizes = {pool.size_bytes for pool in found.pools if pool.name != "egress_lossless_pool"}
        assert sizes == {max(0, size)}, (release, model, uses)


def test_two_ingress_pools_without_a_size_get_half_of_what_is_left_each() -> None:
    found = divided(buffers_of("nvidia-sn4700"), SonicPolicy("202505"), "t1", [[400, 30, 8, 32]])
    assert found.shared_bytes == 26_312_696
    assert found.reserved == {
        "lossy groups": 1_212_416,
        "management groups": 1_212_416,
        "egress profiles": 294_912,
        "egress mirror": 327_680,
        "management pool": 262_144,
    }


@pytest.mark.parametrize(
    ("model", "hwsku", "role", "uses", "lossless", "stated"),
    [
        ("nvidia-sn4700", 0, "t0", [[400, 300, 8, 16], [400, 40, 8, 16]], 2, 70_369_280),
        ("nvidia-sn5600", 1, "t0", [[400, 40, 4, 128]], 1, 174_273_230),
        ("nvidia-sn4700", 0, "t1", [[400, 30, 8, 32]], 1, 45_252_608),
    ],
)
def test_the_traditional_models_pools_and_headroom_are_beside_each_other(
    model: str, hwsku: int, role: str, uses: list[list[int]], lossless: int, stated: int
) -> None:
    traditional = SonicPolicy(buffer_model=BufferModel.TRADITIONAL)
    found = divided(buffers_of(model, hwsku), traditional, role, uses, lossless)
    assert found.stated_bytes == stated
    assert found.chip_bytes == {"nvidia-sn4700": 60_817_392, "nvidia-sn5600": 158_229_504}[model]


def test_a_pool_with_a_headroom_pool_shares_what_is_left() -> None:
    found = divided(buffers_of("nokia-ixr7220-h4-64d"), SonicPolicy(), "t0", [[400, 40, 8, 64]])
    assert found.is_pooled
    assert (found.headroom_bytes, found.budget_bytes, found.shared_bytes) == (64 * 330_200, 48_404_780, 64_739_012)
