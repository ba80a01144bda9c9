"""What verification must see on a device, derived from the fabric alone.

Between leaf and spine the neighbour, the link and the BGP session are required. A GPU node may be switched off: its
LLDP neighbour must be right where it is seen, and its link may be down.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from railweave.fabric.model import Fabric, HostPort, Link, LinkKind, Switch, SwitchPort
from railweave.units import ipv4_text


@dataclass(frozen=True, slots=True)
class ExpectedNeighbor:
    """The far end of ``port``: LLDP may name its port by name or alias (SONiC releases differ)."""

    port: str
    device: str
    port_names: tuple[str, ...]
    required: bool


@dataclass(frozen=True, slots=True)
class ExpectedSession:
    """A BGP session with ``device`` over ``peer``: its address, or our interface where the link is unnumbered.

    ``port`` is our interface of the link.
    """

    peer: str
    device: str
    remote_asn: int
    port: str = ""


@dataclass(frozen=True, slots=True)
class ExpectedPort:
    """A used port: enabled, with this MTU; up where ``device`` at its far end must be there (``required``)."""

    port: str
    mtu_bytes: int
    device: str
    required: bool


@dataclass(frozen=True, slots=True)
class ExpectedAddress:
    """An interface's own address, ``10.0.0.1/31``."""

    port: str
    address: str


@dataclass(frozen=True, slots=True)
class Expectation:
    """Everything that must be seen on one device."""

    device: str
    neighbors: tuple[ExpectedNeighbor, ...]
    sessions: tuple[ExpectedSession, ...]
    ports: tuple[ExpectedPort, ...]
    addresses: tuple[ExpectedAddress, ...]


def expect(fabric: Fabric, switch: Switch, links: Sequence[Link] | None = None) -> Expectation:
    """Return what must be seen on ``switch``, of ``links`` alone where they are given."""
    links = fabric.links_of.get(switch.name, ()) if links is None else links
    return Expectation(
        device=switch.name,
        neighbors=tuple(_neighbor(fabric, switch, link) for link in links),
        sessions=tuple(_session(fabric, switch, link) for link in links if link.kind is LinkKind.LEAF_SPINE),
        ports=tuple(
            ExpectedPort(
                _own_port(switch, link).name,
                fabric.policies.mtu.fabric_bytes,
                _far_name(switch, link),
                link.kind is LinkKind.LEAF_SPINE,
            )
            for link in links
        ),
        addresses=(
            ExpectedAddress("Loopback0", f"{ipv4_text(switch.loopback)}/32"),
            *(_address(switch, link) for link in links if not _unnumbered(fabric, link)),
        ),
    )


def _is_upper(switch: Switch, link: Link) -> bool:
    return link.upper == switch.name


def _far_name(switch: Switch, link: Link) -> str:
    return link.lower if _is_upper(switch, link) else link.upper


def _own_port(switch: Switch, link: Link) -> SwitchPort:
    return switch.panel.ports[link.upper_port if _is_upper(switch, link) else link.lower_port]


def _unnumbered(fabric: Fabric, link: Link) -> bool:
    return fabric.policies.addressing.unnumbered and link.kind is LinkKind.LEAF_SPINE


def _far_port(fabric: Fabric, switch: Switch, link: Link) -> SwitchPort | HostPort:
    name = _far_name(switch, link)
    index = link.lower_port if _is_upper(switch, link) else link.upper_port
    far = fabric.switch_of.get(name)
    return far.panel.ports[index] if far is not None else fabric.host_of[name].ports[index]


def _neighbor(fabric: Fabric, switch: Switch, link: Link) -> ExpectedNeighbor:
    far = _far_port(fabric, switch, link)
    names = (far.name, far.alias) if isinstance(far, SwitchPort) else (far.name,)
    return ExpectedNeighbor(
        _own_port(switch, link).name, _far_name(switch, link), names, link.kind is LinkKind.LEAF_SPINE
    )


def _session(fabric: Fabric, switch: Switch, link: Link) -> ExpectedSession:
    far = fabric.switch_of[_far_name(switch, link)]
    port = _own_port(switch, link).name
    if _unnumbered(fabric, link):
        return ExpectedSession(port, far.name, far.asn, port)
    # The upper end has the even address, the lower end the odd one (RFC 3021).
    peer = link.network + 1 if _is_upper(switch, link) else link.network
    return ExpectedSession(ipv4_text(peer), far.name, far.asn, port)


def _address(switch: Switch, link: Link) -> ExpectedAddress:
    own = link.network if _is_upper(switch, link) else link.network + 1
    return ExpectedAddress(_own_port(switch, link).name, f"{ipv4_text(own)}/31")
