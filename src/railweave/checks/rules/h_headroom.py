"""After a pause is sent, what is on the cable and in the other end still arrives: the group keeps room for it, which
grows with speed and length (IEEE 802.1Qbb)."""

from typing import TYPE_CHECKING

from railweave.checks.registry import LinkBreach, LinkBreaches, LinkEnds, not_exactly, rule
from railweave.qos.mmu.headroom import Headroom
from railweave.units import format_speed

if TYPE_CHECKING:
    from railweave.sonic.port_settings import PortSettings
RULE = rule(
    "H-headroom",
    "the headroom of every lossless class is enough for its cable",
    __doc__,
    "CABLE_LENGTH|AZURE|Ethernet0 5m for a cable of 40 m",
)


@RULE.on_link
def compare_groups(link: LinkEnds) -> LinkBreaches:
    """Yield a breach for each switch port that keeps headroom for other groups than the lossless ones."""
    for end in link.switches:
        numbers = end.headroom, link.lossless
        yield from not_exactly(link, end, "keeps headroom for", "lossless buffer profiles", numbers)


@RULE.on_link
def check_headroom(link: LinkEnds) -> LinkBreaches:
    """Yield a breach for each cable length in SONiC, and each headroom of a group, that does not suit the link."""
    for end in link.switches:
        plan = link.plans(end.device)
        if plan is None:
            continue
        headroom = plan.headroom.get((link.speed_gbps, link.length_m))
        if isinstance(headroom, Headroom):
            yield from _cable_length(link, end, headroom)
            yield from _group_headroom(link, end, headroom)


def _cable_length(link: LinkEnds, end: "PortSettings", headroom: Headroom) -> LinkBreaches:
    """Yield a breach if the cable length of a port is missing, shorter than the cable, or longer than designed.

    SONiC computes headroom from it.
    """
    far = link.far(end)
    design_m = link.design(end).cable_m
    row = f"CABLE_LENGTH|AZURE|{end.port}"
    # Where the buffer tables were read, a missing cable length is not merely unknown.
    is_missing = not end.cable_m and end.group_buffers is not None
    if is_missing and design_m is not None:
        message = f"SONiC of {end} has no cable length, and {link.length_m} m lead to {far}: it keeps no headroom"
        yield LinkBreach(end, "cable", message, f"set {row} to {design_m}m")
        return
    if end.cable_m is None:
        return
    if end.cable_m < link.length_m:
        message = (
            f"SONiC of {end} computes with {end.cable_m} m of cable and {link.length_m} m lead to {far}: its"
            " headroom is too small"
        )
        yield LinkBreach(end, "cable", message, f"set {row} to {headroom.row_m or link.length_m}m")
    elif design_m is not None and end.cable_m > design_m:
        message = (
            f"SONiC of {end} computes with {end.cable_m} m of cable to {far}, by design {design_m} m: its headroom"
            " takes buffer from all ports"
        )
        yield LinkBreach(end, "cable", message, f"set {row} to {design_m}m")


def _group_headroom(link: LinkEnds, end: "PortSettings", headroom: Headroom) -> LinkBreaches:
    """Yield a breach for each group with less headroom than the cable takes."""
    for group, use in (end.group_buffers or {}).items():
        if use is not None and use.xoff_bytes and use.xoff_bytes < headroom.xoff_bytes:
            message = (
                f"group {group} of {end} keeps {use.xoff_bytes} bytes of headroom, and {link.length_m} m of cable at"
                f" {format_speed(link.speed_gbps)} to {link.far(end)} take {headroom.xoff_bytes}: {headroom.formula}"
            )
            fix = f"give BUFFER_PG|{end.port}|{group} a profile with xoff {headroom.xoff_bytes} or more"
            yield LinkBreach(end, f"xoff {group}", message, fix)
