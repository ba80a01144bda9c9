"""The RDMA test between two nodes of the first batch: the commands of both ends, and what they printed."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from railweave.fabric.devices import Host
from railweave.fabric.model import Fabric
from railweave.fabric.policy import AddressFamily
from railweave.hosts.values import Rail, node_of
from railweave.units import ipv4_text, ipv6_text
from railweave_hosts.runner import NodeReading

# perftest's own default; every rail has the next one.
_FIRST_PORT = 18515


class Tested(NamedTuple):
    """The result of a test as a sentence, empty if no class carries RDMA; a test that was not run has not failed."""

    text: str
    failed: bool = False


def ends_of_test(fabric: Fabric, server: Host, client: Host) -> Mapping[str, dict[str, Any]]:
    """Return each node's part of the test by name, the server's first; empty if no class carries RDMA."""
    server_node = node_of(fabric, server)
    client_node = node_of(fabric, client)
    mark = server_node.marking
    if mark is None:
        return {}
    link_pairs = zip(fabric.links_of[server.name], fabric.links_of[client.name], strict=False)
    # A rail can carry no more than the slower of its two links.
    links_gbps = [min(server_link.speed_gbps, client_link.speed_gbps) for server_link, client_link in link_pairs]
    server_rails = []
    client_rails = []
    # Nodes of two kinds may differ in their number of rails; the test covers the rails that both have.
    rails = zip(server_node.rails, client_node.rails, links_gbps, strict=False)
    for number, (server_rail, client_rail, link_gbps) in enumerate(rails):
        server_rails.append(_rail_end(fabric, number, server_rail, client_rail, link_gbps))
        client_rails.append(_rail_end(fabric, number, client_rail, server_rail, link_gbps))
    return {
        server.name: {"role": "server", "tos": mark.tos, "priority": mark.priority, "rails": server_rails},
        client.name: {"role": "client", "tos": mark.tos, "priority": mark.priority, "rails": client_rails},
    }


def _rail_end(fabric: Fabric, number: int, own: Rail, peer: Rail, link_gbps: int) -> dict[str, Any]:
    """Return one node's part of the test of rail ``number``; ``link_gbps`` is the rate that the rail can carry."""
    return {
        "name": own.name,
        "port": _FIRST_PORT + number,
        "gid": _gid(fabric, own),
        "peer": _peer_address(peer),
        "link_gbps": link_gbps,
    }


# The prefix of IPv4-mapped IPv6 addresses (RFC 4291 section 2.5.5.2).
_MAPPED = 0xFFFF << 32


def _peer_address(rail: Rail) -> str:
    """Return the address under which the other node reaches a rail: the IPv4 address if there is one."""
    if rail.ipv4 is not None:
        return ipv4_text(rail.ipv4.address)
    if rail.ipv6 is not None:
        return ipv6_text(rail.ipv6.address)
    return ""


def _gid(fabric: Fabric, rail: Rail) -> str:
    """Return the GID of the address that RDMA uses, in the notation of ``/sys/class/infiniband``."""
    uses_ipv6 = fabric.policies.hosts.rdma_family is AddressFamily.IPV6
    if uses_ipv6 and rail.ipv6 is not None:
        address = rail.ipv6.address
    elif rail.ipv4 is not None:
        address = _MAPPED | rail.ipv4.address
    else:
        address = 0
    return ":".join(f"{address >> shift & 0xFFFF:04x}" for shift in range(112, -1, -16))


def judged(readings: Sequence[NodeReading], ends: Mapping[str, dict[str, Any]], least_percent: int) -> Tested:
    """Return the result of a test from what server and client answered; ``ends`` is that of ``ends_of_test``.

    A rail that carries less than ``least_percent`` of its link's rate fails the test.
    """
    answers = {reading.name: reading.facts or {"problem": reading.error} for reading in readings}
    problems: list[str] = []
    for name, answer in answers.items():
        if answer.get("missing"):
            return Tested(f"RDMA not tested: on {name}, {answer['missing']}")
        if answer.get("problem"):
            problems.append(f"{name} {answer['problem']}")
    between = " and ".join(answers)
    if problems:
        return Tested(f"the RDMA test between {between} failed: {'; '.join(problems)}", failed=True)
    # The client measures; it is the last of the readings.
    client = readings[-1].name
    return _judged_rails(answers[client]["rails"], ends[client]["rails"], between, least_percent)


def _judged_rails(
    results: Sequence[Mapping[str, Any]], rails_of_end: Sequence[Mapping[str, Any]], between: str, least_percent: int
) -> Tested:
    """Return the result of a test in which both nodes measured: it fails if a rail was too slow.

    ``results`` are the client's measurements, ``rails_of_end`` the rails of its part of the test with the rates of
    their links. ``between`` names the two nodes.
    """
    link_gbps = {rail["name"]: rail["link_gbps"] for rail in rails_of_end}
    measurements: list[str] = []
    slow_rails: list[str] = []
    for result in results:
        rail = result["rail"]
        gbps = result["gbps"]
        measurements.append(f"{rail} {gbps:g} Gb/s, {result['latency_us']:g} µs (99 %: {result['p99_us']:g} µs)")
        if gbps * 100 < link_gbps[rail] * least_percent:
            slow_rails.append(f"{rail} carried {gbps:g} of {link_gbps[rail]} Gb/s")
    if slow_rails:
        limit = f"less than {least_percent} % of the link (hosts.batches.rdma_percent)"
        return Tested(f"the RDMA test between {between} failed: {', '.join(slow_rails)}: {limit}", failed=True)
    return Tested(f"RDMA tested between {between} in the lossless class: {', '.join(measurements)}")
