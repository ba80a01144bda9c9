"""What holds for every plan: it is empty against its own end, and its waves are safe."""

import atexit
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

from engine_tools import plan_waves
from examples import few
from hypothesis import given
from hypothesis import strategies as st

from railweave.cabling.table import cable_rows
from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.plan.build import build_plan, wave_gate
from railweave.plan.cables import changed_cables
from railweave.plan.document import parse_plan, plan_json
from railweave.plan.grouping import first_provisioning, group_changes, shown_summary
from railweave.plan.limit import limit_diagnostics, limited, widened
from railweave.plan.model import DeviceState, Reading
from railweave.plan.offline import plan_offline
from railweave.report.plan import PLAN_CHARS, plan_markdown
from railweave.sonic.delta.change import Delta, Op
from railweave.sonic.delta.diff import diff
from railweave.sonic.delta.digest import running_sha256
from railweave.sonic.delta.merge import apply, merge_document
from railweave.sonic.document import RunningConfig
from railweave.sonic.render.configure import Configurator
from railweave.sonic.rows import DeviceConfig
from railweave.templates import Templates, find_templates

INTENT = """
fabric: lab
workload: {{kind: pretraining}}
nodes:
  - {{name: gpu, count: {nodes}, gpus: 2, nics: {{count: 2, speed: 100G, ports: 1, model: connectx-6, pcie: gen4x16}}}}
topology:
  shape: rail-optimized
  rails: 2
  stripe: 4
  links_per_pair: 1
  oversubscription: "2:1"
  leaf: {{model: sonic-vs, count: {leaves}, downlink_speed: 100G, uplink_speed: 100G}}
  spine: {{model: sonic-vs, count: {spines}}}
  reserve: {{leaves: 8, spines: 4}}
mtu: {{fabric: {mtu}, hosts: 8000}}
bgp: {{keepalive: {keepalive}, hold: 30}}
"""
MORE = (
    "",
    "overrides: {leaf: {SYSLOG_SERVER: {10.9.9.9: {}}}}\n",
    "overrides: {leaf: {SYSLOG_SERVER: {10.9.9.9: {}}}, lab-leaf2: {CRM: {Config: {polling_interval: '300'}}}}\n",
    "overrides: {lab-spine1: {SYSLOG_SERVER: {10.9.9.8: {}}}}\n",
    "traffic_classes: [{name: roce, role: rdma, dscp: [24], lossless: true, priority: 4, share: 90},"
    " {name: best-effort, role: bulk, dscp: default, priority: 0, share: 10}]\n",
    "cabling: {leaf_spine: {length_m: 40}}\n",
)
"""Keys that change what switches of a tier share, and rows of single switches."""
NO_EDIT = ("", "")
TEMPLATE_EDITS = (
    NO_EDIT,
    ("log syslog informational", "log syslog debugging"),
    ("timers connect {{ connect_retry_s }}", "timers connect 7"),
    (
        "{% if dscp != 48 %}",
        "{% if device.endswith('leaf2') %}\nip route 192.0.2.0/24 blackhole\n{% endif %}\n{% if dscp != 48 %}",
    ),
    (" bgp log-neighbor-changes\n", ""),
    ("{#\n", "{#\n  A remark changes no line.\n"),
)
"""Edits of the FRR template: lines of all switches, of one, a line less, and nothing that is rendered."""


@cache
def fabric(stripes: int, spines: int, mtu: int, keepalive: int, more: str = "") -> Fabric:
    text = INTENT.format(nodes=4 * stripes, leaves=2 * stripes, spines=spines, mtu=mtu, keepalive=keepalive) + more
    outcome = design(load_intent_text(text, "lab.yml"), load_catalog())
    assert outcome.fabric is not None, outcome.diagnostics
    return outcome.fabric


fabrics = st.builds(
    fabric, st.integers(1, 3), st.integers(2, 4), st.sampled_from((9000, 9100)), st.sampled_from((3, 5, 10))
)


alike = st.builds(fabric, st.just(2), st.integers(2, 3), st.sampled_from((9000, 9100)), st.sampled_from((3, 5)),
                  st.sampled_from(MORE))  # fmt: skip


