"""What the data-plane ACLs of a switch do with a packet of RoCE.

The rules of a table are tried from the highest priority on, and the first that matches decides (sonic-swss
orchagent/aclorch.cpp); what no rule matches is forwarded. A rule that also looks at something else, such as addresses,
is left out: it may match or not.
"""

from collections.abc import Iterator
from typing import NamedTuple

from railweave.sonic.resolved import ResolvedTables, number, text
from railweave.sonic.rows import Fields

ROCE_PORT = 4791
_UDP = 17
_IS_OF_ROCE = {"IP_PROTOCOL": _UDP, "L4_DST_PORT": ROCE_PORT}
_DECIDES_NOTHING = frozenset({"PRIORITY", "PACKET_ACTION", "RULE_DESCRIPTION"})
_CONTROL_PLANE = "CTRLPLANE"


class Dropped(NamedTuple):
    """A code point whose RoCE packets an ACL drops, with the rule that does (``TABLE|rule``)."""

    dscp: int
    rule: str


def dropped(read: ResolvedTables, code_points: tuple[int, ...]) -> Iterator[Dropped]:
    """Yield those of ``code_points`` of which a data-plane ACL drops RoCE packets."""
    for name, table in read.table("ACL_TABLE").items():
        rules = [(key, row) for key, row in read.table("ACL_RULE").items() if key.partition("|")[0] == name]
        rules.sort(key=lambda one: number(one[1].get("PRIORITY")) or 0, reverse=True)
        for dscp in code_points if table.get("type") != _CONTROL_PLANE else ():
            first = next(((key, row) for key, row in rules if _matches(row, dscp)), None)
            if first is not None and (text(first[1].get("PACKET_ACTION")) or "").upper() == "DROP":
                yield Dropped(dscp, first[0])


def _matches(rule: Fields, dscp: int) -> bool:
    stated = {name: value for name, value in rule.items() if name not in _DECIDES_NOTHING}
    return all(number(value) == {**_IS_OF_ROCE, "DSCP": dscp}.get(name, -1) for name, value in stated.items())
