"""Lane arithmetic and breakout syntax."""

import pytest

from railweave.catalog.model import BreakoutPart, parse_breakout_mode
from railweave.catalog.panel import fec_of, lane_rates


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("2x400G", (BreakoutPart(2, 400, (), None),)),
        ("1x800G[400G]", (BreakoutPart(1, 800, (400,), None),)),
        ("4x100G[50G,25G,10G,1G]", (BreakoutPart(4, 100, (50, 25, 10, 1), None),)),
        ("4x25G(4)[10G,1G]", (BreakoutPart(4, 25, (10, 1), 4),)),
        ("4x25G[10G](4)", (BreakoutPart(4, 25, (10,), 4),)),
        ("2x25G(2)+1x50G(2)", (BreakoutPart(2, 25, (), 2), BreakoutPart(1, 50, (), 2))),
    ],
)
def test_a_breakout_mode_is_read_part_by_part(text: str, parts: tuple[BreakoutPart, ...]) -> None:
    assert parse_breakout_mode(text) == parts


@pytest.mark.parametrize("text", ["", "400G", "x400G", "2x400", "2x400G[", "0x400G", "2x400G+", "2x400G[a]"])
def test_text_that_is_no_breakout_mode_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a breakout mode"):
        parse_breakout_mode(text)


@pytest.mark.parametrize(
    ("speed", "lanes", "lane", "rates"),
    [
        (400, 8, 50, (50,)),
        (400, 4, 100, (100,)),
        (400, 8, 100, (50, 100)),
        (100, 4, 25, (25,)),
        (40, 4, 25, (10,)),
        (40, 2, 50, ()),
        (100, 1, 50, ()),
        (10, 1, 25, (10,)),
        (800, 4, 100, ()),
    ],
)
def test_a_speed_runs_on_lanes_of_rates_that_exist(speed: int, lanes: int, lane: int, rates: tuple[int, ...]) -> None:
    assert lane_rates(speed, lanes, lane) == rates


def test_pam4_and_25g_lanes_need_reed_solomon_fec_and_10g_lanes_none() -> None:
    assert [fec_of(rate) for rate in (100, 50, 25, 10)] == ["rs", "rs", "rs", "none"]
