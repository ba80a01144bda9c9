"""The ECMP hash: the capabilities of an ASIC in STATE_DB, and the fields that it hashes by.

Sources: sonic-swss orchagent/switch/switch_capabilities.cpp (the row); sonic-sairedis vslib/SwitchStateBase.cpp (the
virtual switch); sonic-mgmt tests/hash/generic_hash_helper.py (NVIDIA); sonic-swss issue 3986 (Broadcom: no fields).
"""

from sonic_sim.configdb import Hash

ROW = "SWITCH_HASH|GLOBAL"
CAPABILITY = "SWITCH_CAPABILITY|switch"
NATIVE = "HASH|NATIVE_HASH_FIELD_LIST"
FIELDS = (
    "IN_PORT", "DST_MAC", "SRC_MAC", "ETHERTYPE", "VLAN_ID", "IP_PROTOCOL", "DST_IP", "SRC_IP", "L4_DST_PORT",
    "L4_SRC_PORT", "INNER_DST_MAC", "INNER_SRC_MAC", "INNER_ETHERTYPE", "INNER_IP_PROTOCOL", "INNER_DST_IP",
    "INNER_SRC_IP", "INNER_L4_DST_PORT", "INNER_L4_SRC_PORT", "IPV6_FLOW_LABEL",
)  # fmt: skip
ALGORITHMS = ("CRC", "XOR", "RANDOM", "CRC_32LO", "CRC_32HI", "CRC_CCITT", "CRC_XOR")
_FIELDS_OF = {"broadcom": (), "nvidia": FIELDS[:-1]}
_ALGORITHMS_OF = {
    "broadcom": tuple(algorithm for algorithm in ALGORITHMS if algorithm != "RANDOM"),
    "nvidia": ("CRC", "CRC_CCITT"),
}


def capability(asic: str) -> Hash:
    """Return the row that orchagent writes of an ASIC's vendor."""
    fields = _FIELDS_OF.get(asic, FIELDS)
    algorithms = _ALGORITHMS_OF.get(asic, ALGORITHMS)
    row = {NATIVE: ",".join(fields) or "N/A"}
    for kind in ("ECMP", "LAG"):
        row |= {f"{kind}_HASH_CAPABLE": str(bool(fields)).lower(), f"{kind}_HASH_ALGORITHM": ",".join(algorithms),
                f"{kind}_HASH_ALGORITHM_CAPABLE": "true"}  # fmt: skip
    return row


def asic_rows(asic: str, row: Hash) -> dict[str, Hash]:
    """Return the hash object of ASIC_DB for the row that orchagent took."""
    fields = row.get("ecmp_hash@", "").split(",")
    # orchagent refuses fields that the ASIC lacks.
    if not set(fields) <= set(_FIELDS_OF.get(asic, FIELDS)):
        return {}
    names = ",".join(f"SAI_NATIVE_HASH_FIELD_{name}" for name in FIELDS if name in fields)
    return {_OBJECT: {"SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST": f"{len(fields)}:{names}"}}


_OBJECT = "ASIC_STATE:SAI_OBJECT_TYPE_HASH:oid:0x1c000000000001"
