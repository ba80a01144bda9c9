"""Whatever key of the intent changes, `diff` says what the difference of two full renderings is."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from by_check import sampled
from schema_leaves import PAIRS, SIZED_ONLY, leaves

from railweave.api.design.intent import design_text
from railweave.design.renumbering import renumbered
from railweave.errors import RailweaveError
from railweave.fabric.devices import Switch
from railweave.fabric.model import Fabric
from railweave.plan.model import DeviceState
from railweave.plan.offline import plan_offline
from railweave.report.artifacts import blocks_json
from railweave.sonic.delta.diff import DeviceDiff, diff
from railweave.sonic.document import RunningConfig
from railweave.sonic.render.configure import Configurator
from railweave.templates import Templates, find_templates


def fabrics_of(leaf: str) -> tuple[Fabric, Fabric]:
    pair = PAIRS[leaf]
    base, head = (design_text(text, pair.file, lambda name: (name, pair.beside[name])) for text in pair.texts(leaf))
    return base.fabric, head.fabric


def test_every_leaf_of_the_schema_has_a_pair_of_intents() -> None:
    """A new key of the intent gets one in `schema_leaves`, so that no `diff` overlooks it."""
    assert set(leaves()) == PAIRS.keys() | SIZED_ONLY
    for leaf, pair in PAIRS.items():
        base, head = pair.texts(leaf)
        assert base != head, leaf


def test_of_switches_that_are_sized_only_nothing_is_rendered() -> None:
    leaf = "topology.spine.count"
    inline = PAIRS[leaf].texts(leaf)[0].replace("model: sonic-vs", "ports: 32\n    speed: 100G")
    with pytest.raises(RailweaveError, match=r"`topology\.spine` has no catalog model"):
        design_text(inline, "lab.yml")


@pytest.mark.parametrize("leaf", sampled(sorted(PAIRS), every=6))
def test_a_diff_of_two_intents_is_the_difference_of_two_renderings(leaf: str) -> None:
    base, head = fabrics_of(leaf)
    plan = plan_offline(base, head, find_templates(), renumber=True)
    before, after = Configurator(base, find_templates()), Configurator(head, find_templates())
    for switch in head.switches:
        whole = rendered_difference(before, base.switch_of.get(switch.name), after, switch)
        found = plan.deltas.get(switch.name, ())
        assert tuple(found) == tuple(whole.delta)
        device = plan.devices[switch.name]
        assert device.state is (DeviceState.CHANGED if whole.delta else DeviceState.UNCHANGED)
        assert device.difference.unprovisioned == whole.unprovisioned
        assert device.difference.lossless_removed == whole.lossless_removed
    changed = {one.name for one in head.switches if files(before, base.switch_of.get(one.name)) != files(after, one)}
    assert changed == plan.deltas.keys(), "a file that is another one is a change"


def test_a_counter_given_back_stays_on_the_switch_as_it_is() -> None:
    text = Path("intent/lab-4.yml").read_text(encoding="utf-8")
    base, head = (
        design_text(f"{text}telemetry: {{counters: {{wred_port: {word}}}}}\n", "lab.yml").fabric
        for word in ("enable", "keep")
    )
    before, after = Configurator(base, find_templates()), Configurator(head, find_templates())
    assert files(before, base.switches[0]) != files(after, head.switches[0])
    assert not plan_offline(base, head, find_templates(), renumber=True).deltas


def test_ports_behind_more_parts_of_cages_keep_their_place_and_lose_their_addresses() -> None:
    base, head = fabrics_of("nodes[].nics.speed")
    assert any(identity.device == "lab-leaf1" for identity in renumbered(base, head))


@pytest.mark.parametrize("leaf", ["bgp.keepalive", "addressing.underlay"])
def test_a_value_that_the_template_gives_to_every_session_is_compared(leaf: str) -> None:
    base, head = fabrics_of(leaf)
    shipped = find_templates()

    def fill(name: str, values: Mapping[str, Any]) -> str:
        before, address_family, after = shipped.fill(name, values).partition(" !\n address-family ipv4 unicast\n")
        lines = [f" neighbor {peer} ttl-security hops {values['keepalive_s']}\n" for peer, *_ in values["sessions"]]
        return before + "".join(lines) + address_family + after

    templates = Templates(shipped.folders, fill)
    plan = plan_offline(base, head, templates, renumber=True)
    before, after = Configurator(base, templates), Configurator(head, templates)
    for switch in head.switches:
        whole = rendered_difference(before, base.switch_of.get(switch.name), after, switch)
        assert tuple(plan.deltas[switch.name]) == tuple(whole.delta)
        assert any("ttl-security" in (change.field or "") for change in whole.delta)


def rendered_difference(before: Configurator, old: Switch | None, after: Configurator, switch: Switch) -> DeviceDiff:
    if old is None:
        return diff(switch.name, RunningConfig({}, ""), after.device(switch))
    config = before.device(old)
    return diff(switch.name, RunningConfig(config.config_db(), config.frr), after.device(switch))


def files(configurator: Configurator, switch: Switch | None) -> tuple[bytes, str] | None:
    if switch is None:
        return None
    return blocks_json(configurator.blocks(switch)), configurator.frr(switch)
