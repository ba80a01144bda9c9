"""The priorities of ``acl-loader`` beside ours: its rules come first in the order of their sequence numbers.

``PRIORITY`` is 10,000 less the sequence number, so the entry that OpenConfig tries first has the highest one; the
default rule gets 1, in tables of the types L3, L3V6 and L3V4V6 alone (sonic-utilities acl_loader/main.py:
convert_rule_to_db_schema, deny_rule). What it adds to the tenants' table is thus compared before every rule of ours.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from sim_switches import sim_device

from lab_node.filters import ruleset
from railweave.api.design.intent import design_text
from railweave.fabric.policy import parse_pool
from railweave.fabric.tenants import Tenancy
from railweave.sonic.isolation import Isolation, LeafFilters
from railweave.sonic.render.configure import configure
from railweave.sonic.rows import ConfigDb
from railweave.templates import find_templates
from sonic_sim.acl import Flow, drops
from sonic_sim.clock import Clock
from sonic_sim.device import Device, Fabric

MAX_PRIORITY = 10_000
TABLE = "RAILWEAVE_TENANTS"
PORT = "Ethernet0"
ADDRESSES = ("10.0.0.1", "10.0.0.2", "10.0.1.1")
PREFIXES = ("10.0.0.1/32", "10.0.0.0/24", "10.0.0.0/16", "10.0.1.0/24")


class Entry(NamedTuple):
    """An ACL entry of OpenConfig."""

    sequence_id: int
    source: str
    destination: str
    accepts: bool


entries_of_a_set = st.lists(
    st.builds(Entry, st.integers(1, 9_999), st.sampled_from(PREFIXES), st.sampled_from(PREFIXES), st.booleans()),
    max_size=6,
    unique_by=lambda entry: entry.sequence_id,
)


def loaded(entries: Sequence[Entry]) -> dict[str, dict[str, str]]:
    """Return the rules that acl-loader makes of entries for the tenants' table, which gets no default rule."""
    actions = {True: "FORWARD", False: "DROP"}
    return {
        f"{TABLE}|RULE_{entry.sequence_id}": {
            "PRIORITY": str(MAX_PRIORITY - entry.sequence_id),
            "PACKET_ACTION": actions[entry.accepts],
            "SRC_IP": entry.source,
            "DST_IP": entry.destination,
        }
        for entry in entries
    }


def accepted(entries: Sequence[Entry], source: str, destination: str) -> bool:
    """Tell what OpenConfig says: the entry with the lowest sequence number that matches decides; without one it passes
    here."""
    for entry in sorted(entries):
        if holds(entry.source, source) and holds(entry.destination, destination):
            return entry.accepts
    return True


def holds(prefix: str, address: str) -> bool:
    return parse_pool(prefix).holds(parse_pool(f"{address}/32"))


def simulated(rules: Mapping[str, Mapping[str, str]]) -> Device:
    device = Device(sim_device("leaf1", 1), Clock(0.0))
    device.install()
    Fabric().add_device(device)
    device.db.put(f"ACL_TABLE|{TABLE}", {"type": TABLE, "stage": "ingress", "ports@": PORT})
    for key, row in rules.items():
        device.db.put(f"ACL_RULE|{key}", row)
    return device


@given(entries_of_a_set)
def test_model_and_simulator_try_rules_in_the_order_of_acl_loaders_sequence_numbers(entries: list[Entry]) -> None:
    rules = loaded(entries)
    filters = LeafFilters({"ACL_TABLE": {TABLE: {"stage": "ingress", "ports": (PORT,)}}, "ACL_RULE": rules})
    device = simulated(rules)
    for source in ADDRESSES:
        for destination in ADDRESSES:
            expected = accepted(entries, source, destination)
            pools = [parse_pool(f"{address}/32") for address in (source, destination)]
            assert filters.passes(PORT, *pools) == expected
            assert drops(device, PORT, Flow(source, destination, 17, 50_000, 4791)) != expected


@given(entries_of_a_set)
def test_a_lab_node_tells_the_kernel_the_same_order(entries: list[Entry]) -> None:
    table = {f"ACL_TABLE|{TABLE}": {"type": TABLE, "stage": "ingress", "ports@": PORT}}
    text = ruleset({**table, **{f"ACL_RULE|{key}": row for key, row in loaded(entries).items()}})
    lines = [line.split() for line in text.splitlines() if "saddr" in line]
    verdicts = {True: "return", False: "drop"}
    told = [(words[words.index("saddr") + 1], words[words.index("daddr") + 1], words[-1]) for words in lines]
    assert told == [(entry.source, entry.destination, verdicts[entry.accepts]) for entry in sorted(entries)]


INTENT = """\
fabric: pod
workload: {kind: inference}
nodes: [{name: gpu, count: 4, gpus: 2, nics: {count: 2, speed: 100G, model: connectx-6}}]
sonic: {acl_rules: 64}
edge_guard: true
topology:
  rails: 2
  stripe: 4
  oversubscription: "4:1"
  leaf: {model: sonic-vs, uplink_speed: 100G, downlink_speed: 100G}
  spine: {model: sonic-vs, count: 1}
tenants: [{name: a, nodes: gpu1-2}, {name: b, nodes: gpu3-4}]
"""


def test_a_rule_of_acl_loader_comes_before_all_of_ours_and_is_found_as_a_path() -> None:
    fabric = design_text(INTENT, "pod.yml").fabric
    leaf = fabric.switches[0]
    tables: ConfigDb = configure(fabric, leaf, find_templates()).config_db()
    (name,) = tables["ACL_TABLE"]
    ours = tables["ACL_RULE"]
    priorities = {int(str(row["PRIORITY"])) for row in ours.values()}
    # Of the sequence numbers that acl-loader takes, those of OpenConfig's examples and far beyond.
    assert max(priorities) < MAX_PRIORITY - 9_000
    assert min(priorities) == 1, "the rule that drops is as low as acl-loader's default"
    rule = {"PRIORITY": "9990", "PACKET_ACTION": "FORWARD", "SRC_IP": "10.32.0.0/31", "DST_IP": "10.32.0.4/31"}
    opened = {**tables, "ACL_RULE": {**ours, f"{name}|RULE_10": rule}}
    isolation = Isolation(fabric, Tenancy(fabric))
    assert not isolation.leaks(leaf, tables)
    leak = isolation.leaks(leaf, opened)[0]
    assert (leak.path, leak.cause) == ("nodes of a reach nodes of b", f"rule {name}|RULE_10 at {leak.port}")
