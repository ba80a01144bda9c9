"""What neighbors share: the edits that a switch cannot make without the switch at the far end of a link.

``needs_both_ends`` names the settings whose difference takes a link down. This list is wider: a link also stays up
with two MTUs, two pairs of BGP timers or two sets of lossless classes, and then loses packets or fails over late.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum

from railweave.sonic.delta.change import Edit
from railweave.sonic.delta.methods import is_link_setting
from railweave.sonic.delta.subject import SubjectKind
from railweave.sonic.rows import FRR_TABLE


class Shared(StrEnum):
    """What two neighbors have in common, in words."""

    CABLES = "cables"
    PORTS = "port settings"
    MTU = "MTU"
    ADDRESSES = "link addresses"
    SESSIONS = "BGP session settings"
    CLASSES = "traffic classes"
    # One switch accepts what the other announces: the order matters, and a link works meanwhile.
    ROUTES = "routing policy"


_SHARED_TABLES: Mapping[str, Shared] = {
    "DEVICE_NEIGHBOR": Shared.CABLES,
    "INTERFACE": Shared.ADDRESSES,
    "PORT": Shared.PORTS,
    "BREAKOUT_CFG": Shared.PORTS,
    # Which packets are lossless, and on which priority. Schedulers, buffers and WRED are a switch's own.
    **dict.fromkeys(
        (
            "DSCP_TO_TC_MAP",
            "TC_TO_QUEUE_MAP",
            "TC_TO_PRIORITY_GROUP_MAP",
            "MAP_PFC_PRIORITY_TO_QUEUE",
            "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
            "PORT_QOS_MAP",
        ),
        Shared.CLASSES,
    ),
}
_SESSION_LINE = re.compile(r"router bgp\b|neighbor \S+ (remote-as|local-as|password|timers|bfd|capability)\b")


def shared_by(edit: Edit) -> Shared | None:
    """Return what neighbors have in common that an edit changes; None if the edit is about the switch alone."""
    if edit.table == FRR_TABLE:
        return _shared_by_line(edit)
    if edit.table == "PORT" and edit.field == "mtu":
        return Shared.MTU
    shared = _SHARED_TABLES.get(edit.table)
    # Other settings of a port, such as its description, are the switch's own.
    if shared is Shared.PORTS and not is_link_setting(edit):
        return None
    return shared


def _shared_by_line(edit: Edit) -> Shared:
    """Return what neighbors have in common that an edit of a line of FRR changes."""
    subject = edit.subject
    if subject.kind is SubjectKind.SESSION and subject.name:
        return Shared.SESSIONS
    # A line of a peer group is about all of its sessions.
    if _SESSION_LINE.match((edit.field or "").removeprefix("no ")):
        return Shared.SESSIONS
    return Shared.ROUTES


def far_devices(edit: Edit) -> Iterable[str]:
    """Yield the devices at the far end that an edit of ``DEVICE_NEIGHBOR`` names, before the edit and after it."""
    for value in (edit.before, edit.after):
        name: object = value
        if isinstance(value, Mapping):
            # The edit is about the whole row.
            name = value.get("name")
        elif edit.field != "name":
            continue
        if isinstance(name, str):
            yield name
