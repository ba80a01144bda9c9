"""Designs side by side: the figures of each are those of its own commands."""

import io
from pathlib import Path

import pytest
from by_check import sampled
from rich.console import Console

from railweave import api
from railweave.bom.bill import PartKind
from railweave.comparison.alternative import Comparison, figures, in_order
from railweave.errors import RefusedError, UsageError
from railweave.report.comparison import comparison_json, comparison_view
from railweave.report.page.compare_page import comparison_html, rules

INTENTS = Path(__file__).resolve().parents[3] / "intent"
SIZED = """
fabric: sized
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 64, gpus: 8, nics: {count: 8, speed: 400G, model: connectx-7}}
topology:
  oversubscription: "1:1"
  leaf: {ports: 64, speed: 400G}
  spine: {ports: 64, speed: 400G}
"""


def compared(*intents: Path, prices: Path | None = None) -> Comparison:
    return api.compare([api.open_project(intent) for intent in intents], prices=prices)


def rows(found: Comparison) -> dict[str, tuple[str, ...]]:
    return {row.name: row.values for row in figures(found)}


@pytest.mark.parametrize(
    ("columns", "merged"),
    [
        ((["a", "c"], ["a", "b", "c"]), ["a", "b", "c"]),
        ((["a", "x", "z"], ["a", "y", "z"]), ["a", "x", "y", "z"]),
        (([], ["a"]), ["a"]),
        ((["b"], ["a"]), ["b", "a"]),
    ],
)
def test_rows_of_one_design_alone_stand_where_they_do_in_it(columns: tuple[list[str], ...], merged: list[str]) -> None:
    assert in_order(columns) == merged


@pytest.fixture
def sized(tmp_path: Path) -> Path:
    path = tmp_path / "sized.yml"
    path.write_text(SIZED, encoding="utf-8")
    return path


@pytest.mark.slow
def test_the_table_of_three_designs_whole(sized: Path) -> None:
    assert rows(compared(INTENTS / "pod-32.yml", INTENTS / "pods-512.yml", sized)) == {
        "GPUs": ("256", "4,096", "512"),
        "nodes": ("32", "512", "64"),
        "Gb/s of a GPU": ("200", "400", "400"),
        "tiers": ("2", "3", "2"),
        "planes, rails": ("1, 4", "1, 8", "1, 8"),
        "leaves": ("4", "128", "16"),
        "spines": ("4", "128", "8"),
        "super-spines": ("", "64", ""),
        "oversubscription": ("1:1", "1:1", "1:1"),
        "with a spine lost": ("1.33:1", "1.03:1", "1.14:1"),
        "links to nodes": ("128", "4,096", "512"),
        "links between switches": ("128", "8,192", "512"),
        "switches": ("8", "320", ""),
        "  NVIDIA SN4700": ("4", "", ""),
        "  Nokia 7220 IXR-H4-64D": ("4", "320", ""),
        "NICs": ("128", "4,096", ""),
        "  NVIDIA ConnectX-7": ("128", "4,096", ""),
        "transceivers": ("256", "16,384", ""),
        "  OSFP or QSFP112 400G-DR4": ("128", "4,096", ""),
        "  QSFP-DD 400G-DR4": ("128", "4,096", ""),
        "  QSFP-DD 400G-SR8": ("", "8,192", ""),
        "cables with fixed ends": ("128", "4,096", ""),
        "  AOC QSFP-DD 400G to QSFP-DD 400G": ("128", "4,096", ""),
        "fibers": ("128", "8,192", ""),
        "rack units of switches": ("12", "640", ""),
        "max. nodes without recabling": ("32 (spine ports)", "512 (spine ports)", "64 (spine ports)"),
        "worst single failure": ("leaf1, one of 4", "pod 0, one of 4", ""),
        "  nodes cut off": ("0", "128", ""),
        "  node ports left": ("75 %", "75 %", ""),
        "  worst rail left": ("0 %", "75 %", ""),
        "  uplinks left": ("100 %", "100 %", ""),
        "oversubscription for the workload": ("✓ 1:1, advised 1:1",) * 3,
        "Gb/s of a GPU for the workload": ("✗ 200, advised 400", "✓ 400, advised 400", "✓ 400, advised 400"),
        "3 tiers or rails above 1,000 GPUs": (
            "2 tiers, 4 rails, 1 plane",
            "✓ 3 tiers, 8 rails, 1 plane",
            "2 tiers, 8 rails, 1 plane",
        ),
        "4 spines or more a plane": ("✓ 4", "✓ 128", "✓ 8"),
        "95 % of the ports of a leaf in use": ("✓ 100 %", "✓ 100 %", ""),
        "95 % of the ports of a spine in use": ("✓ 100 %", "✓ 100 %", ""),
        "95 % of the ports of a super-spine in use": ("", "✓ 100 %", ""),
    }


