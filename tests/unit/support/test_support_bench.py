"""The benchmark: two checkouts take turns, medians stand beside bars, and its intents are sound."""

from pathlib import Path

import pytest
from figures import Bar, Figures, Measurement, run, table, turns
from intents import DENSE, LARGER_MTU, PODS, SLOWER_BGP, THIN, thin

from railweave import api

HERE, THERE = Path("here"), Path("there")


def measured(bar: Bar | None = None, rounds: int = 3) -> tuple[Measurement, list[Path]]:
    asked: list[Path] = []

    def once(checkout: Path, turn: int) -> Figures:
        asked.append(checkout)
        return Figures(10.0, (1.0, 5.0, 2.0)[turn] * (1 if checkout is HERE else 4), 100.0)

    return turns("check", {"this": HERE, "against": THERE}, rounds, once, bar), asked


def test_checkouts_take_turns_and_the_ratio_is_the_median_of_the_turns() -> None:
    found, asked = measured()
    assert asked == [HERE, THERE] * 3
    assert found.median("this") == {"elapsed_s": 10.0, "cpu_s": 2.0, "peak_mib": 100.0}
    assert found.ratio == 0.25
    assert found.json()["medians"]["against"]["cpu_s"] == 8.0


@pytest.mark.parametrize(("most", "told"), [(2.0, "2 s CPU"), (1.5, "1.5 s CPU !")])
def test_a_figure_beyond_its_bar_is_marked(most: float, told: str) -> None:
    found, _ = measured(Bar("cpu_s", most))
    assert list(table([found]))[1].split("MiB")[1].split("  ")[1].strip() == told


def test_what_a_switch_costs_is_the_processor_time_of_all() -> None:
    each = Measurement("plan", {"this": [Figures(1.0, 0.5, 10.0)]}, Bar("ms", 8.0), 50)
    assert each.median("this")["ms"] == 10.0
    assert "10.0 ms" in list(table([each]))[1]
    assert each.ratio is None


def test_a_command_that_fails_is_shown_with_its_words(tmp_path: Path) -> None:
    program = tmp_path / ".venv/bin/railweave"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho no such intent; exit 3\n")
    program.chmod(0o755)
    with pytest.raises(RuntimeError, match=r"ended with 3:\nno such intent"):
        run(tmp_path, tmp_path, "check")


@pytest.mark.parametrize("more", ["", LARGER_MTU, SLOWER_BGP], ids=["as it is", "MTU", "BGP"])
@pytest.mark.parametrize(
    ("text", "switches"),
    [
        (DENSE[64], 64),
        (DENSE[256], 256),
        (thin(7), 36),
        *(
            pytest.param(text, switches, marks=pytest.mark.bench)
            for made in (THIN, DENSE, PODS)
            for switches, text in made.items()
            if switches > 256
        ),
    ],
)
def test_the_intents_are_accepted(text: str, switches: int, more: str, tmp_path: Path) -> None:
    path = tmp_path / "bench.yml"
    path.write_text(text + more, encoding="utf-8")
    found = api.check(api.open_project(path))
    assert found.ok, found.diagnostics
    assert found.fabric is not None
    assert len(found.fabric.switches) == switches
