"""NICs of simulated nodes: what the kernel shows of their slots."""

import pytest

from railweave.api.simulator.machines import _slot


@pytest.mark.parametrize(
    ("model", "slot"),
    [
        ("connectx-7", ("32.0 GT/s PCIe", "16")),
        # Also made for two slots of generation 5 (socket direct), of which the kernel shows one.
        ("connectx-8", ("64.0 GT/s PCIe", "16")),
        ("", ()),
    ],
)
def test_a_nic_is_in_the_best_single_slot(model: str, slot: tuple[str, ...]) -> None:
    assert _slot(model) == slot
