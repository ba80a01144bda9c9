"""The ACL that keeps tenants apart: on the ports of nodes, what a node may send, and nothing else.

One table is bound to all node ports of a leaf, so that a node that changes its tenant changes rules and no binding: a
port is never without a filter, and orchagent removes a table before it binds it anew (sonic-swss orchagent/aclorch.cpp
updateAclTable). A rule matches the ports of a tenant's nodes, the prefix of their own addresses and a prefix that they
reach; IN_PORTS keeps a node from sending in the name of another tenant. Whatever no rule matches is dropped, also
towards the addresses of switches: of these a node reaches the leaf's end of its tenant's links alone. Every packet
enters the fabric through a node port, so no filter at egress is needed.

The key of a rule follows from what it matches: orchagent replaces a rule whose fields change by removing it first, so a
changed rule is another rule, which is added before the old one goes. ``acl-loader`` counts priorities down from 10,000,
so that its rules come before ours, and gives its default rule 1, in tables of SONiC's own types alone (sonic-utilities
acl_loader/main.py, convert_rule_to_db_schema and deny_rule); orchagent tries the highest first.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from operator import attrgetter
from typing import NamedTuple

from railweave.fabric.devices import Switch
from railweave.fabric.tenants import IPV4_BITS, PrefixText, Source, Tenancy, prefix_text
from railweave.sonic.acl import ICMP, NEEDED_ICMP6, ROCE_PORT, UDP
from railweave.sonic.ownership import TENANT_DENY, TENANT_FILTERS, tenant_filter
from railweave.sonic.rows import Fields, Row

_WHY = "Nodes reach their own tenant and those that it reaches, and nothing else (tenants; check RW140)."
_WHY_RULE = "{} (tenants)."

_LINK_PRIORITY = 50
_MARKED_PRIORITY = 40
_GUARD_PRIORITY = 30
_REACH_PRIORITY = 20
_DENY_PRIORITY = 1

# Neighbor discovery: link-local and multicast addresses of the link, which are never routed (RFC 4291).
_LINK_SCOPES = (("link-local", "fe80::/10"), ("link-multicast", "ff02::/16"))


class _FamilyFields(NamedTuple):
    """The fields of a rule that compare addresses of one family, and the family's IP_TYPE."""

    source: str
    destination: str
    ip_type: str


_IPV4_FIELDS = _FamilyFields("SRC_IP", "DST_IP", "IPV4ANY")
_IPV6_FIELDS = _FamilyFields("SRC_IPV6", "DST_IPV6", "IPV6ANY")
# What nodes may send with the notifications' code point (``edge_guard``); they have no BGP sessions across tenants.
_MARKED = (
    ("icmp", {"IP_PROTOCOL": str(ICMP)}),
    ("roce", {"IP_PROTOCOL": str(UDP), "L4_DST_PORT": str(ROCE_PORT)}),
)
_MARKED_IPV6 = (
    *((f"icmp6-{kind}", {"ICMPV6_TYPE": str(kind)}) for kind in NEEDED_ICMP6),
    ("roce", {"L4_DST_PORT": str(ROCE_PORT)}),
)
_REACH_MATCHES = ("DST_IP", "IN_PORTS", "IP_TYPE", "SRC_IP")
_REACH_MATCHES_IPV6 = ("DST_IPV6", "SRC_IPV6")
_GUARD_MATCHES = ("DSCP", "IP_PROTOCOL", "L4_DST_PORT")


def tenant_filter_rows(
    tenancy: Tenancy, leaf: Switch, guarded: Sequence[int], *, has_ipv6: bool, ports: Sequence[str]
) -> Iterator[Row]:
    """Yield the rows of a leaf's filter; none without node ports.

    ``guarded`` are the code points of the edge guard, empty without one. ``has_ipv6`` tells that nodes send IPv6, and
    ``ports`` are the leaf's node ports.
    """
    if not ports:
        return
    name = tenant_filter(guards=bool(guarded), has_ipv6=has_ipv6)
    matches = [*_REACH_MATCHES]
    if has_ipv6:
        matches += _REACH_MATCHES_IPV6
    if guarded:
        matches += _GUARD_MATCHES
    if guarded and has_ipv6:
        matches.append("ICMPV6_TYPE")
    table_type = {"ACTIONS": ("PACKET_ACTION",), "BIND_POINTS": ("PORT",), "MATCHES": tuple(sorted(matches))}
    yield Row("ACL_TABLE_TYPE", name, table_type, _WHY)
    table: Fields = {"policy_desc": "tenants", "ports": tuple(ports), "stage": "ingress", "type": name}
    yield Row("ACL_TABLE", name, table, _WHY)
    rules = list(_rules(tenancy, leaf, name, guarded, has_ipv6=has_ipv6))
    # In the order of their names, the last one drops: nothing is dropped before all else is allowed.
    rules.sort(key=attrgetter("key"))
    yield from rules


