"""Readings of switches as a release, an operator, a bad read or a wrong address leaves them."""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

VALUES: st.SearchStrategy[Any] = st.one_of(
    st.integers(0, 2**64 + 5),
    st.sampled_from(["N/A", "", "12", None, True, -1, 1.5, 2**32 - 1, 2**32, 2**63, 2**64 - 1, {}, []]),
)


def copied(readings: Mapping[str, Any]) -> dict[str, Any]:
    copies = {}
    for device, reading in readings.items():
        tables = {table: {name: dict(row) for name, row in reading[table].items()}
                  for table in ("ports", "queues", "groups")}  # fmt: skip
        copies[device] = {**reading, **tables}
    return copies


@st.composite
def damage(draw: st.DrawFn, readings: dict[str, Any]) -> None:
    """Change a reading of one switch as a release, an operator, a bad read or a wrong address does."""
    device = draw(st.sampled_from(sorted(readings)))
    reading = readings[device]
    kind = draw(st.sampled_from(("value", "counter", "row", "table", "head", "cleared", "all")))
    if kind in ("table", "head"):
        name = draw(st.sampled_from(("ports", "queues", "groups") if kind == "table" else ("at", "boot")))
        reading[name] = draw(st.sampled_from([None, "N/A", [], {}, {"Ethernet999": {}}, True, float("nan"), 0, -1.0]))
        return
    table = draw(st.sampled_from(("ports", "queues", "groups")))
    if not isinstance(reading.get(table), dict) or not reading[table]:
        return
    row = draw(st.sampled_from(sorted(reading[table])))
    if kind == "row":
        reading[table][row] = draw(st.sampled_from([None, "N/A", 3, {}, []]))
    elif isinstance(reading[table][row], dict) and reading[table][row]:
        counters = reading[table][row]
        name = draw(st.sampled_from(sorted(counters)))
        if kind == "value":
            counters[name] = draw(VALUES)
        elif kind == "counter":
            del counters[name]
        elif kind == "cleared":
            reading[table][row] = dict.fromkeys(counters, 0)
        else:
            reading[table][row] = dict.fromkeys(counters, draw(VALUES))
