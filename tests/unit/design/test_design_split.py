"""The split of a leaf and the place of its ports, at the corners of the rules."""

from fractions import Fraction

import pytest

from railweave.design.split import Breakout, Split, automatic_split, place_ports

AT_400 = Breakout(400, 1)
TWO_400 = Breakout(400, 2)
AT_800 = Breakout(800, 1)


@pytest.mark.parametrize(
    ("cages", "down", "up", "ratio", "expected"),
    [
        (64, AT_400, AT_400, Fraction(1), Split(32, 32)),
        (66, AT_400, AT_400, Fraction(1), Split(32, 32)),  # 36 uplinks would leave room for 30 downlinks
        (64, AT_400, AT_400, Fraction(1, 2), Split(20, 40)),  # 20 ÷ 40; 44 uplinks give 20 as well, and are more
        (2, AT_400, AT_400, Fraction(1), Split(1, 1)),
        (1, AT_400, AT_400, Fraction(1), None),
        (64, TWO_400, AT_800, Fraction(1), Split(64, 32)),
        (64, TWO_400, AT_800, Fraction(2), Split(80, 20)),  # 20 cages up, 44 down: min(2 × 20 × 2, 88)
        (15, AT_400, AT_400, Fraction(2), Split(10, 5)),
        (16, AT_400, AT_400, Fraction(2), Split(8, 4)),
    ],
)
def test_a_split_has_the_most_downlinks_and_then_the_fewest_uplinks(
    cages: int, down: Breakout, up: Breakout, ratio: Fraction, expected: Split | None
) -> None:
    assert automatic_split(cages, down, up, ratio) == expected


def test_uplinks_begin_above_the_downlinks() -> None:
    ports = place_ports(64, AT_400, AT_400, 40, None)
    assert ports is not None
    assert (ports.block, ports.room, ports.total) == (40, 24, 64)


def test_reserved_uplinks_are_the_top_of_the_panel() -> None:
    ports = place_ports(64, AT_400, AT_400, 16, 32)
    assert ports is not None
    assert (ports.block, ports.room) == (32, 32)


def test_ports_of_two_speeds_take_whole_cages() -> None:
    ports = place_ports(64, TWO_400, AT_800, 33, None)
    assert ports is not None
    assert ports.groups == ((17, TWO_400), (47, AT_800))
    assert (ports.block, ports.room, ports.total) == (34, 47, 81)
    reserved = place_ports(64, TWO_400, AT_800, 33, 40)
    assert reserved is not None
    assert reserved.groups == ((24, TWO_400), (40, AT_800))
    assert (reserved.block, reserved.room, reserved.total) == (48, 40, 88)


@pytest.mark.parametrize(
    ("down", "up", "downlinks", "reserved"),
    [(AT_400, AT_400, 65, None), (AT_400, AT_400, 40, 32), (TWO_400, AT_800, 64, 40), (TWO_400, AT_800, 2, 70)],
)
def test_ports_that_do_not_fit_have_no_place(
    down: Breakout, up: Breakout, downlinks: int, reserved: int | None
) -> None:
    assert place_ports(64, down, up, downlinks, reserved) is None
