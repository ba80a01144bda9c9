"""Overrides: rows of CONFIG_DB that the operator adds, and the tables that are not theirs to add (design.md section 5).

Two parties writing one row is the commonest way to lose a configuration, so a table that railweave renders is refused
here, with the key of the intent that says the same thing.
"""

import re
from collections.abc import Iterator, Mapping

from railweave.diagnostics import Diagnostic, error, warning
from railweave.intent.kinds import nearest
from railweave.intent.model import Intent
from railweave.intent.paths import path_text

_ROLES = ("leaf", "spine")
_TABLE = re.compile(r"[A-Z][A-Z0-9_]*")

_RENDERED: Mapping[str, str] = {
    "PORT": "ports follow from `topology` and `mtu`",
    "BREAKOUT_CFG": "breakout follows from `topology.leaf.downlink_speed` and `uplink_speed`",
    "INTERFACE": "addresses follow from `addressing`",
    "LOOPBACK_INTERFACE": "loopbacks follow from `addressing.loopbacks`",
    "DEVICE_NEIGHBOR": "neighbours follow from the cabling",
    "DEVICE_NEIGHBOR_METADATA": "neighbours follow from the cabling",
    "BGP_NEIGHBOR": "sessions are in the FRR file; override its template instead",
    "BGP_PEER_RANGE": "sessions are in the FRR file; override its template instead",
    "DSCP_TO_TC_MAP": "maps follow from `traffic_classes`",
    "TC_TO_QUEUE_MAP": "maps follow from `traffic_classes`",
    "TC_TO_PRIORITY_GROUP_MAP": "maps follow from `traffic_classes`",
    "MAP_PFC_PRIORITY_TO_QUEUE": "maps follow from `traffic_classes`",
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": "maps follow from `traffic_classes`",
    "PORT_QOS_MAP": "maps follow from `traffic_classes`",
    "SCHEDULER": "schedulers follow from `share` and `strict` of `traffic_classes`",
    "QUEUE": "queues follow from `traffic_classes`",
    "WRED_PROFILE": "ECN follows from `traffic_classes`",
    "PFC_WD": "the watchdog follows from the lossless classes",
}
"""Tables that railweave renders, with where the intent says it instead."""

_METADATA_RENDERED = frozenset(
    {
        "hostname",
        "hwsku",
        "type",
        "bgp_asn",
        "docker_routing_config_mode",
        "frr_mgmt_framework_config",
        "default_bgp_status",
        "default_pfcwd_status",
        "suppress-fib-pending",
    }
)
_METADATA_OF_THE_DEVICE = frozenset({"mac", "platform"})


def override_findings(intent: Intent) -> Iterator[Diagnostic]:
    """Yield overrides for nobody, and overrides of what is not the operator's to say."""
    for scope, tables in intent.policies.overrides.rows.items():
        yield from _scope(intent, scope)
        for table, rows in tables.items():
            yield from _table(intent, (scope, table), rows)


def _scope(intent: Intent, scope: str) -> Iterator[Diagnostic]:
    where = intent.where(path_text(("overrides", scope)))
    device = re.fullmatch(rf"{re.escape(intent.fabric)}-(leaf|spine)([1-9][0-9]{{0,8}})", scope)
    if device is None:
        if scope in _ROLES:
            return
        names = [*_ROLES, f"{intent.fabric}-leaf1", f"{intent.fabric}-spine1"]
        guess = nearest(scope, names)
        begin = f"did you mean `{guess}`? " if guess else ""
        yield error(
            "RW110",
            f"overrides for `{scope}`, which is no role and no device of fabric `{intent.fabric}`",
            where,
            fix=f"{begin}write leaf, spine or a device's name, like {intent.fabric}-leaf1",
        )
        return
    tier = intent.topology.leaf if device[1] == "leaf" else intent.topology.spine
    if tier.count is not None and int(device[2]) > tier.count * intent.topology.planes:
        yield warning(
            "RW110",
            f"overrides for `{scope}`, but there are {tier.count * intent.topology.planes} switches of that role",
            where,
            fix="take them out, or keep them for a fabric that has grown",
        )


def _table(intent: Intent, place: tuple[str, str], rows: Mapping[str, Mapping[str, object]]) -> Iterator[Diagnostic]:
    _, table = place
    where = intent.where(path_text(("overrides", *place)))
    if table in _RENDERED:
        yield error(
            "RW111",
            f"`{table}` cannot be overridden: railweave renders it; {_RENDERED[table]}",
            where,
            fix="take the table out of `overrides` and say it there",
        )
    elif table.startswith("MGMT_"):
        yield error(
            "RW111",
            f"`{table}` cannot be overridden: management access is how the switch is reached and is never configured",
            where,
            fix="take the table out; addresses of switches belong into inventory/",
        )
    elif table == "DEVICE_METADATA":
        yield from _metadata(intent, place, rows)
    elif _TABLE.fullmatch(table) is None:
        yield error(
            "RW111",
            f"`{table}` is no name of a CONFIG_DB table",
            where,
            fix=f"write it like {table.upper().replace('-', '_')}, as `show runningconfiguration all` prints it",
        )


def _metadata(intent: Intent, place: tuple[str, str], rows: Mapping[str, Mapping[str, object]]) -> Iterator[Diagnostic]:
    for key, fields in rows.items():
        for field in fields:
            where = intent.where(path_text(("overrides", *place, key, field)))
            if field in _METADATA_OF_THE_DEVICE:
                reason = f"`{field}` is a fact of the device, which SONiC finds itself"
            elif field in _METADATA_RENDERED:
                reason = f"`{field}` is rendered by railweave"
            else:
                continue
            yield error(
                "RW111",
                f"`DEVICE_METADATA` field cannot be overridden: {reason}",
                where,
                fix=f"take `{field}` out of `overrides`",
            )
