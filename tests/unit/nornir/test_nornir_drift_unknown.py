"""What a switch does not tell is unknown: drift never says "as intended" because a part of its answer is not there."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from functools import cache
from types import SimpleNamespace
from typing import Any, cast

import pytest
from absent_parts import EMPTY, ODD, Answer, Place, changed, places
from reading_driver import driver_of
from switch_answer import ANSWER, CONFIG, FABRIC, LEAF

from napalm_sonic.reading import Reading as SwitchReading
from napalm_sonic.reading import reading_of
from nornir_railweave.device.reading import Comparer
from nornir_railweave.events import silent
from nornir_railweave.rollout import planning
from railweave.plan.build import build_plan
from railweave.plan.drift import judge
from railweave.plan.model import Reading
from railweave.report.drift import drift_json, drift_markdown, headline
from railweave.report.plan_parts import device_remarks
from railweave.sonic.document import json_tables

STATUS: Answer = {"status": "confirmed", "id": "1", "broken": {}, "remaining_s": None}
METADATA: Place = ("config", "tables", "DEVICE_METADATA", "localhost")
FACTORY = {"platform": "x86_64-kvm_x86_64-r0", "mac": "52:54:00:00:00:01"}


def tables() -> Answer:
    """Return CONFIG_DB of a switch that runs what is intended."""
    found: Answer = {}
    for row in CONFIG.rows:
        found.setdefault(row.table, {})[row.key] = row.fields
    found["DEVICE_METADATA"]["localhost"] = {**found["DEVICE_METADATA"]["localhost"], **FACTORY}
    return json_tables(found)


HEALTHY: Answer = {
    "config": {"digest": "d1", "tables": tables()},
    "frr": ANSWER["frr"],
    "status": STATUS,
    "unapplied": [],
    "unseen": [],
}
DRIFTED: dict[str, Answer] = {
    "daemons apply another value": {**HEALTHY, "unapplied": [["PORT|Ethernet0", "fec", "rs", "none"]]},
    "a commit waits": {**HEALTHY, "status": {**STATUS, "status": "armed", "remaining_s": 9.0}},
    "a daemon ended": {
        **HEALTHY,
        "status": {**STATUS, "broken": {"daemons": ["orchagent"], "lines": [], "waited_s": 5, "command": "restart"}},
    },
    "the state is damaged": {**HEALTHY, "status": {**STATUS, "status": "damaged", "error": "no JSON"}},
}
DAY = date(2026, 1, 1)
INTENDED = f"{FABRIC.name}: no drift, {len(FABRIC.switches)} devices run as intended."
compare = Comparer(FABRIC, lambda _name: CONFIG)


class Program:
    """The switch's program as its driver has it, with an answer that was read."""

    def __init__(self, answer: Answer, known: SwitchReading | None) -> None:
        self.answer, self.last_reading = answer, known

    def read(self, *, request: object) -> SwitchReading:
        assert request is None
        self.last_reading = reading_of("leaf1", self.answer, self.last_reading)
        return self.last_reading

    def rejected_by_reload(self, _config_db: object) -> Any:
        return SimpleNamespace(rejected=(), fault="")


def read(monkeypatch: pytest.MonkeyPatch, answer: Answer, known: SwitchReading | None = None) -> Reading:
    """Return what a plan reads of the leaf, whatever it answers."""

    @contextmanager
    def session(_task: object) -> Iterator[Any]:
        yield SimpleNamespace(driver=driver_of(cast("Any", Program(answer, known))))

    monkeypatch.setattr(planning, "session", session)
    task = cast("Any", SimpleNamespace(host=SimpleNamespace(name=LEAF.name)))
    found: Reading = planning.read_running(task, compare, silent).result
    return found


@cache
def others() -> Reading:
    with pytest.MonkeyPatch.context() as monkeypatch:
        return read(monkeypatch, HEALTHY)


def said(reading: Reading) -> str:
    """Return the sentence of drift where the other switches are as intended."""
    readings = {switch.name: others() for switch in FABRIC.switches} | {LEAF.name: reading}
    found = judge(build_plan(FABRIC, readings, target="sim", intent_sha256=""), (), DAY)
    assert drift_json(found)["devices"][LEAF.name]["state"]
    return headline(found)


