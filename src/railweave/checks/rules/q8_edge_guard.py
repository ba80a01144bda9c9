"""Notifications have a strict queue and a DSCP that any node can write. With `edge_guard` the leaves drop, on the ports
of nodes, what has that DSCP and is neither RoCE, BGP nor ICMP; without it the queue is limited to a tenth of the
port."""

from collections.abc import Collection

from railweave.checks.registry import Breach, Breaches, SwitchRead, rule
from railweave.diagnostics import Severity
from railweave.intent.model import Intent
from railweave.qos.mapping import notification_dscp
from railweave.wording import first_few

RULE = rule(
    "Q-8",
    "with `edge_guard` no other packets of nodes reach the queue of notifications",
    __doc__,
    "{edge_guard: true, traffic_classes: [{name: roce, dscp: [26], lossless: true, priority: 3, share: 90},"
    " {name: rest, role: bulk, dscp: default, priority: 0, share: 10}]}",
)

# IANA's number of the protocol.
_TCP = 6
# Any port that is neither RoCE's nor BGP's.
_SOME_PORT = 5001


@RULE.on_intent
def intended(intent: Intent) -> Breaches:
    """Yield a breach if the edge guard is on and no class carries notifications."""
    policies = intent.policies
    if policies.edge_guard and not notification_dscp(policies.classes):
        message = "no traffic class carries congestion notifications, so `edge_guard` guards nothing"
        yield Breach("edge_guard", message, "take it out, or add {name: cnp, dscp: [48], priority: 6, strict: true}")


def _open_ports(switch: SwitchRead, ports: Collection[str], dscp: int) -> set[str]:
    """Return the ports at which TCP with ``dscp`` passes in some family: it is neither RoCE, BGP nor ICMP."""
    from railweave.sonic.acl import IPV4, dropping

    open_ports: set[str] = set()
    for pool in switch.fabric.policies.addressing.host_pools.values():
        # SONiC matches the protocol of IPv4 and of IPv6 by different keys.
        protocol_key = "NEXT_HEADER"
        if pool.version == IPV4:
            protocol_key = "IP_PROTOCOL"
        packet = {
            "L4_SRC_PORT": _SOME_PORT,
            "L4_DST_PORT": _SOME_PORT,
            "DSCP": dscp,
            "IP_TYPE": pool.version,
            protocol_key: _TCP,
        }
        closed_ports: set[str] = set()
        for match in dropping(switch.read, packet):
            # A redirected packet is not dropped.
            if not match.elsewhere:
                closed_ports.update(match.ports)
        open_ports.update(set(ports) - closed_ports)
    return open_ports


@RULE.on_switch
def guarding(switch: SwitchRead) -> Breaches:
    """Yield a breach for each DSCP of notifications with which other packets of nodes pass, with the ports."""
    fabric = switch.fabric
    if not fabric.policies.edge_guard:
        return
    panel_ports = fabric.switch_of[switch.name].panel.ports
    ports = [panel_ports[link.upper_port].name for link in fabric.downlinks_of[switch.name] if link.is_access]
    if not ports:
        return
    for dscp in notification_dscp(fabric.policies.classes):
        open_ports = _open_ports(switch, ports, dscp)
        if open_ports:
            where = first_few([port for port in ports if port in open_ports])
            message = f"{switch.name} lets any packet of nodes with DSCP {dscp} into the strict queue on {where}"
            fix = "deploy the intent, or take `edge_guard` out"
            yield Breach("edge_guard", message, fix, Severity.WARNING, devices=(switch.name,))
