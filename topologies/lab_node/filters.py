"""From ACL rows to the kernel: a text of ``nft`` that filters what comes in on ports as orchagent's tables do.

Each ACL table is a chain that its ports jump to; the highest priority comes first, and what no rule matches passes. The
text replaces the whole table ``inet railweave`` in one transaction, so that no packet meets half of it. Packets to the
switch itself are filtered too, as an ASIC filters them; ARP is no IP and passes.
"""

import re
from collections.abc import Iterator, Mapping

Rows = Mapping[str, Mapping[str, str]]

_TABLE = "inet railweave"
_FAMILIES = {"IPV4ANY": ("ipv4",), "IPV4": ("ipv4",), "IPV6ANY": ("ipv6",), "IPV6": ("ipv6",)}
_MATCHES = {
    "SRC_IP": "ip saddr {}",
    "DST_IP": "ip daddr {}",
    "SRC_IPV6": "ip6 saddr {}",
    "DST_IPV6": "ip6 daddr {}",
    "IP_PROTOCOL": "meta l4proto {}",
    "NEXT_HEADER": "meta l4proto {}",
    "L4_SRC_PORT": "th sport {}",
    "L4_DST_PORT": "th dport {}",
    "ICMP_TYPE": "icmp type {}",
    "ICMPV6_TYPE": "icmpv6 type {}",
}
_OF_FAMILY = {"SRC_IP": "ipv4", "DST_IP": "ipv4", "ICMP_TYPE": "ipv4",
              "SRC_IPV6": "ipv6", "DST_IPV6": "ipv6", "ICMPV6_TYPE": "ipv6"}  # fmt: skip
_DSCP = {"ipv4": "ip dscp {}", "ipv6": "ip6 dscp {}"}
_VERDICTS = {"FORWARD": "return", "DROP": "drop"}
_NO_MATCHES = frozenset({"PRIORITY", "PACKET_ACTION", "IP_TYPE", "RULE_DESCRIPTION", "IN_PORTS", "DSCP"})
_VALUE = re.compile(r"[0-9A-Fa-f:./x]+")
_PORT = re.compile(r"[A-Za-z0-9_.-]+")


def ruleset(rows: Rows) -> str:
    """Return the text that makes the kernel filter as the ACL tables say; without tables it filters nothing."""
    tables = {key.partition("|")[2]: row for key, row in rows.items() if key.startswith("ACL_TABLE|")}
    lines = [f"table {_TABLE}", f"delete table {_TABLE}", f"table {_TABLE} {{"]
    jumps: list[str] = []
    for name, table in sorted(tables.items()):
        ports = _ports(table.get("ports@", table.get("ports", "")))
        # Tables of the control plane are iptables' on a switch.
        filters_ports = table.get("type") != "CTRLPLANE" and table.get("stage", "ingress").lower() == "ingress"
        if not filters_ports or not ports:
            continue
        chain_name = "acl_" + re.sub(r"\W", "_", name)
        lines += [f" chain {chain_name} {{", *_rules(rows, name), " }"]
        jumps.append(f"  iifname {ports} jump {chain_name}")
    # Before connections are tracked and routes are looked up.
    lines += [" chain ports {", "  type filter hook prerouting priority raw; policy accept;", *jumps, " }", "}"]
    return "\n".join(lines) + "\n"


def _rules(rows: Rows, table: str) -> Iterator[str]:
    """Yield the lines of a table's rules, the highest priority first."""
    start = f"ACL_RULE|{table}|"
    keys = [key for key in rows if key.startswith(start)]
    for key in sorted(keys, key=lambda key: (-int(rows[key].get("PRIORITY", "0")), key)):
        yield from _rule(rows[key])


def _rule(row: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each IP family of a rule; none for a rule with a match or an action that is unknown here."""
    verdict = _VERDICTS.get(row.get("PACKET_ACTION", ""))
    matches = {name: value for name, value in row.items() if name not in _NO_MATCHES}
    is_known = all(name in _MATCHES and _VALUE.fullmatch(value) for name, value in matches.items())
    if verdict is None or not is_known:
        return
    conditions = [_MATCHES[name].format(value) for name, value in sorted(matches.items())]
    families_of_matches = {_OF_FAMILY[name] for name in matches if name in _OF_FAMILY}
    for family in _FAMILIES.get(row.get("IP_TYPE", "ANY").upper(), ("ipv4", "ipv6")):
        # A packet of this family cannot match a condition on the other one.
        if families_of_matches - {family}:
            continue
        words = [f"meta nfproto {family}", *conditions]
        if "DSCP" in row:
            words.append(_DSCP[family].format(int(row["DSCP"])))
        if "IN_PORTS" in row:
            words.insert(0, f"iifname {_ports(row['IN_PORTS'])}")
        yield f"  {' '.join(words)} {verdict}"


def _ports(text: str) -> str:
    """Return the set of interfaces of a comma-separated list, as nft writes it; empty without a valid name."""
    names = sorted(filter(_PORT.fullmatch, text.split(",")))
    if not names:
        return ""
    return "{ " + ", ".join(f'"{name}"' for name in names) + " }"
