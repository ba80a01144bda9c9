"""Costs over years are those that a pocket calculator gives, and what has no number is left out and said."""

from decimal import Decimal
from pathlib import Path

import pytest

from railweave import api
from railweave.bom.prices import PriceTerms
from railweave.comparison.alternative import Alternative, Comparison
from railweave.comparison.ownership import GpuDemand, power_price, rack_unit_price, waiting_price
from railweave.errors import RefusedError
from railweave.report.comparison import comparison_json, left_out
from railweave.report.suggestions import suggested_json

INTENTS = Path(__file__).resolve().parents[3] / "intent"
PRICES = """\
currency: EUR
prices:
  Nokia 7220 IXR-H4-64D: 35000
  NVIDIA SN4700: 20000
watts:
  Nokia 7220 IXR-H4-64D: 1700
  NVIDIA SN4700: 900
years: 4
kwh: 0.20
cooling_factor: 1.3
rack_month: 1400
rack_units: 42
gpu_hour: 2.50
step_wait_share: 0.1
"""
FULL = PriceTerms(
    years=Decimal(4),
    kwh=Decimal("0.20"),
    cooling_factor=Decimal("1.3"),
    rack_month=Decimal(1400),
    rack_units=Decimal(42),
    gpu_hour=Decimal("2.50"),
    step_wait_share=Decimal("0.1"),
)


def compared(folder: Path, text: str) -> list[Alternative]:
    prices = folder / "prices.yml"
    prices.write_text(text, encoding="utf-8")
    projects = [api.open_project(INTENTS / name) for name in ("pod-32.yml", "pod-32-wide.yml")]
    return list(api.compare(projects, prices=prices).alternatives)


def test_a_kilowatt_for_a_year_is_8766_kwh_times_the_cooling_factor() -> None:
    assert power_price(FULL._replace(years=Decimal(1)), 1000) == Decimal("8766") * Decimal("0.20") * Decimal("1.3")


def test_half_a_rack_for_two_years_is_12_months_of_rent() -> None:
    assert rack_unit_price(FULL._replace(years=Decimal(2)), 21) == 12 * 1400


@pytest.mark.parametrize(
    ("gpu_gbps", "expected"),
    [
        # 256 GPUs × 8766 h × 4 years × 2.50 × 0.1.
        (200, "2244096.00"),
        # Twice the bandwidth halves the waiting, half of it doubles it: more than a step may be waited.
        (400, "1122048.00"),
        (100, "4488192.00"),
    ],
)
def test_waiting_scales_with_the_inverse_of_the_bandwidth_of_a_gpu(gpu_gbps: float, expected: str) -> None:
    price = waiting_price(FULL, GpuDemand(256, gpu_gbps, 200))
    assert price is not None
    assert f"{price:.2f}" == expected


@pytest.mark.parametrize("key", PriceTerms._fields)
def test_a_number_is_left_out_where_a_key_is_missing(key: str) -> None:
    terms = FULL._replace(**{key: None})
    numbers = {
        "power": power_price(terms, 1000),
        "rack space": rack_unit_price(terms, 12),
        "waiting": waiting_price(terms, GpuDemand(256, 200, 200)),
    }
    takes = {
        "power": {"years", "kwh", "cooling_factor"},
        "rack space": {"years", "rack_month", "rack_units"},
        "waiting": {"years", "gpu_hour", "step_wait_share"},
    }
    assert {name for name, number in numbers.items() if number is None} == {
        name for name, keys in takes.items() if key in keys
    }


def test_two_designs_cost_what_is_computed_by_hand(tmp_path: Path) -> None:
    """Four leaves of 1,700 W and four spines of 900 W or 1,700 W; 12 and 16 rack units."""
    first, second = comparison_json_of(compared(tmp_path, PRICES))
    # 4 × 35,000 + 4 × 20,000; 10.4 kW × 35,064 h × 0.26; 12 ÷ 42 × 1,400 × 48.
    assert first["purchase"] == "220000.00"
    assert first["power"] == "94813.06"
    assert first["rack_space"] == "19200.00"
    assert first["network"] == "334013.06"
    # 8 × 35,000; 13.6 kW × 35,064 h × 0.26; 16 ÷ 42 × 1,400 × 48.
    assert second["purchase"] == "280000.00"
    assert second["power"] == "123986.30"
    assert second["rack_space"] == "25600.00"
    # The waiting is in no sum.
    assert (first["waiting"], second["waiting"]) == ("2244096.00", "2244096.00")
    assert first["left_out"] == second["left_out"] == []


