"""Priority flow control works where both ends pause the same priorities: what one drops or ignores, the other relies
on. A pause of the whole port stops every class."""

from typing import TYPE_CHECKING

from railweave.checks.registry import (
    Breach,
    Breaches,
    LinkBreach,
    LinkBreaches,
    LinkEnds,
    NodeRead,
    priorities_text,
    rule,
)
from railweave.fabric.policy import TrafficClass
from railweave.wording import command_line

if TYPE_CHECKING:
    from railweave.sonic.port_settings import PortSettings

RULE = rule(
    "Q-3",
    "PFC is enabled on the same priorities at both ends of a link: the lossless ones",
    __doc__,
    "PORT_QOS_MAP|Ethernet0|pfc_enable 3 on one end, 3,4 on the other",
)


@RULE.on_link
def compare_paused_priorities(link: LinkEnds) -> LinkBreaches:
    """Yield a breach for each end of a link that pauses other priorities than the lossless ones, or sends no pauses."""
    lossless_text = priorities_text(link.lossless)
    for end in link.ends:
        far = link.far(end)
        if end.is_asymmetric:
            message = f"{end} obeys pauses of {far} and sends none (pfc_asym): what {far} sends on is lost"
            yield LinkBreach(end, "asymmetric", message, f"set PORT|{end.port}|pfc_asym to off")
        # PFC for lossy RDMA at one end is wrong whatever the other end does.
        lossy_classes = _paused_lossy_classes(link, end)
        for traffic_class in lossy_classes:
            message = (
                f"{end} pauses priority {traffic_class.priority} of {traffic_class.name} towards {far}: its transport"
                " is roce-lossy, and no port has headroom for it"
            )
            yield LinkBreach(end, f"lossy {traffic_class.name}", message, _without_pfc(end, traffic_class))
        lossy_priorities = {traffic_class.priority for traffic_class in lossy_classes}
        if end.pfc is not None and end.pfc - lossy_priorities != link.lossless:
            message = (
                f"{end} pauses {priorities_text(end.pfc)} and {far} {priorities_text(far.pfc)}: {lossless_text} is"
                " lossless, and what one end drops or ignores the other relies on"
            )
            fix = f"let PFC of {end} be {lossless_text}"
            if not end.is_host:
                fix += f" (PORT_QOS_MAP|{end.port}|pfc_enable)"
            yield LinkBreach(end, f"pfc {sorted(end.pfc)}", message, fix)


def _paused_lossy_classes(link: LinkEnds, end: "PortSettings") -> list[TrafficClass]:
    """Return the classes of lossy RDMA whose priority an end pauses."""
    lossy_classes = [traffic_class for traffic_class in link.policies.classes if traffic_class.is_lossy_rdma]
    return [traffic_class for traffic_class in lossy_classes if traffic_class.priority in (end.pfc or ())]


def _without_pfc(end: "PortSettings", traffic_class: TrafficClass) -> str:
    if end.is_host:
        return f"turn PFC of priority {traffic_class.priority} off on {end}: `{command_line('hosts', 'apply')}`"
    return f"take {traffic_class.priority} out of PORT_QOS_MAP|{end.port}|pfc_enable of {end.device}"


@RULE.on_node
def check_global_pause(node: NodeRead) -> Breaches:
    """Yield a breach for each NIC port that pauses as a whole, and for each without PFC if a class is lossless."""
    has_lossless = any(traffic_class.lossless for traffic_class in node.fabric.policies.classes)
    for port in node.ports:
        directions = [direction for direction in ("rx", "tx") if port.facts.get(f"pause_{direction}") == "on"]
        if directions:
            message = (
                f"{port} and {port.devices[-1]} differ in what a pause stops: {port} has global pause on"
                f" ({', '.join(directions)}), which stops every class"
            )
            yield Breach("", message, "ethtool -A INTERFACE rx off tx off", devices=port.devices)
        if not has_lossless:
            continue
        for noun in port.absent({"pfc": "PFC"}):
            message = f"{port} has no {noun}, and {port.devices[-1]} pauses it: what it sends on is lost"
            yield Breach("", message, f"set it on {port}: `{command_line('hosts', 'apply')}`", devices=port.devices)
