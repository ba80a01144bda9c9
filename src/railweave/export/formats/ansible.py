"""An inventory of Ansible: switches by role, nodes by kind and stripe, with their addresses as variables."""

from typing import Any

from railweave.export.model import ExportFormat, ExportSource, demand, header
from railweave.export.names import GROUP, collisions, name_faults
from railweave.export.yaml_text import yaml_text
from railweave.fabric.devices import Switch
from railweave.units import ipv4_text, ipv6_text

_ABOUT = "inventory of Ansible; addresses of management are those of your own inventory"


def _write(source: ExportSource) -> str:
    """Return the inventory: all nodes with their variables, then the groups of switches and of nodes."""
    # By the name of a group, its hosts with their variables; and each group's name beside what it stands for.
    groups: dict[str, dict[str, Any]] = {}
    meanings: list[tuple[str, str]] = []
    for fabric in source.fabrics:
        for switch in fabric.switches:
            group = _group(f"{fabric.name}_{switch.tier.name}")
            meanings.append((f"{fabric.name} {switch.tier.name}", group))
            groups.setdefault(group, {})[switch.name] = _switch_variables(switch)
    for fabric in source.fabrics:
        for host in fabric.hosts:
            group = _group(f"nodes_{host.kind}")
            meanings.append((f"nodes {host.kind}", group))
            # The variables of nodes, which may be in several fabrics, are below `all`.
            groups.setdefault(group, {})[source.node(host.name)] = {}
    fix = "rename the fabric or the entry in `nodes`"
    faults = name_faults([group for _, group in meanings], GROUP, "group", source.top, fix)
    demand([*faults, *collisions(dict.fromkeys(meanings), "the groups", source.top, fix)])
    children = {group: {"hosts": hosts} for group, hosts in sorted(groups.items())}
    document = {"all": {"hosts": _nodes(source), "children": children}}
    return header(source, _ABOUT) + yaml_text(document)


def _group(name: str) -> str:
    # Ansible replaces other characters in names of groups, with a warning for each.
    return name.replace("-", "_")


def _switch_variables(switch: Switch) -> dict[str, Any]:
    """Return the variables of a switch; it has a stripe, rail or pod only if it serves a single one."""
    variables: dict[str, Any] = {
        "railweave_role": switch.tier.name,
        "railweave_plane": switch.plane,
        "railweave_asn": switch.asn,
        "railweave_loopback": ipv4_text(switch.loopback),
    }
    for name, value in (("stripe", switch.stripe), ("rail", switch.rail), ("pod", switch.pod)):
        if value is not None:
            variables[f"railweave_{name}"] = value
    return variables


def _nodes(source: ExportSource) -> dict[str, dict[str, Any]]:
    """Return the variables of every node; interfaces of all fabrics together."""
    nodes: dict[str, dict[str, Any]] = {}
    for fabric in source.fabrics:
        for host in fabric.hosts:
            path = source.topology.path_of.get(host.name, ())
            variables = nodes.setdefault(
                source.node(host.name),
                {"railweave_groups": [group.name for group in path], "railweave_interfaces": {}},
            )
            for rail in source.settings(fabric, host).rails:
                interface = {"switch": rail.switch, "mtu": fabric.policies.mtu.hosts_bytes}
                if rail.ipv4 is not None:
                    interface["ipv4"] = f"{ipv4_text(rail.ipv4.address)}/31"
                if rail.ipv6 is not None:
                    interface["ipv6"] = f"{ipv6_text(rail.ipv6.address)}/127"
                variables["railweave_interfaces"][rail.name] = interface
    return nodes


FORMAT = ExportFormat("ansible", "Ansible: an inventory of switches and nodes", "inventory.yml", _write)