@cache
def templates(edit: tuple[str, str]) -> Templates:
    """Return the templates of a project that changed this text of the FRR template."""
    shipped = find_templates()
    if edit == NO_EDIT:
        return shipped
    folder = Path(mkdtemp(prefix="railweave-templates-"))
    atexit.register(rmtree, folder, ignore_errors=True)
    name = "frr/frr.conf.j2"
    old, new = edit
    text = next(path.read_text() for parent in shipped.folders if (path := parent / name).is_file())
    assert old in text
    (folder / "frr").mkdir()
    (folder / name).write_text(text.replace(old, new, 1))
    return Templates([folder, *shipped.folders])


edits = st.sampled_from(TEMPLATE_EDITS)


@few
@given(alike, alike, edits, edits)
def test_switches_that_are_compared_together_need_what_each_needs_alone(
    base: Fabric, head: Fabric, earlier: tuple[str, str], later: tuple[str, str]
) -> None:
    plan = plan_offline(base, head, templates(later), before=templates(earlier))
    before, after = Configurator(base, templates(earlier)), Configurator(head, templates(later))
    for switch in head.switches:
        old = base.switch_of.get(switch.name)
        start = before.device(old) if old else None
        running = RunningConfig(start.config_db(), start.frr) if start else RunningConfig({}, "")
        alone = diff(switch.name, running, after.device(switch))
        assert plan.deltas.get(switch.name, Delta()) == alone.delta
        device = plan.devices[switch.name]
        assert device.difference.unmanaged == alone.unmanaged
        assert device.difference.lossless_removed == alone.lossless_removed
        assert device.difference.unprovisioned == alone.unprovisioned
        assert not device.difference.conflicts


@few
@given(fabrics)
def test_a_plan_against_itself_is_empty(one: Fabric) -> None:
    plan = plan_offline(one, one, find_templates())
    assert plan.deltas == {}
    assert plan.waves == ()
    assert set(plan.names(DeviceState.UNCHANGED)) == {switch.name for switch in one.switches}


@few
@given(fabrics, fabrics)
def test_a_plan_carried_out_leaves_nothing_to_plan(base: Fabric, head: Fabric) -> None:
    plan = plan_offline(base, head, find_templates())
    by_device = plan.deltas
    before, after = Configurator(base, find_templates()), Configurator(head, find_templates())
    readings = {}
    for switch in head.switches:
        old = base.switch_of.get(switch.name)
        start = before.device(old) if old else None
        running = RunningConfig(start.config_db(), start.frr) if start else RunningConfig({}, "")
        done = apply(merge_document(by_device.get(switch.name, Delta())), running)
        wanted = after.device(switch)
        readings[switch.name] = Reading(diff(switch.name, done, wanted), running_sha256(done, wanted))
    assert build_plan(head, readings, target="", intent_sha256="").deltas == {}


def cables_of(fabric: Fabric) -> dict[tuple[str, str], tuple[str, str]]:
    """Return the upper end of each cable by its lower one, ports by their names."""
    ports = fabric.ports_of
    return {
        (link.lower, ports[link.lower][link.lower_port].name): (link.upper, ports[link.upper][link.upper_port].name)
        for link in fabric.links
    }


@few
@given(fabrics, fabrics)
def test_every_view_of_a_plan_tells_all_of_it(base: Fabric, head: Fabric) -> None:
    plan = plan_offline(base, head, find_templates())
    document = plan_json(plan)
    import json

    assert plan_json(parse_plan(json.dumps(document), "plan.json")) == document
    fresh = first_provisioning(plan)
    count = fresh.rows + fresh.lines if fresh else 0
    assert sum(group.count for group in group_changes(plan)) + count == shown_summary(plan).total
    changed = changed_cables(plan)
    cables = Counter(one.op for one in changed)
    had, has = cables_of(base), cables_of(head)
    assert cables[Op.ADD] == len(has.keys() - had.keys())
    assert cables[Op.UPDATE] == sum(had[end] != has[end] for end in had.keys() & has.keys())
    labels = {
        (f"{one.a_device}:{one.a_alias or one.a_port}", f"{one.b_device}:{one.b_alias}") for one in cable_rows(head)
    }
    assert {(one.lower, one.after) for one in changed if one.after} <= labels
    assert len(plan_markdown(plan)) <= PLAN_CHARS
    assert set(plan.gone) == set(base.switch_of) - set(head.switch_of)


