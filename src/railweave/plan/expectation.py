"""What verification must see on a device, derived from the fabric alone.

Between switches the neighbor, the link and the BGP session are required. A GPU node may be switched off: its
LLDP neighbor must be right where it is seen, and its link may be down.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from railweave.fabric.devices import Switch
from railweave.fabric.links import Link
from railweave.fabric.model import IPV6_LINK_LENGTH, Fabric
from railweave.fabric.panel import SwitchPort
from railweave.routing.instance import own_prefixes
from railweave.sonic.render.overrides import overridden_addresses
from railweave.units import ipv4_text, ipv6_text


@dataclass(frozen=True, slots=True)
class ExpectedNeighbor:
    """The far end of ``port``: LLDP may name its port by name or alias (SONiC releases differ)."""

    port: str
    device: str
    port_names: tuple[str, ...]
    required: bool


@dataclass(frozen=True, slots=True)
class ExpectedSession:
    """A BGP session that a switch must have."""

    # The neighbor's address, or our interface if the link is unnumbered.
    peer: str
    # The neighbor's name.
    device: str
    remote_asn: int
    # Our interface of the link.
    port: str = ""
    # BFD watches the session.
    bfd: bool = False
    # The neighbor is in the tier below.
    below: bool = False
    # How many IPv4 prefixes the neighbor announces as its own.
    own_prefixes: int = 0
    # A leaf, leaves that share NICs, or a pod: prefixes from one origin come from nowhere else below.
    origin: str = ""
    # The session carries IPv6 routes too.
    ipv6: bool = False
    # The timers that both ends are configured with, in seconds; 0 if unknown.
    keepalive_s: int = 0
    hold_s: int = 0


@dataclass(frozen=True, slots=True)
class ExpectedPort:
    """A used port: enabled, with this MTU; up where ``device`` at its far end must be there (``required``)."""

    port: str
    mtu_bytes: int
    device: str
    required: bool


@dataclass(frozen=True, slots=True)
class ExpectedAddress:
    """An interface's own address, ``10.0.0.1/31``, and that of IPv6, ``fd00::2/127``; empty where it has none.

    ``others`` are those that the intent's overrides add. An interface that is ``ours`` has no further ones.
    """

    port: str
    address: str
    ipv6: str = ""
    others: tuple[str, ...] = ()
    ours: bool = True

    @property
    def all(self) -> tuple[str, ...]:
        """Return the addresses that it must have."""
        return tuple(address for address in (self.address, self.ipv6, *self.others) if address)


@dataclass(frozen=True, slots=True)
class Expectation:
    """Everything that must be seen on one device."""

    device: str
    neighbors: tuple[ExpectedNeighbor, ...]
    sessions: tuple[ExpectedSession, ...]
    ports: tuple[ExpectedPort, ...]
    addresses: tuple[ExpectedAddress, ...]
    # Kinds of checks that are left out, and why.
    skipped: Mapping[str, str] = field(default_factory=dict)
    # How many IPv4 prefixes the device announces as its own.
    own_prefixes: int = 0
    # IPv4 leads to nodes, not only to other switches.
    ipv4_to_nodes: bool = True
    # FRR's lines come from the project's own template, so timers may differ from the intent's.
    own_frr: bool = False


LinkEnd = tuple[str, int]
"""The lower end of a link: a device, and the index of its port."""


@dataclass(frozen=True, slots=True)
class VerificationScope:
    """Which part of a fabric a verification expects to see; by default all of it."""

    # Kinds of checks that are left out, and why.
    skipped: Mapping[str, str] = field(default_factory=dict)
    # FRR's lines come from the project's own template, so timers may differ from the intent's.
    own_frr: bool = False
    # Links whose cables are not where they belong yet.
    pending: frozenset[LinkEnd] = frozenset()
    # These links alone, and no addresses: the proof that their cables are where they belong. None for all links.
    only: frozenset[LinkEnd] | None = None


WHOLE_FABRIC = VerificationScope()


def lower_ends(links: Collection[Link]) -> frozenset[LinkEnd]:
    """Return what names ``links`` in a ``VerificationScope``."""
    return frozenset((link.lower, link.lower_port) for link in links)


def expect(fabric: Fabric, switch: Switch, scope: VerificationScope = WHOLE_FABRIC) -> Expectation:
    """Return what a verification of ``scope`` must see on ``switch``."""
    links = fabric.links_of.get(switch.name, ())
    if scope.only is not None:
        links_in_scope = [link for link in links if (link.lower, link.lower_port) in scope.only]
        expectation = replace(_expected_of(fabric, switch, links_in_scope), addresses=())
    else:
        expectation = _expected_of(fabric, switch, links)
        cabled_links = [link for link in links if (link.lower, link.lower_port) not in scope.pending]
        if len(cabled_links) < len(links):
            expectation = _without_cables(expectation, _expected_of(fabric, switch, cabled_links))
    return replace(expectation, skipped=scope.skipped, own_frr=scope.own_frr)


def _without_cables(whole: Expectation, cabled: Expectation) -> Expectation:
    """Return what must be seen on a switch if only the links of ``cabled`` have their cables.

    ``whole`` is what must be seen once all links have them.
    """
    # A port without its cable is still enabled and has its MTU; only its link may be down.
    cabled_ports = {port.port for port in cabled.ports}
    ports = tuple(replace(port, required=port.required and port.port in cabled_ports) for port in whole.ports)
    return replace(whole, neighbors=cabled.neighbors, sessions=cabled.sessions, ports=ports)


def _expected_of(fabric: Fabric, switch: Switch, links: Sequence[Link]) -> Expectation:
    """Return what must be seen on a switch that has ``links`` and no others."""
    return Expectation(
        device=switch.name,
        neighbors=tuple(_neighbor(fabric, switch, link) for link in links),
        sessions=tuple(expected_session(fabric, switch, link) for link in links if not link.is_access),
        ports=tuple(_port(fabric, switch, link) for link in links),
        addresses=_addresses(fabric, switch, links),
        own_prefixes=len(own_prefixes(fabric, switch)),
        ipv4_to_nodes=fabric.policies.addressing.hosts is not None,
    )


def _port(fabric: Fabric, switch: Switch, link: Link) -> ExpectedPort:
    port = _own_port(switch, link).name
    # A GPU node may be switched off, so its link may be down.
    return ExpectedPort(port, fabric.policies.mtu.fabric_bytes, link.far(switch.name), not link.is_access)


def _addresses(fabric: Fabric, switch: Switch, links: Sequence[Link]) -> tuple[ExpectedAddress, ...]:
    """Return the addresses of a switch's loopback and of its interfaces on ``links``."""
    added = overridden_addresses(fabric.policies.overrides, switch)
    ports = (_address(fabric, switch, link) for link in links)
    return (
        # Operators and SONiC's own features add addresses to the loopback, so further ones there are no error.
        ExpectedAddress("Loopback0", f"{ipv4_text(switch.loopback)}/32", ours=False),
        *(replace(address, others=added.get(address.port, ())) for address in ports),
    )