def passes(reading: Reading) -> bool:
    """Tell whether drift calls the switch as intended without a further word."""
    found = reading.difference
    return found is not None and not found.delta and said(reading) == INTENDED


def alike(at: Place) -> Place:
    """Return what places of fields of one kind have in common: rows of a table, and keys that are numbers."""
    if at[:2] != ("config", "tables"):
        return at
    return (*at[:3], len(at), *(re.sub("[0-9]+", "#", str(one)) for one in at[4:]))


def corpus(answer: Answer) -> Iterator[tuple[Place, object]]:
    """Yield the parts of an answer that decide; of rows of a table the first one of each field."""
    seen: set[Place] = set()
    for at, value in places(answer):
        if alike(at) not in seen and at not in OF_NO_DRIFT:
            seen.add(alike(at))
            yield at, value


OF_NO_DRIFT = {("config", "digest"), (*METADATA, "mac"), ("frr", "digest"), ("status", "id"), ("status", "remaining_s")}
"""What an answer says of itself, or of the switch as it came."""


def test_the_answer_of_a_switch_as_intended_is_no_drift() -> None:
    assert said(others()) == INTENDED


@pytest.mark.slow
def test_no_switch_is_as_intended_because_a_part_of_its_answer_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = list(corpus(HEALTHY))
    silent = [
        (at, odd)
        for at, value in parts
        for odd in (EMPTY if at[0] == "config" else ODD)
        if odd != value and passes(read(monkeypatch, changed(HEALTHY, at, odd)))
    ]
    assert silent == []
    assert len(parts) > 80


@pytest.mark.parametrize("what", DRIFTED)
def test_what_is_not_as_intended_stays_so_whatever_part_is_not_there(
    monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    drifted = DRIFTED[what]
    assert not passes(read(monkeypatch, drifted))
    answers = [
        (at, odd, changed(drifted, at, odd))
        for at, _ in corpus(drifted)
        if at[0] in ("status", "unapplied", "unseen")
        for odd in ODD
    ]
    silent = [(at, odd) for at, odd, answer in answers if answer != HEALTHY and passes(read(monkeypatch, answer))]
    assert silent == []


@pytest.mark.parametrize("part", ["config", "frr"])
def test_an_answer_that_leaves_out_what_was_not_read_before_is_refused(
    monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    known = reading_of("leaf1", HEALTHY, None)
    same = {**HEALTHY, part: {"digest": HEALTHY[part]["digest"]}}
    assert passes(read(monkeypatch, same, known))
    for digest in ("other", "", None):
        assert read(monkeypatch, {**HEALTHY, part: {"digest": digest}}, known).error


@pytest.mark.parametrize("text", ["", " \n", None])
def test_an_empty_text_of_frr_is_unknown_and_no_empty_configuration(
    monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    found = read(monkeypatch, {**HEALTHY, "frr": {"digest": "d2", "text": text}})
    assert (found.difference, found.answered) == (None, True)
    assert "FRR's running configuration is unknown" in found.error


def test_what_daemons_apply_is_said_to_be_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = read(monkeypatch, {**HEALTHY, "unapplied": None})
    made = build_plan(FABRIC, {switch.name: unknown for switch in FABRIC.switches}, target="sim", intent_sha256="")
    assert "as intended" not in headline(judge(made, (), DAY))
    assert said(unknown).endswith(f"3 devices run as intended; what daemons of {LEAF.name} apply is not known.")
    (remark,) = [one.text for one in device_remarks(made)]
    assert remark.startswith("unknown: what SONiC's daemons apply on lab-")


def test_fields_of_ports_that_no_switch_tells_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    made = build_plan(
        FABRIC,
        {switch.name: others() for switch in FABRIC.switches}
        | {LEAF.name: read(monkeypatch, {**HEALTHY, "unseen": ["fec"]})},
        target="sim",
        intent_sha256="",
    )
    drift = judge(made, (), DAY)
    assert drift_json(drift)["devices"][LEAF.name]["unknown"] == ["fec"]
    assert f"{LEAF.name}: SONiC does not report the FEC in force" in drift_markdown(drift)
