"""Outputs of test tools, each with what a correct reader says about it, read as the program's reader should."""

import json
from pathlib import Path
from typing import Any

import pytest

from railweave.acceptance.deltas import counter_delta, row_has_restarted
from railweave.acceptance.readers.registry import read_tool_output

FOLDER = Path(__file__).parents[2].parent / "shared" / "formats"
EXPECTED: dict[str, Any] = {}
if FOLDER.is_dir():
    EXPECTED = json.loads((FOLDER / "expect.json").read_text(encoding="utf-8"))
NAMES = sorted(name for name in EXPECTED if name.startswith("acceptance/"))


def equal_as_printed(value: Any, expected: Any) -> bool:
    """Compare exactly, or a float to the digits that are expected."""
    if isinstance(expected, list):
        return list(value or ()) == expected
    if type(value) is float and type(expected) is float:
        _, _, digits = repr(expected).partition(".")
        return value == expected or round(value, len(digits)) == expected
    return bool(value == expected and isinstance(value, bool) == isinstance(expected, bool))


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_output_is_read_as_expected(name: str) -> None:
    reading = read_tool_output((FOLDER / name).read_bytes())
    expected = EXPECTED[name]
    assert reading.answer == expected["say"]
    for key, value in expected.get("values", {}).items():
        if not key.startswith("not_"):
            assert equal_as_printed(reading.values.get(key), value), (key, value, reading.values.get(key))


SHORT = {
    "pfc3.tx": "SAI_PORT_STAT_PFC_3_TX_PKTS",
    "pfc3.rx": "SAI_PORT_STAT_PFC_3_RX_PKTS",
    "octets": "SAI_PORT_STAT_IF_IN_OCTETS",
}


def port_row(name: str, port: str) -> dict[str, int]:
    """Return the counters of a port in a dump of COUNTERS_DB, whose object ids change with every reload."""
    dump = json.loads((FOLDER / name).read_bytes())
    row = dump[f"COUNTERS:{dump['COUNTERS_PORT_NAME_MAP']['value'][port]}"]["value"]
    return {counter: int(value) for counter, value in row.items()}


@pytest.mark.parametrize("pair", ["06-wrap64", "07-reload"] if NAMES else [])
def test_recorded_counters_of_a_port_grow_as_expected(pair: str) -> None:
    before = port_row(f"telemetry/{pair}-before.json", "Ethernet0")
    after = port_row(f"telemetry/{pair}-after.json", "Ethernet0")
    expected = EXPECTED[f"telemetry/{pair}-after.json"]
    restarted = row_has_restarted(before, after)
    assert restarted is (expected["say"] == "reset")
    for key, grown in expected["values"].items():
        if key.startswith("delta."):
            name = SHORT[key.removeprefix("delta.")]
            # After a restart a counter grew by what it has, at least.
            least = after[name] if restarted else counter_delta(name, before[name], after[name]).grown
            assert least == grown


@pytest.mark.parametrize(
    "name", ["out_of_sequence", "rx_write_requests", "np_ecn_marked_roce_packets"] if NAMES else []
)
def test_recorded_counters_of_a_nic_wrap_at_their_own_width(name: str) -> None:
    before, after = (
        json.loads((FOLDER / f"telemetry/50-rdma-statistic-mlx5{when}.json").read_bytes())[0] for when in ("", "-after")
    )
    expected = EXPECTED["telemetry/50-rdma-statistic-mlx5-after.json"]["values"]
    grown = expected[f"mlx5_0.delta.{name.removesuffix('_roce_packets')}"]
    assert counter_delta(name, before[name], after[name]).grown == grown