@pytest.mark.parametrize("name", sampled(["lab-4.yml", "lab-pods.yml", "mixed-nodes.yml", "minimal.yml"], every=4))
def test_the_worst_single_failure_is_the_first_of_all_failures(name: str) -> None:
    [first, _] = compared(INTENTS / name, INTENTS / "lab-4.yml").alternatives
    project = api.open_project(INTENTS / name)
    assert first.worst == api.failures(project).of_order(1)[0]
    assert first.bill == api.bom(project)


def test_prices_of_all_designs_are_one_file(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yml"
    prices.write_text("currency: USD\nprices: {NVIDIA SN4700: 10, Nokia 7220 IXR-H4-64D: 100}\n", encoding="utf-8")
    found = compared(INTENTS / "pod-32.yml", INTENTS / "pod-32-wide.yml", prices=prices)
    assert rows(found)["cost"] == ("USD 440", "USD 800")
    assert [one["total"] for one in comparison_json(found)["designs"]] == ["440.00", "800.00"]
    prices.write_text("currency: USD\nprices: {NVIDIA SN2: 10}\n", encoding="utf-8")
    with pytest.raises(RefusedError, match="the bill has no part `NVIDIA SN2`"):
        compared(INTENTS / "pod-32.yml", INTENTS / "pod-32-wide.yml", prices=prices)


def test_the_document_counts_parts_by_kind(sized: Path) -> None:
    first, second = comparison_json(compared(INTENTS / "pod-32.yml", sized))["designs"]
    bill = api.bom(api.open_project(INTENTS / "pod-32.yml"))
    compared_kinds = [kind for kind in PartKind if kind not in {PartKind.CARD, PartKind.MANAGEMENT}]
    assert first["parts"] == {str(kind): bill.quantity(kind) for kind in compared_kinds}
    assert (second["parts"], second["worst_failure"], second["total"]) == (None, None, None)


def test_one_design_alone_is_refused() -> None:
    with pytest.raises(UsageError, match="name two intents or more to compare"):
        compared(INTENTS / "pod-32.yml")


def test_the_errors_of_all_designs_are_shown_together(tmp_path: Path) -> None:
    faulty = []
    for name, speed in (("a", "300G"), ("b", "500G")):
        faulty.append(tmp_path / f"{name}.yml")
        faulty[-1].write_text(SIZED.replace("speed: 400G, model", f"speed: {speed}, model"), encoding="utf-8")
    with pytest.raises(RefusedError) as refused:
        compared(*faulty)
    assert {Path(one.where.file).name for one in refused.value.diagnostics if one.where} == {"a.yml", "b.yml"}


def test_rows_in_which_designs_differ_are_marked() -> None:
    found = compared(INTENTS / "pod-32.yml", INTENTS / "pod-32-wide.yml")
    different = [row.name for row in figures(found) if row.differs]
    assert different[:3] == ["  NVIDIA SN4700", "  Nokia 7220 IXR-H4-64D", "rack units of switches"]
    screen = Console(width=1000, file=io.StringIO())
    with screen.capture() as captured:
        screen.print(comparison_view(found))
    marked = [line for line in captured.get().splitlines() if line.startswith("≠ ")]
    assert [line[2:].startswith(name) for line, name in zip(marked, different, strict=True)] == [True] * len(different)
    page = comparison_html(found).decode()
    # The page has the rules of thumb in a table of their own too.
    again = sum(row.differs for row in rules(found))
    assert page.count('<tr class="differs">') == page.count('aria-label="differs"') == len(different) + again
    assert page.startswith("<!doctype html>")
