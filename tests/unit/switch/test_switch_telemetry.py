"""What the switch's program reads for monitoring, and what is asked of another version of it."""

from types import SimpleNamespace
from typing import Any

import pytest
from monitored_switch import MAPS, NODE_PORT, OF_NODE, OF_UPLINK, QUEUE_OF_NODE, UPLINK, DatabaseHost, answered
from napalm.base.exceptions import CommandErrorException

from napalm_sonic.calling import OtherProgramError
from napalm_sonic.monitored import monitored_of
from napalm_sonic.program import SwitchProgram
from railweave.telemetry import metrics
from railweave_switch.all_counters import OBJECTS
from railweave_switch.telemetry import WATERMARKS, telemetry


def test_watermarks_and_rates_have_names() -> None:
    rows = {
        f"PERIODIC_WATERMARKS:{QUEUE_OF_NODE}": {"SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES": "734208"},
        f"RATES:{OF_NODE}": {"FEC_PRE_BER": "9.8e-10", "RX_BPS": "1"},
    }
    answer = answered(rows)
    assert answer["watermarks"] == {
        "queues": {f"{NODE_PORT}|3": {"SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES": 734208}},
        "groups": {},
    }
    assert answer["error_rates"] == {NODE_PORT: "9.8e-10"}
    assert answer["counters"]["at"] == 1000.0


def test_a_switch_without_counters_still_has_its_modules() -> None:
    host: Any = DatabaseHost({"COUNTERS_DB": {}, "APPL_DB": {"PORT_TABLE:Ethernet0": {"flap_count": "2"}}})
    answer = monitored_of({"telemetry": telemetry(host)})
    assert answer is not None
    assert set(answer) == {"error", "link_state"}
    assert answer["link_state"]["ports"]["Ethernet0"]["flap_count"] == "2"
    assert "counterpoll port enable" in answer["error"]


def test_an_answer_has_the_fields_once_and_a_row_only_its_own_values() -> None:
    host: Any = DatabaseHost(
        {
            "COUNTERS_DB": {
                **MAPS,
                f"COUNTERS:{OF_NODE}": {"SAI_PORT_STAT_IF_IN_OCTETS": "7", "SAI_PORT_STAT_IF_IN_ERRORS": "N/A"},
                f"COUNTERS:{OF_UPLINK}": {
                    "SAI_PORT_STAT_IF_IN_ERRORS": "0",
                    "SAI_PORT_STAT_IF_IN_UCAST_PKTS": "4",
                    "SAI_PORT_STAT_IF_IN_FEC_CORRECTED_BITS": "9",
                },
                f"RATES:{OF_UPLINK}": {"FEC_PRE_BER": "1e-9"},
            }
        }
    )
    answer = telemetry(host)
    assert answer["counters"]["ports"] == {
        "fields": ["SAI_PORT_STAT_IF_IN_OCTETS", "SAI_PORT_STAT_IF_IN_ERRORS"],
        "rows": {NODE_PORT: [7, None], UPLINK: [None, 0]},
    }
    read = monitored_of({"telemetry": answer})
    assert read is not None
    assert read["counters"]["ports"] == {
        NODE_PORT: {"SAI_PORT_STAT_IF_IN_OCTETS": 7},
        UPLINK: {"SAI_PORT_STAT_IF_IN_ERRORS": 0},
    }


def test_only_the_queues_that_are_asked_for_are_sent() -> None:
    queues = {"Ethernet0:3": "oid:0x15000000000c03", "Ethernet0:13": "oid:0x15000000000c13"}
    rows = {f"COUNTERS:{number}": {"SAI_QUEUE_STAT_PACKETS": "5"} for number in queues.values()}
    marks = {
        f"PERIODIC_WATERMARKS:{number}": {"SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES": "6"} for number in queues.values()
    }
    host: Any = DatabaseHost({"COUNTERS_DB": {**MAPS, "COUNTERS_QUEUE_NAME_MAP": queues, **rows, **marks}})
    assert list(telemetry(host)["counters"]["queues"]["rows"]) == ["Ethernet0|3", "Ethernet0|13"]
    answer = telemetry(host, {"3"})
    assert list(answer["counters"]["queues"]["rows"]) == ["Ethernet0|3"]
    assert list(answer["watermarks"]["queues"]["rows"]) == ["Ethernet0|3"]


