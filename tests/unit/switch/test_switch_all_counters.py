"""The counters that an acceptance test reads: joined by names, whole numbers alone, and when they restart."""

import fnmatch
from dataclasses import dataclass
from typing import cast

import pytest

from railweave_switch.all_counters import all_counters
from railweave_switch.host import DatabaseError, Hash, SwitchHost

PORT = "oid:0x1000000000001"
QUEUE = "oid:0x15000000000002"
GROUP = "oid:0x1a000000000003"
ROWS: dict[str, Hash] = {
    "COUNTERS_PORT_NAME_MAP": {"Ethernet0": PORT},
    "COUNTERS_QUEUE_NAME_MAP": {"Ethernet0:3": QUEUE},
    "COUNTERS_PG_NAME_MAP": {"Ethernet0:3": GROUP},
    f"COUNTERS:{PORT}": {"SAI_PORT_STAT_IF_OUT_OCTETS": "18446744073709551615", "SAI_PORT_STAT_PFC_3_TX_PKTS": "7"},
    f"COUNTERS:{QUEUE}": {"SAI_QUEUE_STAT_BYTES": "12", "PFC_WD_STATUS": "operational", "SAI_QUEUE_STAT_X": "N/A"},
    f"COUNTERS:{GROUP}": {"SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES": "1"},
    f"PERSISTENT_WATERMARKS:{GROUP}": {
        "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES": "4.096e+04",
        "SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES": "1.8446744073709552e+19",
    },
}


@dataclass
class Counting:
    databases: dict[str, Hash]

    def rows(self, database: str, pattern: str = "*") -> dict[str, Hash]:
        assert database == "COUNTERS_DB"
        return {key: row for key, row in self.databases.items() if fnmatch.fnmatchcase(key, pattern)}

    def wall_s(self) -> float:
        return 1000.5

    def boot_id(self) -> str:
        return "b"


def host(databases: dict[str, Hash] = ROWS) -> SwitchHost:
    return cast(SwitchHost, Counting(databases))


def test_counters_have_names_and_watermarks_are_the_largest_since_they_were_cleared() -> None:
    answer = all_counters(host())
    del answer["boot"]
    assert answer == {
        "at": 1000.5,
        "ports": {"Ethernet0": {"SAI_PORT_STAT_PFC_3_TX_PKTS": 7}},
        "queues": {"Ethernet0|3": {"SAI_QUEUE_STAT_BYTES": 12}},
        "groups": {"Ethernet0|3": {"SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES": 40960}},
    }


def test_boot_changes_with_a_reload_which_gives_ports_other_ids() -> None:
    reloaded = {**ROWS, "COUNTERS_PORT_NAME_MAP": {"Ethernet0": QUEUE}}
    boots = {all_counters(switch)["boot"] for switch in (host(), host(), host(reloaded))}
    assert len(boots) == 2


def test_a_switch_that_polls_no_ports_says_so() -> None:
    with pytest.raises(DatabaseError, match="counterpoll port enable"):
        all_counters(host({}))
