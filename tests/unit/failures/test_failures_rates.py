"""Files of failure rates: what is read, and what is refused with its place."""

from pathlib import Path

import pytest

from railweave.errors import RailweaveError, RefusedError
from railweave.failures.rates import HOURS_A_YEAR, NEVER, Rate, read_rates

GOOD = "{failures_per_year: 1, repair_hours: 1}"
BOTH = "write both numbers, as `{failures_per_year: 0.02, repair_hours: 12}`"
LIST = "list them below `rates:`, as `leaf: {failures_per_year: 0.02, repair_hours: 12}`"
NUMBER = "write a number like 0.02, below a million"
BELOW = "{failures_per_year: -1, repair_hours: 1}"


def written(folder: Path, text: str) -> Path:
    path = folder / "rates.yml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_kind_has_its_own_rate_or_that_of_all_links_or_switches(tmp_path: Path) -> None:
    link, leaf = "{failures_per_year: 1, repair_hours: 4}", "{failures_per_year: 0.5, repair_hours: 12}"
    rates = read_rates(written(tmp_path, f"rates:\n  link: {link}\n  leaf: {leaf}\n"))
    assert rates.rate("host_leaf") == rates.rate("leaf_spine") == Rate(1, 4)
    assert rates.rate("leaf") == Rate(0.5, 12)
    assert rates.rate("spine") == rates.rate("plane") == NEVER


def test_repair_is_part_of_the_cycle() -> None:
    assert Rate(1, HOURS_A_YEAR).unavailability == 0.5
    assert NEVER.unavailability == 0


@pytest.mark.parametrize(
    ("text", "place", "message", "fix"),
    [
        ("{}", (1, 1), "there are no rates", LIST),
        (
            f"rates: {{laef: {GOOD}}}",
            (1, 9),
            "unknown kind of component `laef`",
            "did you mean `leaf`? kinds are link, ",
        ),
        ("rates: {leaf: {failures_per_year: 1}}", (1, 9), "`leaf` has no rate", BOTH),
        (f"rates: {{leaf: {BELOW}}}", (1, 35), "`-1` is not a valid rate", NUMBER),
        (f"rate: {{leaf: 1}}\nrates: {{leaf: {GOOD}}}", (1, 1), "unknown key `rate`", "the key here is rates"),
    ],
)
def test_everything_else_is_refused_with_its_place(
    text: str, place: tuple[int, int], message: str, fix: str, tmp_path: Path
) -> None:
    with pytest.raises(RefusedError) as refused:
        read_rates(written(tmp_path, f"{text}\n"))
    (only,) = refused.value.diagnostics
    assert (only.code, only.message) == ("RW019", message)
    assert only.fix.startswith(fix)
    assert (only.where.line, only.where.column) == place


@pytest.mark.parametrize(("text", "said"), [("", "is empty"), ("5", "is a single value, not a mapping of keys")])
def test_a_file_of_rates_without_a_key_is_not_called_an_intent(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(RefusedError) as refused:
        read_rates(written(tmp_path, text))
    [only] = refused.value.diagnostics
    assert (only.message, only.fix) == (f"the file of rates {said}", "begin with `rates:`")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RailweaveError, match=r"absent\.yml: No such file or directory"):
        read_rates(tmp_path / "absent.yml")
