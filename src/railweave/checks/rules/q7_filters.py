"""An ACL at the edge keeps other traffic out of the strict queue of notifications by its DSCP. Where it drops the
notifications too, which have that DSCP and are RoCE packets themselves, no sender slows down before PFC pauses it.
Where it drops BGP between switches, the link carries nothing."""

from railweave.checks.registry import Breach, Breaches, SwitchRead, rule
from railweave.fabric.policy import ClassRole
from railweave.qos.mapping import control_dscp
from railweave.wording import natural_key

RULE = rule(
    "Q-7",
    "no ACL drops RDMA, its notifications or BGP",
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
