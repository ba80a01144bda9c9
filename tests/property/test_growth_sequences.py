"""Growth in sequences: kinds of nodes of two generations, storage on their leaves, leaves of two models and speeds, out
of one switch into two tiers and into three. What runs keeps its names, AS numbers, addresses, ports and cables, or the
change is refused, with the line that keeps it where an automatic value is the reason."""

import copy
import re
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml
from designed_fabrics import CATALOG, check_nothing_is_given_twice
from growing_intents import NOT_OF_PORTS, Document, Step, starts, stated_keys, steps
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from schema_leaves import leaves, with_values

from railweave import api
from railweave.checks.intent import check_intent
from railweave.checks.rules.rw305_fixed_ends import fixed_ends
from railweave.design.build import countable, design
from railweave.design.keeping import cables_and_addresses, keep_what_runs, kept_diagnostics
from railweave.diagnostics import Diagnostic, has_errors
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.intent.model import Nodes, Topology

# The space is large, and an example is soon tried. Its documents are short, and shrinking takes minutes.
many = settings(max_examples=2 * settings().max_examples, phases=(Phase.explicit, Phase.reuse, Phase.generate))

LINE = re.compile(r"state (rails|stripe|first_stripe|leaf\.count|split): (\w+) (?:for '(\w+)'|under topology)")
OWN_LEAVES = re.compile(r"write leaf: \{downlink_speed: (\w+)\} in place of share_leaves for '(\w+)'")


def test_documents_state_every_key_that_a_design_follows_from() -> None:
    keys = {*leaves(Topology, "topology."), *leaves(Nodes, "nodes[].")}
    assert keys == (stated_keys() & keys) | NOT_OF_PORTS.keys()


@given(starts, st.lists(steps, min_size=1, max_size=3))
@many
def test_growth_keeps_what_runs_or_is_refused_with_the_line_that_keeps_it(start: Document, growth: list[Step]) -> None:
    document, before = start, fabric_of(start)
    assume(before is not None)
    assert before is not None
    for step in growth:
        grown = step.applied(document)
        after = fabric_of(grown)
        if after is None:
            # Refused by the design, with a fix: the fabric stays as it is.
            continue
        check_fabric(after)
        if lost(before, after):
            grown = kept(document, grown, before, after)
            after = fabric_of(grown)
            if after is None or lost_of_nodes(before, after):
                return
        document, before = grown, after


def fabric_of(document: Document) -> Fabric | None:
    """Return the fabric of a document, None of a refused one; of switches without a model it can be counted."""
    try:
        intent = load_intent_text(text_of(document), "intent.yml")
    except RefusedError:
        return None
    if has_errors(check_intent(intent)):
        return None
    return design(intent, CATALOG).fabric or countable(intent, CATALOG)


def text_of(document: Document) -> str:
    return str(yaml.dump(document, Dumper=yaml.CSafeDumper, sort_keys=False))


def check_fabric(fabric: Fabric) -> None:
    """Check that nothing is given twice, that both ends of a link run at its speed, and that its medium is sold."""
    check_nothing_is_given_twice(fabric)
    for link in fabric.links:
        upper = fabric.switch_of[link.upper]
        assert upper.panel.ports[link.upper_port].speed_gbps == link.speed_gbps
        assert upper.plane == link.plane
        if link.is_access:
            assert upper.stripe == fabric.host_of[link.lower].stripe
    if all(switch.panel.is_model for switch in fabric.switches):
        assert not [*fixed_ends(fabric)]


def lost(before: Fabric, after: Fabric) -> set[str]:
    """Return what a switch or cable that runs would lose: its identity, a port, an end, an address."""
    cables = cables_and_addresses(before) - cables_and_addresses(after)
    return lost_of_switches(before, after) | {" ".join(map(str, cable)) for cable in cables}


def lost_of_switches(before: Fabric, after: Fabric) -> set[str]:
    """Return the switches that would have another identity, or have gone."""
    return {switch.name for switch in before.switches if identity(before, switch.name) != identity(after, switch.name)}


def identity(fabric: Fabric, name: str) -> tuple[object, ...] | None:
    switch = fabric.switch_of.get(name)
    if switch is None:
        return None
    block = fabric.host_blocks.get(name)
    return switch.panel.model, switch.asn, switch.loopback, switch.number, switch.plane, block


