"""Counters before and after a round: what grew, wrapped, restarted, went backwards or is missing."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_acceptance import CounterRow, growth_of

from railweave.acceptance.columns import read_table, table_growth, updated_table
from railweave.acceptance.counter_files import FileReader, read_counter_file
from railweave.acceptance.counter_names import CounterMeaning, counter_bits, counter_name
from railweave.acceptance.counters import read_counters, round_diagnostics
from railweave.acceptance.deltas import counter_delta, integers_of, row_has_restarted
from railweave.acceptance.judge.tally import Tallier
from railweave.acceptance.model import (
    AcceptancePlan,
    AcceptanceRound,
    JudgeSettings,
    Level,
    PlannedDevice,
    PlannedNode,
    PortEnd,
    RoundKind,
)
from railweave.acceptance.readings import Answer, CounterDelta, DeviceCounters

OCTETS = "SAI_PORT_STAT_IF_IN_OCTETS"
PFC_SENT = "SAI_PORT_STAT_PFC_3_TX_PKTS"
PFC_RECEIVED = "SAI_PORT_STAT_PFC_3_RX_PKTS"
HEADROOM = "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES"

PLAN = AcceptancePlan(
    fabric="pod",
    intent_sha256="",
    level=Level.SMOKE,
    seed=1,
    duration_s=60,
    rounds=(AcceptanceRound("r001", RoundKind.LOADED, 30, ()),),
    tests=(),
    links=(),
    devices=(PlannedDevice("leaf1", "leaf", 0, 0, 0, None),),
    nodes=(PlannedNode("gpu1", "gpu", 0),),
    classes=(),
    settings=JudgeSettings(0.05, 0.02, 0.96, 0.05),
)


def write(
    root: Path, when: str, device: str, at: float = 100.0, boot: str = "1", round_id: str = "r001", **tables: Any
) -> None:
    path = root / "counters" / round_id / when / f"{device}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"version": 1, "device": device, "at": at, "boot": boot, **tables}))


def read(root: Path) -> dict[str, DeviceCounters]:
    return {counters.device: counters for counters in read_counters(root, PLAN)}


def messages(root: Path) -> list[str]:
    diagnostics = round_diagnostics(tuple(read_counters(root, PLAN)))
    return [f"{diagnostic.severity} {diagnostic.code} {diagnostic.message}" for diagnostic in diagnostics]


@pytest.mark.parametrize(
    ("name", "before", "after", "expected"),
    [
        (PFC_SENT, 100, 130, CounterDelta(30, Answer.OK)),
        (PFC_RECEIVED, 18446744073709551000, 384, CounterDelta(1000, Answer.WRAP)),
        (OCTETS, 18446744073709540000, 2_000_000, CounterDelta(2_011_616, Answer.WRAP)),
        ("out_of_sequence", 4294967290, 4, CounterDelta(10, Answer.WRAP)),
        ("rx_write_requests", 4294960000, 102704, CounterDelta(110_000, Answer.WRAP)),
        ("np_ecn_marked_roce_packets", 611205733, 611205772, CounterDelta(39, Answer.OK)),
        # 64 bits: a fall from 4 billion is no wrap there.
        ("np_cnp_sent", 4294967290, 4, CounterDelta(0, Answer.INVALID)),
        ("out_of_sequence", 900_000_000, 5, CounterDelta(0, Answer.INVALID)),
        (HEADROOM, 9000, 4000, CounterDelta(4000, Answer.OK)),
    ],
)
def test_a_fall_is_a_wrap_only_where_it_is_plausible(
    name: str, before: int, after: int, expected: CounterDelta
) -> None:
    assert counter_delta(name, before, after) == expected


def test_a_row_whose_counters_all_fell_has_restarted() -> None:
    before = {OCTETS: 77_777_777, PFC_RECEIVED: 900, PFC_SENT: 5000, "SAI_PORT_STAT_IF_IN_DISCARDS": 0}
    after = {OCTETS: 9000, PFC_RECEIVED: 1, PFC_SENT: 4, "SAI_PORT_STAT_IF_IN_DISCARDS": 0}
    assert row_has_restarted(before, after)
    later = read_table({"Ethernet0": after, "Ethernet8": before})
    growth = table_growth(read_table({"Ethernet0": before, "Ethernet8": before}), later)
    assert growth.restarted == ("Ethernet0",)
    assert set(growth.columns.values()) == {(None, 0)}


def test_a_wrap_beside_a_counter_that_went_on_is_no_restart() -> None:
    before = {OCTETS: 18446744073709540000, PFC_SENT: 100}
    assert not row_has_restarted(before, {OCTETS: 2_000_000, PFC_SENT: 130})


def test_names_have_meanings_priorities_and_widths() -> None:
    assert counter_name(PFC_SENT) == (CounterMeaning.PFC_SENT, 3, 64)
    assert counter_name("rx_prio5_pause_duration") == (CounterMeaning.PAUSED_US, 5, 64)
    assert counter_name("tx_pfc_ena_frames_pri3") == (CounterMeaning.PFC_SENT, 3, 64)
    assert counter_name("local_ack_timeout_err") == (CounterMeaning.RETRANSMISSIONS, None, 32)
    assert counter_name("SAI_PORT_STAT_PFC_3_RX_PAUSE_DURATION") is None
    assert counter_bits("roce_adp_retrans_to") == 32
    assert counter_bits("rp_cnp_handled") == 64


def test_counters_of_a_round_are_read_by_device_table_and_row(tmp_path: Path) -> None:
    write(tmp_path, "before", "leaf1", ports={"Ethernet0": {OCTETS: 10, PFC_SENT: 1}}, queues={"Ethernet0|3": {}})
    write(tmp_path, "after", "leaf1", 130.0, ports={"Ethernet0": {OCTETS: 30, PFC_SENT: 1}}, queues={"Ethernet0|3": {}})
    write(tmp_path, "before", "gpu1", nics={"rail0": {"tx_bytes_phy": 5}})
    write(tmp_path, "after", "gpu1", 129.0, nics={"rail0": {"tx_bytes_phy": 9}})
    counters = read(tmp_path)
    assert messages(tmp_path) == []
    ports = counters["leaf1"].growth["ports"]
    assert (ports.rows, ports.columns) == (("Ethernet0",), {OCTETS: (20,), PFC_SENT: (0,)})
    assert counters["gpu1"].growth["nics"].columns == {"tx_bytes_phy": (4,)}
    seconds = {device: (reading.seconds, reading.unread) for device, reading in counters.items()}
    assert seconds == {"leaf1": (30.0, ""), "gpu1": (29.0, "")}


def test_a_reading_between_two_rounds_is_parsed_once_for_both(tmp_path: Path) -> None:
    rounds = tuple(AcceptanceRound(name, RoundKind.LOADED, 30, ()) for name in ("r001", "r002"))
    readings = (("r001", "before", 5), ("r001", "after", 30), ("r002", "before", 30), ("r002", "after", 90))
    for round_id, when, octets in readings:
        write(tmp_path, when, "leaf1", octets, round_id=round_id, ports={"Ethernet0": {OCTETS: octets}})
    rounds_read = read_counters(tmp_path, replace(PLAN, rounds=rounds))
    grown = [read.growth["ports"].columns[OCTETS] for read in rounds_read if read.device == "leaf1"]
    assert grown == [(25,), (60,)]


def test_columns_that_stay_are_shared_and_those_that_change_are_checked() -> None:
    rows = {port: {OCTETS: 10, PFC_SENT: 4, "text": "x"} for port in ("Ethernet0", "Ethernet8")}
    first = read_table(rows)
    second = updated_table(first, [1], [{OCTETS: 2**64 - 1, PFC_SENT: 4, "text": "x"}])
    assert second is not None
    assert second.columns[PFC_SENT] is first.columns[PFC_SENT]
    assert updated_table(first, [1], [{OCTETS: 2**64 - 1, PFC_SENT: 4}]) is None
    assert second.columns[OCTETS] == (10, None)
    assert table_growth(first, second).columns == {OCTETS: (0, None), PFC_SENT: (0, 0), "text": (None, None)}


def test_rows_of_a_table_may_have_different_counters() -> None:
    first = read_table({"a": {OCTETS: 1, PFC_SENT: 4}, "b": {OCTETS: 1, PFC_RECEIVED: 2, "errors": 3}, "c": 7})
    assert first.broken == {"c"}
    counts = {OCTETS: (1, 1, None), PFC_SENT: (4, None, None), PFC_RECEIVED: (None, 2, None)}
    assert first.columns == {**counts, "errors": (None, 3, None)}
    second = read_table({"b": {OCTETS: 5, PFC_RECEIVED: 1, "errors": 3}, "a": {OCTETS: 2}, "c": {}})
    growth = table_growth(first, second)
    nothing = (None, None, None)
    columns = {OCTETS: (1, 4, None), PFC_SENT: nothing, PFC_RECEIVED: nothing, "errors": (None, 0, None)}
    assert growth.columns == columns
    assert (growth.lost, growth.backwards) == ((), (f"b {PFC_RECEIVED}",))
    assert table_growth(second, first).lost == ("c",)


def test_a_counter_that_wraps_goes_on() -> None:
    before = {"rail0": {"out_of_sequence": 2**32 - 6, "tx_bytes_phy": 7}}
    growth = table_growth(read_table(before), read_table({"rail0": {"out_of_sequence": 4, "tx_bytes_phy": 9}}))
    assert growth.columns == {"out_of_sequence": (10,), "tx_bytes_phy": (2,)}


def test_a_value_that_is_no_counter_is_missing_and_not_zero() -> None:
    row = {"good": 1, "text": "7", "none": None, "negative": -1, "true": True, "unread": 2**64 - 1, "float": 1.8e19}
    assert integers_of(row) == {"good": 1}
    for name in row.keys() - {"good"}:
        assert integers_of({"good": 1, name: row[name]}) == {"good": 1}
    assert integers_of([]) is None


def test_a_row_that_does_not_change_is_checked_as_well(tmp_path: Path) -> None:
    for when in ("before", "after"):
        write(tmp_path, when, "leaf1", ports={"Ethernet0": {OCTETS: 2**64 - 1, PFC_SENT: 4}, "Ethernet8": 7})
    ports = read(tmp_path)["leaf1"].growth["ports"]
    assert (ports.rows, ports.lost) == (("Ethernet0",), ("Ethernet8",))
    assert ports.columns == {OCTETS: (None,), PFC_SENT: (0,)}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"at": 1, "ports": {"Ether', "is not JSON: it may have been cut short"),
        (b"[]", "has no counters: expected an object with `device`, `at` and `ports` or `nics`"),
        (b'{"ports": {}}', "does not say when it was read: `at` must be Unix seconds"),
        (b'{"at": 1}', "has no counters: none of `ports`, `queues`, `groups`, `nics` is in it"),
    ],
)
def test_a_file_without_counters_says_why(data: bytes, reason: str) -> None:
    assert read_counter_file(data) == reason


PORTS = {f"Ethernet{port}": {OCTETS: port, PFC_SENT: 3} for port in (0, 8, 16)}
QUEUES = {f"Ethernet{port}|{queue}": {"SAI_QUEUE_STAT_BYTES": 7} for port in (0, 8, 16) for queue in (0, 3)}
GROUPS = {"Ethernet0|3": {"SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS": 0}}
HEAD = {"version": 1, "device": "leaf1", "at": 1.5, "boot": "b1"}
FILE: dict[str, Any] = {**HEAD, "ports": PORTS, "queues": QUEUES, "groups": GROUPS}
NO_COUNTERS: tuple[Any, ...] = (10**15, 0, -4, 2**64 - 1, 2**70, 1.5, True, None, "7", {}, [1])


def changes() -> Iterator[dict[str, Any]]:
    """Yield documents that differ from `FILE` in one way each."""
    for name, value in (
        ("at", 31.25),
        ("at", "x"),
        ("boot", "b2"),
        ("error", "no answer"),
        ("ports", {}),
        ("nics", {}),
    ):
        yield FILE | {name: value}
    yield {name: FILE[name] for name in reversed(FILE)}
    for table in ("ports", "queues", "groups"):
        rows: dict[str, dict[str, int]] = FILE[table]
        yield {name: value for name, value in FILE.items() if name != table}
        yield FILE | {table: dict(reversed(rows.items()))}
        for name, row in rows.items():
            others = {other: values for other, values in rows.items() if other != name}
            for changed in NO_COUNTERS:
                yield FILE | {table: rows | {name: dict.fromkeys(row, changed)}}
                yield FILE | {table: rows | {name: {**row, "more": changed}}}
                yield FILE | {table: rows | {name: changed}}
            yield FILE | {table: rows | {name: dict(reversed(row.items()))}}
            yield FILE | {table: others}
            yield FILE | {table: others | {f"{name}1": row}}


@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":"), (" , ", " : ")])
def test_a_file_of_which_only_the_changes_are_parsed_says_the_same(separators: tuple[str, str]) -> None:
    reader = FileReader()
    for document in changes():
        for data in (FILE, document):
            text = json.dumps(data, separators=separators).encode()
            for content in (text, text + b"\n", text[:-4]):
                read_at_once = read_counter_file(content)
                read_by_parts = reader.read(content)
                if isinstance(read_at_once, str) or isinstance(read_by_parts, str):
                    assert read_by_parts == read_at_once
                else:
                    assert read_by_parts._asdict() == read_at_once._asdict()


def test_a_reset_is_reported_by_its_boot_and_by_its_counters(tmp_path: Path) -> None:
    write(tmp_path, "before", "leaf1", ports={"Ethernet0": {OCTETS: 900, PFC_SENT: 5000}})
    write(tmp_path, "after", "leaf1", 130.0, ports={"Ethernet0": {OCTETS: 9, PFC_SENT: 4}})
    write(tmp_path, "before", "gpu1", nics={"rail0": {"tx_bytes_phy": 5}})
    write(tmp_path, "after", "gpu1", 130.0, boot="2", nics={"rail0": {"tx_bytes_phy": 9}})
    counters = read(tmp_path)
    assert counters["leaf1"].growth["ports"].restarted == ("Ethernet0",)
    assert counters["leaf1"].growth["ports"].columns == {OCTETS: (None,), PFC_SENT: (None,)}
    assert counters["gpu1"].growth["nics"].columns == {"tx_bytes_phy": (None,)}
    assert messages(tmp_path) == [
        "error RW928 counters of gpu1 restarted in round r001 (all: boot was '1', is '2')",
        "error RW928 counters of leaf1 restarted in round r001 (Ethernet0)",
    ]


def test_a_counter_that_goes_backwards_alone_is_reported(tmp_path: Path) -> None:
    write(tmp_path, "before", "leaf1", ports={"Ethernet0": {OCTETS: 900, PFC_SENT: 50, PFC_RECEIVED: 5}})
    write(tmp_path, "after", "leaf1", 130.0, ports={"Ethernet0": {OCTETS: 999, PFC_SENT: 40, PFC_RECEIVED: 6}})
    assert messages(tmp_path)[0] == (
        f"error RW928 counters of leaf1 went backwards in round r001: Ethernet0 {PFC_SENT}"
    )


def test_missing_devices_rows_and_wrong_clocks_are_reported(tmp_path: Path) -> None:
    write(tmp_path, "before", "leaf1", ports={"Ethernet0": {OCTETS: 1}, "Ethernet8": {OCTETS: 1}})
    write(tmp_path, "after", "leaf1", 90.0, ports={"Ethernet0": {OCTETS: 1}})
    write(tmp_path, "before", "gpu1", nics={"rail0": {"tx_bytes_phy": 5}})
    for device in ("leaf2", "leaf3"):
        write(tmp_path, "before", device, 5100.0, ports={"Ethernet0": {OCTETS: 1}})
        write(tmp_path, "after", device, 5130.0, ports={"Ethernet0": {OCTETS: 1}})
    assert messages(tmp_path) == [
        "error RW927 leaf1 no longer reports Ethernet8 after round r001",
        "error RW926 leaf1 was read after round r001 at an earlier time than before it",
        "error RW926 the clock of leaf1 differs by -5,000 s from that of most devices, or its counters were read at"
        " another time (round r001)",
        "warning RW927 counters of 1 device are missing in round r001: gpu1 (after/gpu1.json cannot be read:"
        " No such file or directory)",
    ]
    assert [device for device, counters in read(tmp_path).items() if counters.unread] == ["gpu1"]


def test_a_round_without_counters_is_left_out(tmp_path: Path) -> None:
    assert not tuple(read_counters(tmp_path, PLAN))


def test_queues_are_kept_at_watched_ports_and_where_they_dropped() -> None:
    rows = {}
    for port, dropped in (("Ethernet0", 0), ("Ethernet8", 0), ("Ethernet16", 2)):
        row = {"SAI_QUEUE_STAT_BYTES": 5, "SAI_QUEUE_STAT_DROPPED_PACKETS": dropped}
        rows[CounterRow("leaf1", "queues", f"{port}|3")] = {**row, "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS": 0}
    counters = DeviceCounters("r001", "leaf1", growth_of(rows)["leaf1"])
    ends = [PortEnd("leaf1", port) for port in ("Ethernet0", "Ethernet8", "Ethernet16")]
    tallier = Tallier(frozenset({3}), {}, {ends[0]}, {"r002"})
    tallier.add(counters)
    tallier.add(counters._replace(round="r002"))
    counts = tallier.tallies["r001"]
    assert [counts.bytes_of_queues(end) for end in ends] == [{3: 5}, {}, {}]
    dropping = {CounterMeaning.SENT_BYTES: 5, CounterMeaning.DROPS: 2, CounterMeaning.MARKS: 0}
    assert (counts.queues, counts.queue_marks) == ({ends[2]: {3: dropping}}, {})
    assert [tallier.tallies["r002"].marks_of_queues(end) for end in ends] == [{3: 0}] * 3


def test_a_port_outside_the_plan_is_counted_too() -> None:
    end = PortEnd("leaf1", "Ethernet0")
    other = PortEnd("leaf2", "Ethernet0")
    tallier = Tallier(frozenset({3}), {}, (), ())
    rows = {CounterRow(end.device, "ports", end.port): {OCTETS: 4}}
    tallier.add(DeviceCounters("r001", end.device, growth_of(rows)[end.device]))
    rows = {CounterRow(other.device, "ports", other.port): {OCTETS: 9, PFC_SENT: 2, PFC_RECEIVED: 0}}
    tallier.add(DeviceCounters("r002", other.device, growth_of(rows)[other.device]))
    first, second = tallier.finished(["r001", "r002", "r003"], [end]).values()
    counted = [counts.count(port, CounterMeaning.RECEIVED_BYTES) for counts in (first, second) for port in (end, other)]
    assert counted == [4, None, None, 9]
    assert second.count(other, CounterMeaning.PFC_SENT) == 2
    assert second.meanings == {CounterMeaning.RECEIVED_BYTES, CounterMeaning.PFC_SENT, CounterMeaning.PFC_RECEIVED}
