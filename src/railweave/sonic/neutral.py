"""Neutral values, written in place of removals that SONiC's daemons ignore or crash on.

orchagent and portmgrd process the fields that a row has; a field that is removed keeps its last value in the ASIC,
while CONFIG_DB shows none (run on 202505, admin_status and mtu of PORT and the fields of ``PFC_WD|GLOBAL`` only read
there; handlers walk the fields that they are given). So it gets the value that a boot without it would leave: SAI's
default, or the daemon's own. A field with this value is as good as none.

``PFC_WD|GLOBAL`` is never deleted: orchagent crashes, swss restarts and all ports of the switch go down (run on 202505;
202305 to 202605 by their sources, sonic-swss orchagent/pfcwdorch.cpp). A ``config reload`` may leave the row out: swss
does not run while CONFIG_DB is written. ``SWITCH_HASH|GLOBAL`` stays as it is: orchagent refuses the removal of the
row and of its fields, and the ASIC's earlier value is unknown, so a removal would only hide the hash that stays in
force (202311 to 202605, sonic-swss orchagent/switchorch.cpp setSwitchHash, doCfgSwitchHashTableTask); so does
``SWITCH_TRIMMING|GLOBAL`` (202505 to 202605, doCfgSwitchTrimmingTableTask).
"""

from collections.abc import Mapping

from railweave.sonic.document import same_fields, same_value
from railweave.sonic.rows import Fields, Value

SWITCH_HASH = "SWITCH_HASH"
SWITCH_TRIMMING = "SWITCH_TRIMMING"
WITHOUT_ROW: Mapping[tuple[str, str], Fields] = {
    ("PFC_WD", "GLOBAL"): {"POLL_INTERVAL": "100", "BIG_RED_SWITCH": "disable"},
    (SWITCH_HASH, "GLOBAL"): {},
    (SWITCH_TRIMMING, "GLOBAL"): {},
}
"""Rows that must not be deleted, with the values in force without them (sonic-swss, orchagent/orchdaemon.cpp
PFC_WD_POLL_MSECS); other fields keep their value."""

_COLORS = ("green", "yellow", "red")

NEUTRAL: Mapping[str, Mapping[str, Value]] = {
    # portmgrd and orchagent keep the last value; defaults: cfgmgr/portmgr.h, SAI saiport.h, orchagent/port.
    "PORT": {
        "admin_status": "down",
        "adv_interface_types": ("all",),
        "adv_speeds": ("all",),
        "autoneg": "off",
        "fec": "none",
        "interface_type": "none",
        "link_training": "off",
        "mtu": "9100",
        "pfc_asym": "off",
        "tpid": "0x8100",
    },
    # cfgmgr/intfmgr.cpp sets it where it is stated only; SAI sairouterinterface.h.
    "INTERFACE": {"loopback_action": "forward"},
    # orchagent/qosorch.cpp; SAI saischeduler.h, and the defaults of sonic-scheduler.yang. Rates have no such value: the
    # model refuses 0.
    "SCHEDULER": {"type": "WRR", "weight": "1", "meter_type": "bytes"},
    # orchagent/qosorch.cpp; SAI saiwred.h, and the defaults of sonic-wred-profile.yang.
    "WRED_PROFILE": {
        "ecn": "ecn_none",
        **{f"wred_{color}_enable": "false" for color in _COLORS},
        **{f"{color}_{end}_threshold": "0" for color in _COLORS for end in ("min", "max")},
        **{f"{color}_drop_probability": "100" for color in _COLORS},
    },
    # orchagent/bufferorch.cpp; SAI saibuffer.h.
    "BUFFER_POOL": {"xoff": "0"},
    "BUFFER_PROFILE": {"packet_discard_action": "drop", "xon_offset": "0"},
}
"""Fields by table whose removal does nothing, with the value that is written instead."""
_NONE: Fields = {}
_HELD_TABLES = frozenset(table for table, _ in WITHOUT_ROW)


def is_permanent(table: str, key: str) -> bool:
    """Tell whether a row must not be deleted while the switch runs."""
    return (table, key) in WITHOUT_ROW


def has_permanent_rows(table: str) -> bool:
    """Tell whether a table may hold a row that must not be deleted while the switch runs."""
    return table in _HELD_TABLES


def neutral_fields(table: str, key: str = "") -> Fields:
    """Return the values that fields of a row get in place of their removal; other fields are really removed.

    Without a key they are the values for all rows of a table that has no permanent rows.
    """
    return WITHOUT_ROW.get((table, key)) or NEUTRAL.get(table, _NONE)


def instead_of_field(table: str, key: str, field: str, present: Value) -> Value | None:
    """Return the value that a field gets in place of its removal; None if it is really removed."""
    if table in (SWITCH_HASH, SWITCH_TRIMMING):
        return present
    return neutral_fields(table, key).get(field)


def instead_of_row(table: str, key: str, present: Fields) -> dict[str, Value] | None:
    """Return the fields that a row gets in place of its removal; None if it is really removed."""
    values = WITHOUT_ROW.get((table, key))
    if values is None:
        return None
    return {name: values.get(name, value) for name, value in present.items()}


def goes_on(table: str, key: str, present: Fields) -> bool:
    """Tell whether fields of a permanent row differ from what is in force after a boot without the row."""
    values = WITHOUT_ROW.get((table, key))
    if values is None:
        return False
    return any(name not in values or not same_value(values[name], value) for name, value in present.items())


def is_as_good_as_none(table: str, key: str, present: Fields) -> bool:
    """Tell whether a permanent row has only the values that are in force without it."""
    kept = instead_of_row(table, key, present)
    return kept is not None and same_fields(kept, present)
