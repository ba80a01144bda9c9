"""An ACL at the edge keeps other traffic out of the strict queue of notifications by its DSCP. Where it drops the
notifications too, which have that DSCP and are RoCE packets themselves, no sender slows down before PFC pauses it.
Where it drops BGP between switches, the link carries nothing. Where it sets another DSCP at egress, every switch behind
it sorts the packet into another class."""

from railweave.checks.registry import Breach, Breaches, SwitchRead, rule
from railweave.diagnostics import Severity
from railweave.fabric.policy import ClassRole
from railweave.qos.mapping import control_dscp
from railweave.wording import natural_key

RULE = rule(
    "Q-7",
    "no ACL drops RDMA, its notifications or BGP, or sets another DSCP in them",
    __doc__,
    "overrides: {leaf: {ACL_RULE: {'EDGE|drop': {PRIORITY: '10', DSCP: '48', PACKET_ACTION: DROP}}}}",
)

_ROLES = (ClassRole.RDMA, ClassRole.CNP)


@RULE.on_switch
def filtering(switch: SwitchRead) -> Breaches:
    """Look for rules that drop packets of RDMA, notifications or BGP, first match first."""
    from railweave.sonic.acl import ROCE_PORT, dropping, roce_packet

    names = {dscp: one.name for one in switch.fabric.policies.classes if one.role in _ROLES for dscp in one.dscp}
    for dscp, name in names.items():
        rules = {
            found.rule: None
            for pool in switch.fabric.policies.addressing.host_pools.values()
            for found in dropping(switch.read, roce_packet(dscp, pool.version))
        }
        for rule_name in rules:
            message = f"rule {rule_name} of {switch.name} drops RoCE packets with DSCP {dscp} of {name}"
            fix = f"let UDP port {ROCE_PORT} pass by a rule of higher priority"
            yield Breach("", message, fix, devices=(switch.name,))
    for rule_name, ports in _dropping_bgp(switch).items():
        message = f"rule {rule_name} of {switch.name} drops BGP packets on {ports}, which lead to switches"
        fix = "take these ports out of its ACL_TABLE, or let TCP port 179 pass both ways by rules of higher priority"
        yield Breach("", message, fix, devices=(switch.name,))


@RULE.on_switch
def rewriting_code_points(switch: SwitchRead) -> Breaches:
    """Look for rules that send RDMA or notifications on with another code point."""
    from railweave.sonic.acl import REWRITE, ROCE_PORT, Rewritten, rewriting, roce_packet

    policies = switch.fabric.policies
    classes = [each for each in policies.classes if each.role in _ROLES]
    for traffic_class, dscp in ((each, dscp) for each in classes for dscp in each.dscp):
        rewritten: dict[str, Rewritten] = {}
        for pool in policies.addressing.host_pools.values():
            for match in rewriting(switch.read, roce_packet(dscp, pool.version)):
                if match.dscp not in traffic_class.dscp:
                    rewritten.setdefault(match.rule, match)
        for match in rewritten.values():
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


def _dropping_bgp(switch: SwitchRead) -> dict[str, str]:
    from railweave.sonic.acl import bgp_packets, dropping

    own = switch.fabric.switch_of[switch.name].panel.ports
    links = {own[link.port_of(switch.name)].name for link in switch.fabric.fabric_links_of(switch.name)}
    packets = bgp_packets(control_dscp(switch.fabric.policies.classes))
    return {
        found.rule: ", ".join(sorted(found.ports & links, key=natural_key))
        for packet in packets
        for found in dropping(switch.read, packet)
        if found.ports & links
    }
