"""An ACL at the edge keeps other traffic out of the strict queue of notifications by its DSCP. Where it drops the
notifications too, which have that DSCP and are RoCE packets themselves, no sender slows down before PFC pauses it.
Where it redirects packets, they leave the lossless path that routing gives them. Where it drops BGP between switches,
the link carries nothing. Where it sets another DSCP at egress, every switch behind it sorts the packet into another
class."""

from typing import TYPE_CHECKING

from railweave.checks.registry import Breach, Breaches, SwitchRead, rule
from railweave.diagnostics import Severity
from railweave.fabric.policy import ClassRole, TrafficClass
from railweave.qos.mapping import control_dscp
from railweave.wording import natural_key

if TYPE_CHECKING:
    from railweave.sonic.acl import Dropped

RULE = rule(
    "Q-7",
    "no ACL drops or redirects RDMA, its notifications or BGP, or sets another DSCP in them",
    __doc__,
    "overrides: {leaf: {ACL_RULE: {'EDGE|drop': {PRIORITY: '10', DSCP: '48', PACKET_ACTION: DROP}}}}",
)

_ROLES = (ClassRole.RDMA, ClassRole.CNP)


@RULE.on_switch
def filtering(switch: SwitchRead) -> Breaches:
    """Yield a breach for each ACL rule that drops or redirects RDMA, notifications or BGP."""
    from railweave.sonic.acl import ROCE_PORT

    classes = [traffic_class for traffic_class in switch.fabric.policies.classes if traffic_class.role in _ROLES]
    # A code point that two classes list counts for the later one.
    names = {dscp: traffic_class.name for traffic_class in classes for dscp in traffic_class.dscp}
    for dscp, name in names.items():
        for match in _dropping_roce(switch, dscp):
            effect = match.deed.format(f"RoCE packets with DSCP {dscp} of {name}")
            message = f"rule {match.rule} of {switch.name} {effect}"
            fix = f"let UDP port {ROCE_PORT} pass by a rule of higher priority"
            yield Breach("", message, fix, devices=(switch.name,))
    for match, ports in _dropping_bgp(switch).items():
        effect = match.deed.format(f"BGP packets on {ports}, which lead to switches")
        message = f"rule {match.rule} of {switch.name} {effect}"
        fix = "take these ports out of its ACL_TABLE, or let TCP port 179 pass both ways by rules of higher priority"
        yield Breach("", message, fix, devices=(switch.name,))


def _dropping_roce(switch: SwitchRead, dscp: int) -> "list[Dropped]":
    """Return the rules that drop or redirect RoCE packets with a code point, of any family that the nodes have."""
    from railweave.sonic.acl import dropping, roce_packet

    rules: dict[Dropped, None] = {}
    for pool in switch.fabric.policies.addressing.host_pools.values():
        rules.update(dict.fromkeys(dropping(switch.read, roce_packet(dscp, pool.version))))
    return list(rules)


@RULE.on_switch
def check_rewriting(switch: SwitchRead) -> Breaches:
    """Yield a breach for each ACL rule that sends RDMA or notifications on with the code point of another class."""
    for traffic_class in switch.fabric.policies.classes:
        if traffic_class.role in _ROLES:
            for dscp in traffic_class.dscp:
                yield from _rewriting(switch, traffic_class, dscp)


def _rewriting(switch: SwitchRead, traffic_class: TrafficClass, dscp: int) -> Breaches:
    """Yield a breach for each ACL rule that sends RoCE packets with ``dscp`` on with a code point of another class."""
    from railweave.sonic.acl import REWRITE, ROCE_PORT, Rewritten, rewriting, roce_packet

    # Rules that match both families are reported once.
    match_of_rule: dict[str, Rewritten] = {}
    for pool in switch.fabric.policies.addressing.host_pools.values():
        for match in rewriting(switch.read, roce_packet(dscp, pool.version)):
            if match.dscp not in traffic_class.dscp:
                match_of_rule.setdefault(match.rule, match)
    for match in match_of_rule.values():
        verb = "sends" if match.is_certain else "may send"
        message = (
            f"rule {match.rule} of {switch.name} {verb} RoCE packets with DSCP {dscp} of {traffic_class.name} on"
            f" with DSCP {match.dscp}: they are not {traffic_class.name} from there on"
        )
        severity = Severity.ERROR if match.is_certain else Severity.WARNING
        fix = (
            f"remove {REWRITE} from ACL_RULE|{match.rule}, or let UDP port {ROCE_PORT} pass by a rule of higher"
            " priority"
        )
        yield Breach("", message, fix, severity, devices=(switch.name,))


def _dropping_bgp(switch: SwitchRead) -> "dict[Dropped, str]":
    """Return the rules that drop or redirect BGP on fabric ports, each with these ports as text."""
    from railweave.sonic.acl import bgp_packets, dropping

    panel_ports = switch.fabric.switch_of[switch.name].panel.ports
    fabric_ports = {panel_ports[link.port_of(switch.name)].name for link in switch.fabric.fabric_links_of(switch.name)}
    ports_of_rule: dict[Dropped, str] = {}
    for packet in bgp_packets(control_dscp(switch.fabric.policies.classes)):
        for match in dropping(switch.read, packet):
            ports = match.ports & fabric_ports
            if ports:
                ports_of_rule[match] = ", ".join(sorted(ports, key=natural_key))
    return ports_of_rule