def lost_of_nodes(before: Fabric, after: Fabric) -> set[str]:
    cables = cables_and_addresses(before) - cables_and_addresses(after)
    return {" ".join(map(str, cable)) for cable in cables if cable[0] in before.host_of}


def kept(document: Document, grown: Document, before: Fabric, after: Fabric) -> Document:
    """Check that growth which costs what runs something is refused; return the document with the lines that keep it, or
    the same where no automatic value is the reason."""
    if not all(switch.panel.is_model for switch in (*before.switches, *after.switches)):
        # Such a fabric can be sized, but not planned.
        return grown
    if lost_of_nodes(before, after) or lost_of_switches(before, after):
        diagnostics = refusals(document, grown)
        # Of a stated number, leaves without nodes may go, and spines that another pod gets.
        stated_counts = [document["topology"].get(tier, {}).get("count") for tier in ("leaf", "spine")]
        assert diagnostics or any(stated_counts), "nothing refuses the change"
    else:
        # More spines, or another tier, move cables between switches; a plan names each (RW515).
        intent = load_intent_text(text_of(grown), "intent.yml")
        diagnostics = [*kept_diagnostics(keep_what_runs(intent, before, after, CATALOG))]
    lines = " ".join(found.fix for found in diagnostics)
    stated = with_lines(grown, lines)
    if stated == grown:
        for candidate in with_values_that_run(grown, before) if lost_of_nodes(before, after) else ():
            fabric = fabric_of(candidate)
            assert fabric is None or lost_of_nodes(before, fabric), f"no line, and this keeps what runs: {candidate}"
        return grown
    fabric = fabric_of(stated)
    if fabric is None:
        # Another kind states stripes that a moved one runs in: the design says so (RW205).
        assert "first_stripe" in lines
        return grown
    assert not lost_of_nodes(before, fabric)
    if "which keeps what runs" in lines and "first_stripe" not in lines:
        assert not lost(before, fabric)
    return stated


def refusals(document: Document, grown: Document) -> list[Diagnostic]:
    """Return the identities that `diff` refuses to change. It refuses them before it compares the switches."""
    with TemporaryDirectory() as folder:
        running, intended = Path(folder, "running.yml"), Path(folder, "intended.yml")
        running.write_text(text_of(document), encoding="utf-8")
        intended.write_text(text_of(grown), encoding="utf-8")
        try:
            api.diff(api.open_project(intended), str(running))
        except RefusedError as refused:
            return [found for found in refused.diagnostics if found.code == "RW506"]
    return []


def with_lines(document: Document, fixes: str) -> Document:
    """Return a document with the lines that a refusal prints."""
    changed = copy.deepcopy(document)
    entries = {entry["name"]: entry for entry in changed["nodes"]}
    for key, value, name in LINE.findall(fixes):
        number = int(value) if value.isdigit() else value
        if name:
            entries[name][key] = number
        elif key == "leaf.count":
            changed["topology"]["leaf"]["count"] = number
        else:
            changed["topology"][key] = number
    for speed, name in OWN_LEAVES.findall(fixes):
        del entries[name]["share_leaves"]
        entries[name]["leaf"] = {"downlink_speed": speed}
    return changed


def with_values_that_run(document: Document, before: Fabric) -> Iterable[Document]:
    """Yield the document with what it leaves automatic stated as it runs: rails, first stripes, shared stripes."""
    stated = copy.deepcopy(document)
    topology = stated["topology"]
    first = {host.kind: host.stripe for host in reversed(before.hosts)}
    shared = any("share_leaves" in entry for entry in stated["nodes"])
    if "rails" not in topology and topology.get("shape", "rail-optimized") == "rail-optimized":
        topology["rails"] = before.rails
    for index, entry in enumerate(stated["nodes"]):
        if entry["name"] not in first:
            continue
        if index and "share_leaves" not in entry:
            entry.setdefault("first_stripe", first[entry["name"]])
        if shared and (not index or "share_leaves" in entry) and "stripe" not in topology:
            entry.setdefault("stripe", before.stripe_nodes[entry["name"]])
    yield stated
    yield with_values(stated, {"topology.split": "panel"})
