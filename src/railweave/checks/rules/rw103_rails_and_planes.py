"""A node's ports of one plane divide evenly over the rails, so that every rail meets the same leaf; planes are disjoint
copies of the fabric, so every NIC reaches each of them by the same number of ports, and so it does each of the leaves
that share it."""

from math import gcd

from railweave.checks.registry import Breach, Breaches, rule
from railweave.intent.model import Intent, Nics, Shape, Topology
from railweave.wording import counted, either

RULE = rule("RW103", "the NICs of a node divide evenly over rails and planes", __doc__, "topology: {rails: 3}")


@RULE.on_intent
def divide_over_planes(intent: Intent) -> Breaches:
    """Yield a breach for each entry of nodes whose NIC ports do not divide over planes and leaves."""
    planes = intent.topology.planes
    leaves = intent.topology.leaves_per_nic
    for index, entry in enumerate(intent.nodes):
        own_ports = len(entry.nics.own_ports)
        if own_ports % planes:
            message = f"a NIC with {own_ports} ports does not reach {planes} planes alike"
            divisors = either([fewer for fewer in range(1, planes) if own_ports % fewer == 0])
            fix = f"give a NIC {planes} ports or a multiple of it, or lower `topology.planes` to {divisors}"
            yield Breach(f"nodes[{index}].nics.ports", message, fix)
        elif own_ports % (planes * leaves):
            leaves_text = f"{leaves} leaves"
            if planes > 1:
                leaves_text += f" of each of {planes} planes"
            message = f"a NIC with {counted(own_ports, 'port')} does not reach {leaves_text} alike"
            fix = f"give a NIC {planes * leaves} ports or a multiple of it, or lower `topology.leaves_per_nic`"
            yield Breach(f"nodes[{index}].nics.ports", message, fix)
        elif leaves > 1 and entry.nics.are_shared:
            message = f"{leaves} leaves share a NIC whose other ports are in another fabric"
            fix = "give the NIC one fabric, or set `topology.leaves_per_nic` to 1"
            yield Breach("topology.leaves_per_nic", message, fix)


def _rails_text(topology: Topology, count: int) -> str:
    """Return the number of rails, and where it is from if the intent states none."""
    if topology.rails:
        return f"{count} rails"
    return f"{count} rails, one a NIC of `nodes[0]`"


def _fewer_ports_than_rails(intent: Intent, index: int, ports: int, count: int) -> Breach:
    """Return the breach of nodes with fewer ports in a plane than there are rails, as storage nodes often have."""
    topology = intent.topology
    name = intent.nodes[index].name
    plane = " in a plane" if topology.planes > 1 else ""
    message = (
        f"a node `{name}` has {counted(ports, 'port')}{plane}, fewer than the {_rails_text(topology, count)}: a stripe"
        " has a leaf for each rail, all with the same ports for nodes, and this node would reach only some of them"
    )
    fixes = [f"give it {count} ports{plane} or a multiple of them"]
    # A number of rails over which the ports of all nodes divide.
    rails = gcd(*(_ports_in_plane(entry.nics, topology) for entry in intent.nodes))
    if topology.leaves_per_nic == 1 and rails:
        fixes.append(f"state `topology.rails: {rails}`, which brings more NICs of a GPU node to each leaf")
    if topology.shape is Shape.RAIL_OPTIMIZED:
        fixes.append("use `shape: rack-aligned`")
    fixes.append("put its NICs in a fabric of their own (`fabrics`)")
    return Breach(f"nodes[{index}].nics.count", message, either(fixes))


def _ports_in_plane(nics: Nics, topology: Topology) -> int:
    """Return how many ports a node has in each plane."""
    return nics.count * (len(nics.own_ports) // topology.planes)


@RULE.on_intent
def divide_over_rails(intent: Intent) -> Breaches:
    """Yield a breach for each entry of nodes whose ports in a plane do not divide over the rails."""
    topology = intent.topology
    if not topology.shape.has_rails:
        return
    count = topology.rails or intent.nodes[0].nics.count
    for index, entry in enumerate(intent.nodes):
        ports = _ports_in_plane(entry.nics, topology)
        # Ports that do not divide over the planes are reported as such.
        divides_over_planes = len(entry.nics.own_ports) % topology.planes == 0
        if divides_over_planes and ports % count:
            yield _uneven_ports(intent, index, ports, count)
        elif topology.leaves_per_nic > 1 and entry.nics.count % count:
            message = (
                f"{counted(entry.nics.count, 'NIC')} of a node `{entry.name}` on {counted(count, 'rail')}: with"
                f" leaves_per_nic {topology.leaves_per_nic} all ports of a NIC are on one rail"
            )
            fix = f"make `topology.rails` a divisor of {entry.nics.count}, the NICs of the node"
            yield Breach(_rails_path(topology, index), message, fix)


def _rails_path(topology: Topology, index: int) -> str:
    if topology.rails:
        return "topology.rails"
    return f"nodes[{index}].nics.count"


def _uneven_ports(intent: Intent, index: int, ports: int, count: int) -> Breach:
    """Return the breach of a node whose ports in a plane do not divide over the rails."""
    # Rails are counted by the first entry, GPU nodes as a rule; later ones may have fewer NICs.
    if index and ports < count:
        return _fewer_ports_than_rails(intent, index, ports, count)
    topology = intent.topology
    message = (
        f"the {ports} ports that a node `{intent.nodes[index].name}` has in a plane do not divide over"
        f" {_rails_text(topology, count)}"
    )
    fix = "make `topology.rails` a divisor of the node's ports, or change the NICs of the node"
    return Breach(_rails_path(topology, index), message, fix)