def test_a_row_with_too_few_values_is_refused() -> None:
    ports = {"fields": ["a", "b"], "rows": {"x": [1]}}
    answer = {"telemetry": {"counters": {"at": 1, "boot": "b", "ports": ports}}}
    with pytest.raises(CommandErrorException, match="what monitoring reads cannot be read"):
        monitored_of(answer)


class OtherVersion:
    """A caller whose switch has a version of the program without ``observe --link-state``."""

    def __init__(self) -> None:
        self.session = SimpleNamespace(hostname="leaf1")
        self.asked: list[list[str]] = []

    def call(self, words: list[str], *_: object) -> dict[str, Any]:
        assert words[-1] == "--telemetry"
        raise OtherProgramError("leaf1: another version of railweave-switch is installed there")

    def ask(self, words: list[str]) -> dict[str, Any]:
        self.asked.append(words)
        if words == ["observe", "--all-counters"]:
            return {"outcome": "read", "all_counters": {"at": 1}}
        if words == ["observe", "--link-state"]:
            raise CommandErrorException("leaf1: unrecognized arguments: --link-state")
        return {"outcome": "read", "config": {}}


def test_another_version_answers_what_it_can() -> None:
    caller: Any = OtherVersion()
    answer = SwitchProgram(caller, SimpleNamespace())._read_for_monitoring(["read", "--observe"])  # type: ignore[arg-type]
    assert answer["telemetry"] == {
        "other_program": "leaf1: another version of railweave-switch is installed there",
        "counters": {"at": 1},
    }
    assert caller.asked == [["read", "--observe"], ["observe", "--all-counters"], ["observe", "--link-state"]]


def test_a_version_that_cannot_be_read_is_named() -> None:
    caller: Any = OtherVersion()
    caller.ask = lambda _: None
    with pytest.raises(OtherProgramError, match="another version"):
        SwitchProgram(caller, SimpleNamespace())._read_for_monitoring(["read"])  # type: ignore[arg-type]


@pytest.mark.parametrize("source", [metric.source for metric in metrics.SCRAPED if "SAI_" in metric.source])
def test_every_counter_that_is_served_is_sent(source: str) -> None:
    # The program of the switch imports nothing of railweave, so it has a list of its own.
    table, _, field = source.replace("<priority>", "3").rpartition(" ")
    pattern = WATERMARKS if table else OBJECTS
    name = "ports"
    if "QUEUE" in field:
        name = "queues"
    if "PRIORITY_GROUP" in field:
        name = "groups"
    number = {"ports": "oid:0x1", "queues": "oid:0x2", "groups": "oid:0x3"}[name]

    class OneCounter:
        def rows(self, database: str, key: str) -> dict[str, dict[str, str]]:
            maps = {
                "COUNTERS_PORT_NAME_MAP": {"Ethernet0": "oid:0x1"},
                "COUNTERS_QUEUE_NAME_MAP": {"Ethernet0:3": "oid:0x2"},
                "COUNTERS_PG_NAME_MAP": {"Ethernet0:3": "oid:0x3"},
            }
            if key in maps:
                return {key: maps[key]}
            if key == pattern:
                return {f"{pattern.partition(':')[0]}:{number}": {field: "7"}}
            return {}

        def wall_s(self) -> float:
            return 1.0

        def boot_id(self) -> str:
            return "b"

    answer = telemetry(OneCounter())  # type: ignore[arg-type]
    sent = answer["watermarks"] if table else answer["counters"]
    assert sent[name]["fields"] == [field]
