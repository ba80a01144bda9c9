"""The readings of a GPU node as facts of ``check --facts``: one object of interfaces, sysctls and NCCL's variables."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from railweave.catalog.load import load_catalog
from railweave.hosts.values import tos_of

Read = Mapping[str, Any]

# PCIe generations by the GT/s in the kernel's current_link_speed.
_GENERATIONS = {"2.5": 1, "5.0": 2, "8.0": 3, "16.0": 4, "32.0": 5, "64.0": 6}

# SONiC's words by ethtool's for the active FEC encoding.
_FEC = {"rs": "rs", "baser": "fc", "none": "none", "off": "none"}

# What a tool did not show, or showed empty.
_UNKNOWN: tuple[object, ...] = (None, "", {})
_ON_WORDS = {"1", "on", "true", "yes", "enable", "enabled"}


# What the kernel invents for an interface without hardware: 10 Gb/s for a veth (Linux, drivers/net/veth.c).
_OF_HARDWARE = ("speed_gbps", "autoneg", "fec", "pcie")


def node_facts(read: Read, vendor: str | None, *, has_nics: bool = True) -> dict[str, Any]:
    """Return the facts of a node from ``read``, the reading of its program; what it did not read is left out.

    ``vendor`` is that of its NICs. Without ``has_nics`` its interfaces have no hardware, and what the kernel says about
    hardware is left out.
    """
    facts: dict[str, Any] = {}
    if "interfaces" in read:
        nics = {name: _nic(interface, vendor) for name, interface in read["interfaces"].items()}
        if not has_nics:
            for nic in nics.values():
                for key in _OF_HARDWARE:
                    nic.pop(key, None)
        facts["nics"] = nics
    for key in ("nccl", "sysctl"):
        if key in read:
            facts[key] = dict(read[key])
    return facts


def _nic(interface: Read, vendor: str | None) -> dict[str, Any]:
    """Return the facts of an interface; what was not read is left out."""
    facts: dict[str, Any] = {
        "mtu": interface.get("mtu"),
        "addresses": interface.get("addresses"),
        "tables": _tables(interface.get("rules")),
        "rule_priorities": _priorities_of_rules(interface.get("rules")),
        "ipv6_addresses": interface.get("ipv6_addresses"),
        "ipv6_tables": _tables(interface.get("ipv6_rules")),
        "ipv6_rule_priorities": _priorities_of_rules(interface.get("ipv6_rules")),
        "speed_gbps": _speed_gbps(interface.get("speed_mbps")),
        "autoneg": interface.get("autoneg"),
        "state": interface.get("state"),
        "routes": interface.get("routes"),
        "ipv6_routes": interface.get("ipv6_routes"),
        "fec": _FEC.get(str(interface.get("fec", "")).lower()),
        "pcie": _slot(interface.get("pcie_speed"), interface.get("pcie_width")),
    }
    if vendor is not None:
        settings = interface.get("settings", {})
        facts |= _settings(settings, vendor)
        facts["settings"] = _other_settings(settings, vendor) or None
    # Null would mean that a value is not set.
    return {key: value for key, value in facts.items() if value is not None}


def _tables(rules: Iterable[Read] | None) -> list[int] | None:
    """Return the numbers of the tables that rules lead to; tables with names are left out. None if nothing was read."""
    if rules is None:
        return None
    return [int(rule["table"]) for rule in rules if str(rule["table"]).isdigit()]


def _priorities_of_rules(rules: Iterable[Read] | None) -> list[int] | None:
    """Return the priorities of rules; None if they were not read, or if one has none."""
    if rules is None or not all("priority" in rule for rule in rules):
        return None
    return [int(rule["priority"]) for rule in rules]


def _speed_gbps(mbps: object) -> int | None:
    """Return the kernel's speed of a port in Gb/s; None without a link."""
    # The kernel shows -1 for a port without a link.
    if isinstance(mbps, str) and mbps.isdigit():
        return int(mbps) // 1000
    return None


def _slot(speed: object, width: object) -> str | None:
    """Return the catalog's name of a slot, ``gen5x16`` for ``32.0 GT/s PCIe`` and ``16``; None if one is unknown."""
    generation = _GENERATIONS.get(str(speed or "").partition(" ")[0])
    if generation is None or not str(width or "").isdigit():
        return None
    return f"gen{generation}x{width}"


def _settings(settings: Read, vendor: str) -> dict[str, Any]:
    """Return the facts of those settings that have a fact of their own."""
    facts: dict[str, Any] = {}
    for pack_name, source in load_catalog().vendor_pack(vendor).facts.items():
        value = settings.get(source["what"])
        if value in _UNKNOWN:
            continue
        if isinstance(value, str):
            # A tool's own word for a value; without one the value stays as it is.
            value = source.get("values", {}).get(value, value)
        form = _fact_form(pack_name)
        facts[form.name] = form.parse(value)
    return {key: value for key, value in facts.items() if value is not None}


def _other_settings(settings: Read, vendor: str) -> dict[str, Any]:
    """Return the settings without a fact of their own, by the names of the pack's reads."""
    with_fact = {source["what"] for source in load_catalog().vendor_pack(vendor).facts.values()}
    return {name: value for name, value in settings.items() if name not in with_fact and value not in _UNKNOWN}


def _number(value: object) -> int | None:
    if isinstance(value, str) and value.isdigit():
        return int(value)
    return None


def _tos(value: object) -> int | None:
    dscp = _number(value)
    if dscp is None:
        return None
    return tos_of(dscp)


def _priorities(value: object) -> list[int] | None:
    """Return the priorities that are on, given as ``0 0 0 1 …`` or as a map from priorities to words."""
    words: Mapping[Any, Any]
    if isinstance(value, Mapping):
        words = value
    else:
        words = dict(enumerate(str(value).split()))
    return sorted(int(priority) for priority, word in words.items() if str(word).lower() in _ON_WORDS)


def _number_map(value: object) -> dict[str, int] | None:
    """Return a map from numbers to numbers, without its other entries; None for another value."""
    if not isinstance(value, Mapping):
        return None
    return {str(key): int(entry) for key, entry in value.items() if str(key).isdigit() and str(entry).isdigit()}


class _FactForm(NamedTuple):
    """The name of a fact in the document, and how its value is parsed."""

    name: str
    parse: Callable[[object], object]


# By the names in the vendors' packs; all other facts are words.
_FACT_FORMS: Mapping[str, _FactForm] = {
    "pfc": _FactForm("pfc", _priorities),
    "dscp_to_priority": _FactForm("dscp_to_priority", _number_map),
    "roce_tos": _FactForm("roce_tos", _number),
    # A driver that adds ECT(0) itself takes the bare code point.
    "roce_dscp": _FactForm("roce_tos", _tos),
    "cnp_dscp": _FactForm("cnp_dscp", _number),
}


def _fact_form(pack_name: str) -> _FactForm:
    return _FACT_FORMS.get(pack_name, _FactForm(pack_name, str))


def readable_facts(vendor: str | None) -> frozenset[str]:
    """Return the facts of RDMA settings that a vendor's tools show, by their names in the document."""
    if not vendor:
        return frozenset()
    return frozenset(_fact_form(pack_name).name for pack_name in load_catalog().vendor_pack(vendor).facts)