@given(st.data())
def test_waves_hold_every_device_once_and_never_two_ends_of_a_link(data: st.DataObject) -> None:
    chosen = data.draw(fabrics)
    names = [switch.name for switch in chosen.switches]
    changed = data.draw(st.sets(st.sampled_from(names)))
    disruptive = data.draw(st.sets(st.sampled_from(names)))
    waves = plan_waves(chosen, changed, disruptive & changed)
    assert sorted(name for wave in waves for name in wave) == sorted(changed)
    for wave in waves:
        assert wave
        assert len({chosen.switch_of[name].tier for name in wave}) == 1
        disturbed = [chosen.switch_of[name] for name in wave if name in disruptive]
        assert len({switch.stripe for switch in disturbed}) == len(disturbed)
    roles = [chosen.switch_of[wave[0]].tier.name for wave in waves]
    assert roles == sorted(roles, reverse=True)


def settings_of_links(fabric: Fabric, configs: Mapping[str, DeviceConfig]) -> dict[tuple[str, str, str], bool]:
    """Tell of every link between switches, and of each setting that both ends need, whether the two ends agree."""
    agree: dict[tuple[str, str, str], bool] = {}
    for link in fabric.fabric_links:
        if link.upper not in configs or link.lower not in configs:
            continue
        ends = []
        for name, index in ((link.upper, link.upper_port), (link.lower, link.lower_port)):
            config = configs[name]
            port = fabric.ports_of[name][index].name
            tables = config.config_db()
            row = tables["PORT"].get(port, {})
            timers = [line for line in config.frr.splitlines() if " timers " in line and " connect " not in line]
            ends.append(
                {
                    "mtu": row.get("mtu"),
                    "speed": row.get("speed"),
                    "classes": tables.get("DSCP_TO_TC_MAP"),
                    "pfc": tables.get("PORT_QOS_MAP", {}).get(port),
                    "timers": timers,
                }
            )
        for setting in ends[0]:
            agree[link.upper, link.lower, setting] = ends[0][setting] == ends[1][setting]
    return agree


@few
@given(st.one_of(st.tuples(fabrics, fabrics), st.tuples(alike, alike)), st.data())
def test_a_limited_plan_is_refused_or_a_part_of_the_whole_that_keeps_links_and_floors(
    pair: tuple[Fabric, Fabric], data: st.DataObject
) -> None:
    base, head = pair
    whole = plan_offline(base, head, find_templates())
    names = data.draw(st.sets(st.sampled_from([switch.name for switch in head.switches]), min_size=1))
    if limit_diagnostics(head, whole, names):
        # Widened as the fix says, it is refused no more; and the whole fabric never is.
        assert not limit_diagnostics(head, whole, widened(head, whole, names))
        assert not limit_diagnostics(head, whole, head.switch_of.keys())
        return
    plan = limited(head, whole, names)
    assert dict(plan.deltas) == {name: delta for name, delta in whole.deltas.items() if name in names}
    assert set(plan.behind) == whole.deltas.keys() - names
    assert sorted(name for wave in plan.waves for name in wave) == sorted(plan.deltas)
    gate = wave_gate(head, plan)
    assert plan.violations or not any(gate.violation(wave) for wave in plan.waves)
    before, after = Configurator(base, find_templates()), Configurator(head, find_templates())
    # Switches in service before, each with the new configuration if the limit holds it.
    running = [switch for switch in head.switches if switch.name in base.switch_of]
    old = {switch.name: before.device(base.switch_of[switch.name]) for switch in running}
    new = {switch.name: after.device(switch) for switch in running}
    mixed = {name: new[name] if name in names else old[name] for name in old}
    agreed, agreeing = settings_of_links(head, old), settings_of_links(head, new)
    for setting, holds in settings_of_links(head, mixed).items():
        assert holds or not (agreed[setting] and agreeing[setting]), setting