def _own_port(switch: Switch, link: Link) -> SwitchPort:
    return switch.panel.ports[link.port_of(switch.name)]


def _neighbor(fabric: Fabric, switch: Switch, link: Link) -> ExpectedNeighbor:
    device = link.far(switch.name)
    far_port = fabric.ports_of[device][link.port_of(device)]
    names: tuple[str, ...] = (far_port.name,)
    if isinstance(far_port, SwitchPort):
        # lldpd announces the alias or the name of a port, depending on the SONiC release.
        names = (far_port.name, far_port.alias)
    return ExpectedNeighbor(_own_port(switch, link).name, device, names, not link.is_access)


def expected_session(fabric: Fabric, switch: Switch, link: Link) -> ExpectedSession:
    """Return the BGP session of ``switch`` over one of its fabric links."""
    far = fabric.switch_of[link.far(switch.name)]
    port = _own_port(switch, link).name
    peer = session_peer(fabric, link, far.name, port)
    policies = fabric.policies
    return ExpectedSession(
        peer=peer,
        device=far.name,
        remote_asn=far.asn,
        port=port,
        bfd=policies.bgp.bfd,
        below=link.lower == far.name,
        own_prefixes=len(own_prefixes(fabric, far)),
        origin=_origin(fabric, far),
        ipv6=policies.addressing.hosts_ipv6 is not None,
        # A keepalive interval is at most a third of the hold time (RFC 4271 section 4.4).
        keepalive_s=min(policies.bgp.keepalive_s, policies.bgp.hold_s // 3),
        hold_s=policies.bgp.hold_s,
    )


def _origin(fabric: Fabric, far: Switch) -> str:
    """Return the origin of a neighbor's routes. Neighbors that announce the same routes have the same origin."""
    if far.tier.attaches_nodes:
        # Leaves that share NICs announce the same routes.
        block = fabric.nic_blocks.get(far.name)
        return far.name if block is None else f"NICs of {block}"
    # Every spine of a pod announces the same leaves.
    return far.name if far.pod is None else f"pod {far.pod}"


def session_peer(fabric: Fabric, link: Link, far: str, port: str) -> str:
    """Return how a switch names its BGP neighbor ``far`` on a link: by its address, or by our own ``port``."""
    if fabric.is_numbered(link):
        return ipv4_text(link.address_of(far))
    # FRR: `neighbor Ethernet0 interface`, for a session over link-local IPv6 addresses (RFC 5549).
    return port


def _address(fabric: Fabric, switch: Switch, link: Link) -> ExpectedAddress:
    """Return the addresses of a switch's interface on ``link``, empty where it has none."""
    ipv4 = ""
    if fabric.is_numbered(link):
        ipv4 = f"{ipv4_text(link.address_of(switch.name))}/31"
    ipv6 = ""
    network = fabric.ipv6_network(link)
    if network is not None:
        ipv6 = f"{ipv6_text(network)}/{IPV6_LINK_LENGTH}"
    return ExpectedAddress(_own_port(switch, link).name, ipv4, ipv6)
