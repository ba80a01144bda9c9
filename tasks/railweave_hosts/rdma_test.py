"""The RDMA test between two nodes of the first batch: the commands of both ends, and what they printed."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from railweave.fabric.model import Fabric, Host
from railweave.fabric.policy import AddressFamily
from railweave.hosts.values import Rail, node_of
from railweave.units import ipv4_text, ipv6_text
from railweave_hosts.runner import NodeReading

_FIRST_PORT = 18515
"""perftest's own default; every rail has the next one."""


class Tested(NamedTuple):
    """What a test gave as a sentence, and whether it failed; one that was not made has not."""

    text: str
    failed: bool = False


def ends_of_test(fabric: Fabric, server: Host, client: Host) -> Mapping[str, dict[str, Any]]:
    """Return each node's part of the test, server first; empty where no class carries RDMA."""
    nodes = node_of(fabric, server), node_of(fabric, client)
    mark = nodes[0].marking
    if mark is None:
        return {}
    pairs = list(zip(nodes[0].rails, nodes[1].rails, strict=False))
    cables = list(zip(fabric.links_of[server.name], fabric.links_of[client.name], strict=False))
    return {
        host.name: {
            "role": role,
            "tos": mark.tos,
            "priority": mark.priority,
            "rails": [
                {
                    "name": pair[own].name,
                    "port": _FIRST_PORT + number,
                    "gid": _gid(fabric, pair[own]),
                    "peer": _peer(pair[1 - own]),
                    "link_gbps": min(link.speed_gbps for link in links),
                }
                for number, (pair, links) in enumerate(zip(pairs, cables, strict=False))
            ],
        }
        for own, (host, role) in enumerate(((server, "server"), (client, "client")))
    }


_MAPPED = 0xFFFF << 32
"""What makes an IPv6 address of an IPv4 one (RFC 4291 section 2.5.5.2)."""


def _peer(rail: Rail) -> str:
    """Return the address at which an end is found: that of IPv4, where it has one."""
    if rail.ipv4 is not None:
        return ipv4_text(rail.ipv4.address)
    return ipv6_text(rail.ipv6.address) if rail.ipv6 is not None else ""


def _gid(fabric: Fabric, rail: Rail) -> str:
    """Return the GID of the address that RDMA uses as the kernel writes it."""
    by_ipv6 = fabric.policies.hosts.rdma_family is AddressFamily.IPV6
    if by_ipv6 and rail.ipv6 is not None:
        address = rail.ipv6.address
    else:
        address = _MAPPED | rail.ipv4.address if rail.ipv4 is not None else 0
    return ":".join(f"{address >> shift & 0xFFFF:04x}" for shift in range(112, -1, -16))


def judged(readings: Sequence[NodeReading], ends: Mapping[str, dict[str, Any]], least_percent: int) -> Tested:
    """Return the result of ``ends_of_test``, given what server and client answered.

    A rail that carries less than ``least_percent`` of its link's rate fails the test.
    """
    answers = {one.name: one.facts or {"problem": one.error} for one in readings}
    missing = next(((name, one["missing"]) for name, one in answers.items() if one.get("missing")), None)
    if missing:
        return Tested(f"RDMA not tested: on {missing[0]}, {missing[1]}")
    problems = [f"{name} {one['problem']}" for name, one in answers.items() if one.get("problem")]
    between = " and ".join(answers)
    if problems:
        return Tested(f"the RDMA test between {between} failed: {'; '.join(problems)}", failed=True)
    measured = answers[readings[-1].name]["rails"]
    link_gbps = {one["name"]: one["link_gbps"] for one in ends[readings[-1].name]["rails"]}
    slow = [
        f"{one['rail']} carried {one['gbps']:g} of {link_gbps[one['rail']]} Gb/s"
        for one in measured
        if one["gbps"] * 100 < link_gbps[one["rail"]] * least_percent
    ]
    if slow:
        wanted = f"less than {least_percent} % of the link (hosts.batches.rdma_percent)"
        return Tested(f"the RDMA test between {between} failed: {', '.join(slow)}: {wanted}", failed=True)
    rails = ", ".join(
        f"{one['rail']} {one['gbps']:g} Gb/s, {one['latency_us']:g} µs (99 %: {one['p99_us']:g} µs)" for one in measured
    )
    return Tested(f"RDMA tested between {between} in the lossless class: {rails}")
