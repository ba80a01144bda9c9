"""Facts of live devices are judged by meaning: what changes a lossless class is found, and what does not is not."""

import json
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seeded_mismatches import RENAMED, REWRITINGS, Document, Mismatch, mismatches, rename

from railweave.catalog.load import load_catalog
from railweave.checks.facts import fact_findings
from railweave.checks.links import LinkChecker
from railweave.checks.registry import LINK_CHECKS
from railweave.checks.rules.e1_thresholds import pause_limits
from railweave.design.build import design
from railweave.diagnostics import Diagnostic, Severity
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.qos.buffering import plan_buffers
from railweave.sonic.port_settings import switch_port
from railweave.sonic.render.configure import Configurator
from railweave.sonic.resolved import ResolvedTables
from railweave.templates import find_templates

SWITCHES = ("pod-leaf1", "pod-spine1")
"""A leaf in the traditional buffer model with a headroom pool, a spine in the dynamic one."""


@cache
def fabric() -> Fabric:
    text = """
fabric: pod
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 4, gpus: 8, nics: {count: 2, speed: 400G, model: connectx-7}}
topology:
  stripe: 4
  links_per_pair: 1
  oversubscription: "64:1"
  leaf: {model: nokia-ixr7220-h4-64d, count: 2, downlink_speed: 400G, uplink_speed: 400G}
  spine: {model: nvidia-sn4700, count: 2}
"""
    made = design(load_intent_text(text, "pod.yml"), load_catalog()).fabric
    assert made is not None
    return made


@cache
def rendered(name: str) -> Document:
    tables = Configurator(fabric(), find_templates()).device(fabric().switch_of[name]).config_db()
    document: Document = json.loads(json.dumps(tables))
    return document


def found(name: str, document: Document) -> list[Diagnostic]:
    return found_on({name: document})


def found_on(documents: dict[str, Document]) -> list[Diagnostic]:
    files = {name: (f"{name}.json", json.dumps(document)) for name, document in documents.items()}
    return list(fact_findings(fabric(), files, Configurator(fabric(), find_templates())))


@cache
def seeds(name: str) -> list[Mismatch]:
    return mismatches(rendered(name))


@pytest.mark.parametrize("name", SWITCHES)
def test_what_is_rendered_shows_nothing(name: str) -> None:
    assert not found(name, rendered(name))


@given(st.data())
def test_every_mismatch_that_touches_a_lossless_class_is_found_on_its_device(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(SWITCHES))
    seed = data.draw(st.sampled_from(seeds(name)))

    told = [one for one in found(name, seed.apply(rendered(name))) if one.severity is not Severity.INFO]

    assert told, seed
    assert all(name in one.message and name in one.devices for one in told)


@given(st.data())
def test_other_words_for_the_same_show_nothing(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(SWITCHES))
    document = rendered(name)
    for table in data.draw(st.lists(st.sampled_from(RENAMED), max_size=3, unique=True)):
        if rows := document.get(table):
            document = rename(document, table, data.draw(st.sampled_from(sorted(rows))))
    for rewriting in data.draw(st.lists(st.sampled_from(sorted(REWRITINGS)), max_size=3, unique=True)):
        document = REWRITINGS[rewriting](document)

    assert not found(name, document)


@given(st.data())
def test_a_mismatch_is_found_in_any_words(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(SWITCHES))
    seed = data.draw(st.sampled_from(seeds(name)))
    document = seed.apply(rendered(name))
    for rewriting in data.draw(
        st.lists(
            st.sampled_from(["in brackets", "split ranges", "joined ports", "reversed order"]), max_size=2, unique=True
        )
    ):
        document = REWRITINGS[rewriting](document)

    assert [one for one in found(name, document) if name in one.devices], seed


@given(st.data())
def test_links_that_are_set_alike_are_judged_as_each_of_them_alone(data: st.DataObject) -> None:
    documents = {}
    for name in SWITCHES:
        chosen = st.lists(st.sampled_from(seeds(name)), max_size=3, unique_by=lambda one: (one.table, one.key))
        document = rendered(name)
        for seed in data.draw(chosen):
            document = seed.apply(document)
        documents[name] = document

    told = found_on(documents)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(LinkChecker, "_failed_on", lambda checker, ends: tuple(LINK_CHECKS))
        assert found_on(documents) == told


GARBAGE = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        ["", "NULL", "9" * 5000, "-1", "²", "0-99999999999", "[BUFFER_POOL|", "a,b", "ingress_lossless_pool"]
    ),
    st.lists(st.text(max_size=4), max_size=3),
    st.integers(),
)


@given(st.data())
def test_whatever_a_switch_holds_is_judged(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(SWITCHES))
    document = json.loads(json.dumps(rendered(name)))
    for _ in range(data.draw(st.integers(1, 4))):
        rows = document[data.draw(st.sampled_from(sorted(document)))]
        key = data.draw(st.one_of(st.sampled_from(sorted(rows)), GARBAGE.filter(lambda one: isinstance(one, str))))
        row = rows.setdefault(key, {})
        row[data.draw(st.sampled_from([*row, "profile", "size", "xoff", "weight", "profile_list"]))] = data.draw(
            GARBAGE
        )

    assert all(one.message and one.fix for one in found(name, document))


@pytest.mark.parametrize("name", SWITCHES)
def test_what_is_rendered_pauses_where_the_design_says(name: str) -> None:
    switch = fabric().switch_of[name]
    lengths_m = fabric().cable_lengths_m[switch.tier.level]
    plan = plan_buffers(switch.panel, switch.tier, fabric().policies, lengths_m)
    assert plan is not None
    tables = Configurator(fabric(), find_templates()).effective(switch)

    port = next(iter(rendered(name)["CABLE_LENGTH"]["AZURE"]))
    assert pause_limits(plan, switch_port(name, ResolvedTables(tables), port, 8), 3) == plan.limits
