"""Tables at every width of a terminal: no word is broken, no line is wider than the screen, no cell is lost."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from railweave.report.layout import table
from railweave.report.tables import Narrow

HEADER = ("for example", "count", "nodes\nout", "two\nleaves")
FAILURES = [("pod1-leaf1:Ethernet256, pod1-leaf2", "384", "-", "96.8 % (87.5 %)"), ("pod1-leaf1", "4", "1", "100 %")]
PARTS = [("switches", "8", "6"), ("  AOC QSFP-DD 400G to QSFP-DD 400G", "128", "")]


def shown(
    width: int,
    narrow: Narrow = Narrow.RECORDS,
    header: tuple[str, ...] = HEADER,
    rows: Sequence[tuple[str, ...]] = FAILURES,
) -> list[str]:
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(table(*header, rows=rows, narrow=narrow))
    return [line.rstrip() for line in captured.get().splitlines()]


@pytest.mark.parametrize("narrow", Narrow)
def test_the_widest_columns_give_way_first_and_no_percent_sign_stands_alone(narrow: Narrow) -> None:
    assert shown(52, narrow) == [
        "                                  nodes   two",
        "for example               count   out     leaves",
        "─" * 52,
        "pod1-leaf1:Ethernet256,   384     -       96.8 %",
        "pod1-leaf2                                (87.5 %)",
        "pod1-leaf1                4       1       100 %",
    ]


def test_the_title_of_a_row_stands_above_it() -> None:
    assert shown(49, Narrow.TITLES) == [
        "          nodes   two",
        "  count   out     leaves",
        "  ───────────────────────────────",
        "pod1-leaf1:Ethernet256, pod1-leaf2",
        "  384     -       96.8 % (87.5 %)",
        "pod1-leaf1",
        "  4       1       100 %",
    ]


def test_a_record_names_each_cell_in_one_line() -> None:
    assert shown(49) == [
        "pod1-leaf1:Ethernet256, pod1-leaf2",
        "    count: 384",
        "    nodes out: -",
        "    two leaves: 96.8 % (87.5 %)",
        "pod1-leaf1",
        "    count: 4",
        "    nodes out: 1",
        "    two leaves: 100 %",
    ]


def test_parts_of_a_table_repeat_its_first_column_and_keep_its_indent() -> None:
    assert shown(34, Narrow.PARTS, ("", "intent/pod.yml", "intent/wide.yml"), PARTS) == [
        "                    intent/pod.yml",
        "─" * 34,
        "switches            8",
        "  AOC QSFP-DD       128",
        "  400G to QSFP-DD",
        "  400G",
        "",
        "                   intent/wide.yml",
        "─" * 34,
        "switches           6",
        "  AOC QSFP-DD",
        "  400G to",
        "  QSFP-DD 400G",
    ]


CELLS = st.lists(st.text("ab9", min_size=1, max_size=9), max_size=4).map(" ".join)


@given(
    st.integers(3, 5).flatmap(lambda many: st.lists(st.tuples(*[CELLS] * many), min_size=1, max_size=4)),
    st.sampled_from(Narrow),
    st.integers(16, 90),
)
def test_no_word_is_broken_or_lost(rows: list[tuple[str, ...]], narrow: Narrow, width: int) -> None:
    """Words of at most 9 characters on a screen of 16 or more: in records each has room, with what it is called."""
    rows = [(f"row{place}", *row[1:]) for place, row in enumerate(rows)]
    lines = shown(width, narrow, ("of", *("abcde"[: len(rows[0]) - 1])), rows)
    assert all(len(line) <= width for line in lines)
    if narrow is not Narrow.PARTS or width >= 4 + 3 + 9:
        words = re.findall(r"\S+", " ".join(lines))
        for row in rows:
            for cell in row:
                assert set(cell.split()) <= set(words)