def comparison_json_of(designs: list[Alternative]) -> list[dict[str, object]]:
    return [design["ownership"] for design in comparison_json(Comparison(tuple(designs)))["designs"]]


def test_what_is_left_out_is_said_once(tmp_path: Path) -> None:
    text = "currency: EUR\nyears: 3\nkwh: 0.2\ncooling_factor: 1.2\ngpu_hour: 2\n"
    designs = compared(tmp_path, text)
    assert left_out(Comparison(tuple(designs))) == [
        "left out: purchase, the file of prices has no `prices`",
        "left out: power and cooling, no source states the power of NVIDIA SN4700, Nokia 7220 IXR-H4-64D",
        "left out: rack space, the file of prices has no `rack_month`, `rack_units`",
        "left out: GPUs waiting for the network, the file of prices has no `step_wait_share`",
        "left out: power and cooling, no source states the power of Nokia 7220 IXR-H4-64D",
    ]


def test_prices_without_years_add_the_cost_alone(tmp_path: Path) -> None:
    costs = comparison_json_of(compared(tmp_path, "currency: EUR\nprices: {NVIDIA SN4700: 20000}\n"))[0]
    assert (costs["years"], costs["purchase"], costs["network"]) == (None, "80000.00", "80000.00")
    assert (costs["power"], costs["rack_space"], costs["waiting"]) == (None, None, None)


@pytest.mark.parametrize(
    ("line", "message", "fix"),
    [
        ("years: 0", "`0` is not valid for `years`", "write years from 0.1 to 30, such as `4`"),
        (
            "kwh: -0.2",
            "`-0.2` is not valid for `kwh`",
            "write a number without sign, currency or separators, such as `0.21`",
        ),
        (
            "cooling_factor: 0.9",
            "`0.9` is not valid for `cooling_factor`",
            "write a number from 1 to 5, such as `1.3`",
        ),
        (
            "rack_month: 1,400",
            "`1,400` is not valid for `rack_month`",
            "write a number without sign, currency or separators, such as `1400`",
        ),
        (
            "rack_units: 0",
            "`0` is not valid for `rack_units`",
            "write the usable units of a rack from 1 to 100, such as `42`",
        ),
        (
            "gpu_hour: EUR 2",
            "`EUR 2` is not valid for `gpu_hour`",
            "write a number without sign, currency or separators, such as `2.50`",
        ),
        (
            "step_wait_share: 20",
            "`20` is not valid for `step_wait_share`",
            "write a share from 0 to 1, such as `0.2`",
        ),
        (
            "watts: {NVIDIA SN4700: 1.5 kW}",
            "`1.5 kW` is not a valid power of 'NVIDIA SN4700'",
            "write whole watts of one piece, at most 100,000, such as `850`",
        ),
        ("watts: 900", "there are no watts", "list them below `watts:`, as `PART: 850`"),
        (
            "step_wait: 0.2",
            "unknown key `step_wait`",
            "did you mean `step_wait_share`? keys here are currency, prices, watts, years, kwh, cooling_factor, "
            "rack_month, rack_units, gpu_hour, step_wait_share",
        ),
        ("watts: {NVIDIA SN470: 900}", "the bill has no part `NVIDIA SN470`", "did you mean `NVIDIA SN4700`?"),
    ],
)
def test_a_faulty_number_is_refused_at_its_place(line: str, message: str, fix: str, tmp_path: Path) -> None:
    with pytest.raises(RefusedError) as refused:
        compared(tmp_path, f"currency: EUR\nprices: {{NVIDIA SN4700: 20000}}\n{line}\n")
    [only] = refused.value.diagnostics
    assert (only.code, only.where.line, only.message, only.fix) == ("RW018", 3, message, fix)


@pytest.mark.slow
def test_nics_are_weighed_with_both_numbers_and_no_sum_of_them(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yml"
    prices.write_text(PRICES, encoding="utf-8")
    suggested = api.suggest(api.open_project(INTENTS / "pod-32.yml"), most=8, nics=True, prices=prices)
    waiting = {}
    for design in suggested_json(suggested)["designs"]:
        waiting[design["gpu_gbps"]] = design["ownership"]["waiting"]
    assert waiting == {800: "561024.00", 400: "1122048.00", 200: "2244096.00", 100: "4488192.00"}
    sentences = [reason for design in suggested.comparison.alternatives for reason in design.reasons]
    assert "over 4 years GPUs that wait for it cost 1,122,048 less than in the original intent" in sentences
    # Switches without a price are not compared in money.
    assert any(
        sentence.startswith("the costs of the networks cannot be compared, for lack of") for sentence in sentences
    )
