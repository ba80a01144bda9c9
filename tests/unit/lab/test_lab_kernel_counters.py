"""What the kernel of a node counts, as rows of a switch."""

import json

from lab_node.kernel_counters import named_counters, root_drops, with_flaps, with_kernel_counters

PORT_OID = "oid:0x1000000000002"
ROWS = {
    "COUNTERS_PORT_NAME_MAP": {"Ethernet0": PORT_OID, "Ethernet4": "oid:0x1000000000003"},
    f"COUNTERS:{PORT_OID}": {"SAI_PORT_STAT_IF_OUT_DISCARDS": "2"},
}


def test_a_port_that_was_never_up_has_no_flaps() -> None:
    rows = {"PORT_TABLE:Ethernet0": {"mtu": "9100"}, "PORT_TABLE:Ethernet4": {"mtu": "9100"}}
    assert with_flaps(rows, {"Ethernet0": 3, "Ethernet4": 0}) == {
        "PORT_TABLE:Ethernet0": {"mtu": "9100", "flap_count": "3"},
        "PORT_TABLE:Ethernet4": {"mtu": "9100"},
    }


def test_drops_of_a_rate_limit_are_discards_of_its_port() -> None:
    qdiscs = [
        {"kind": "tbf", "dev": "Ethernet0", "root": True, "drops": 40},
        {"kind": "pfifo", "dev": "Ethernet0", "parent": "1:", "drops": 40},
        {"kind": "noqueue", "dev": "lo", "root": True, "drops": 0},
    ]
    drops = root_drops(json.dumps(qdiscs))
    assert drops == {"Ethernet0": 40, "lo": 0}
    rows = with_kernel_counters(ROWS, drops, {})
    assert rows[f"COUNTERS:{PORT_OID}"]["SAI_PORT_STAT_IF_OUT_DISCARDS"] == "42"
    assert ROWS[f"COUNTERS:{PORT_OID}"]["SAI_PORT_STAT_IF_OUT_DISCARDS"] == "2"


def test_counters_of_nft_are_queues_by_their_names() -> None:
    listed = {"nftables": [{"metainfo": {}}, *(
        {"counter": {"family": "inet", "table": "watch", "name": name, "packets": packets, "bytes": 100 * packets}}
        for name, packets in (("Ethernet4_q3_ecn", 7), ("Ethernet4_q3_drop", 1), ("other", 9), ("Ethernet9_q3_ecn", 9))
    )]}  # fmt: skip
    rows = with_kernel_counters(ROWS, {}, named_counters(json.dumps(listed)))
    (oid,) = rows["COUNTERS_QUEUE_NAME_MAP"].values()
    assert rows["COUNTERS_QUEUE_NAME_MAP"] == {"Ethernet4:3": oid}
    assert rows["COUNTERS_QUEUE_PORT_MAP"] == {oid: "oid:0x1000000000003"}
    assert rows[f"COUNTERS:{oid}"] == {
        "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS": "7",
        "SAI_QUEUE_STAT_WRED_ECN_MARKED_BYTES": "700",
        "SAI_QUEUE_STAT_DROPPED_PACKETS": "1",
        "SAI_QUEUE_STAT_DROPPED_BYTES": "100",
    }


def test_a_kernel_without_them_counts_nothing() -> None:
    assert root_drops("") == {}
    assert named_counters("") == {}