def rule_tenants(table: str, key: str) -> tuple[str, str] | None:
    """Return the tenant whose nodes a rule of this filter lets send, and the tenant that they reach.

    None for the other rules of the filter, and for all other rows.
    """
    acl, _, name = key.partition("|")
    if table != "ACL_RULE" or acl not in TENANT_FILTERS:
        return None
    match name.split("."):
        case ["allow", tenant, reached, *_]:
            return tenant, reached
    return None


def rule_count(tenancy: Tenancy, leaf: Switch, guarded: Sequence[int], *, has_ipv6: bool) -> int:
    """Return the number of rules that ``tenant_filter_rows`` yields for a leaf with node ports, without making them."""
    count = 1 + len(guarded)
    if has_ipv6:
        count += len(_LINK_SCOPES)
    texts = tenancy.texts(leaf)
    for tenant, sources in tenancy.sources(leaf).items():
        for source in sources:
            bits = source.prefix.bits
            prefixes = sum(len(texts[reached].get(bits, ())) for reached in tenancy.reach[tenant])
            count += prefixes * (1 + len(guarded) * len(_marked_packets(bits)))
    return count


def _rules(tenancy: Tenancy, leaf: Switch, table: str, guarded: Sequence[int], *, has_ipv6: bool) -> Iterator[Row]:
    """Yield the rules of a leaf's filter, which is named ``table``, in no particular order."""
    texts = tenancy.texts(leaf)
    for tenant, sources in tenancy.sources(leaf).items():
        for reached in tenancy.reach[tenant]:
            about = f"Nodes of {tenant} at this leaf reach those of {reached}"
            name_start = f"{table}|allow.{tenant}.{reached}"
            for source in sources:
                yield from _reach_rules(leaf, source, name_start, texts[reached], guarded, about)
    for dscp in guarded:
        drop = {"DSCP": str(dscp), "PACKET_ACTION": "DROP", "PRIORITY": str(_GUARD_PRIORITY)}
        about = "Only notifications and ICMP may use the strict queue from node ports"
        yield Row("ACL_RULE", f"{table}|{TENANT_DENY}-{dscp}", drop, _WHY_RULE, about)
    if has_ipv6:
        for scope, scope_prefix in _LINK_SCOPES:
            fields = {"DST_IPV6": scope_prefix, "IP_TYPE": "IPV6ANY", **_forward(_LINK_PRIORITY)}
            yield Row("ACL_RULE", f"{table}|allow-{scope}", fields, _WHY_RULE, "Neighbor discovery stays on the link")
    # ARP and LLDP are not IP and pass.
    deny = {"IP_TYPE": "IP", "PACKET_ACTION": "DROP", "PRIORITY": str(_DENY_PRIORITY)}
    yield Row("ACL_RULE", f"{table}|{TENANT_DENY}", deny, _WHY_RULE, "Whatever no rule lets pass is dropped")


def _reach_rules(
    leaf: Switch,
    source: Source,
    name_start: str,
    texts: Mapping[int, Sequence[PrefixText]],
    guarded: Sequence[int],
    about: str,
) -> list[Row]:
    """Return the rules that let one source send to the prefixes of a tenant.

    ``texts`` are these prefixes by family, given by the bits of an address. The keys of the rules begin with
    ``name_start``, and ``about`` says in words what the rules are for.
    """
    # A fabric has some hundred thousand of these rules, so the fields that they share are made once.
    bits = source.prefix.bits
    family = _IPV4_FIELDS if bits == IPV4_BITS else _IPV6_FIELDS
    ports = ",".join(leaf.panel.ports[port].name for port in source.ports)
    shared_fields = {
        family.destination: "",
        family.source: str(source.prefix),
        "IN_PORTS": ports,
        "IP_TYPE": family.ip_type,
    }
    # The fields of the rules for each prefix by the ends of their keys.
    fields_by_suffix = {"": {**shared_fields, **_forward(_REACH_PRIORITY)}}
    for dscp, (packet, packet_fields) in product(guarded, _marked_packets(bits)):
        marked_fields = {**shared_fields, "DSCP": str(dscp), **packet_fields, **_forward(_MARKED_PRIORITY)}
        fields_by_suffix[f".{dscp}-{packet}"] = marked_fields
    start_of_source = f"{name_start}.{prefix_text(source.prefix).word}."
    rules = []
    for text, word in texts.get(bits, ()):
        for suffix, template in fields_by_suffix.items():
            # To copy a mapping that has all keys takes half the time of making a new one.
            fields = template.copy()
            fields[family.destination] = text
            rules.append(Row("ACL_RULE", f"{start_of_source}{word}{suffix}", fields, _WHY_RULE, about))
    return rules


def _marked_packets(bits: int) -> tuple[tuple[str, dict[str, str]], ...]:
    """Return the packets that nodes may send with a guarded code point in one family: their names and fields."""
    if bits == IPV4_BITS:
        return _MARKED
    return _MARKED_IPV6


def _forward(priority: int) -> dict[str, str]:
    """Return the fields with which a rule of this priority forwards packets."""
    return {"PACKET_ACTION": "FORWARD", "PRIORITY": str(priority)}
