"""Properties of merges and steps, judged by a model of Redis and of SONiC's commands (``config_db_model``)."""

import json
from typing import Any

from config_db_model import Redis, configurations, merged_tables, merges, settled, watchdogs_without_port
from engine_tools import apply_steps, rollback_steps
from hypothesis import given
from hypothesis import strategies as st

from napalm_sonic.candidate import Candidate, CandidateKind
from railweave.sonic.delta.change import Op
from railweave.sonic.delta.delta import applied, inverse
from railweave.sonic.delta.merge import apply, delta_of, edits
from railweave.sonic.delta.steps import LoadStep, PatchStep, ReloadStep, rollback_document
from railweave.sonic.document import RunningConfig, json_tables


@given(configurations(), merges())
def test_the_steps_do_what_the_merge_says(running: RunningConfig, merge: dict[str, Any]) -> None:
    device = Redis(json_tables(running.config_db))
    device.run(apply_steps(merge, running))
    assert settled(device.tables()) == settled(apply(merge, running).config_db)


@given(configurations(), merges())
def test_the_steps_back_restore_what_ran(running: RunningConfig, merge: dict[str, Any]) -> None:
    device = Redis(json_tables(running.config_db))
    device.run(apply_steps(merge, running))
    back = rollback_steps(merge, running)
    device.run(back)
    assert settled(device.tables()) == settled(running.config_db)
    assert not any(isinstance(step, PatchStep) for step in back)
    assert json.loads(json.dumps(rollback_document(back)))["version"] == 1


@given(configurations(), merges())
def test_the_steps_back_are_harmless_where_nothing_was_done(running: RunningConfig, merge: dict[str, Any]) -> None:
    device = Redis(json_tables(running.config_db))
    device.run(rollback_steps(merge, running))
    assert settled(device.tables()) == settled(running.config_db)


@given(configurations(), merges())
def test_the_inverse_undoes_a_merge(running: RunningConfig, merge: dict[str, Any]) -> None:
    after = apply(merge, running)
    restored = applied(inverse(delta_of(merge, running)), after)
    assert settled(restored.config_db) == settled(running.config_db)


@given(configurations(), merges())
def test_the_inverse_leaves_what_the_merge_does_not_name(running: RunningConfig, merge: dict[str, Any]) -> None:
    foreign = {"SNMP_COMMUNITY": {"seen": {"TYPE": "RO"}}}
    after = apply(foreign, apply(merge, running))
    restored = applied(inverse(delta_of(merge, running)), after)
    assert restored.config_db["SNMP_COMMUNITY"] == foreign["SNMP_COMMUNITY"]


@given(configurations(), merges())
def test_a_merge_that_is_applied_changes_nothing_more(running: RunningConfig, merge: dict[str, Any]) -> None:
    after = apply(merge, running)
    assert edits(merge, after) == ()
    assert apply_steps(merge, after) == ()


@st.composite
def watchdog_merges(draw: st.DrawFn) -> dict[str, Any]:
    """Return merges of the watchdog, beside ports that stay, change or go."""
    ports = draw(merged_tables("PORT", 0))
    watched = draw(merged_tables("PFC_WD"))
    return {"PFC_WD": watched, **({"PORT": ports} if ports else {})}


@given(configurations(), watchdog_merges())
def test_no_step_deletes_the_watchdog_s_row_for_the_switch_or_a_port_before_its_watchdog(
    running: RunningConfig, merge: dict[str, Any]
) -> None:
    after = apply(merge, running)
    for start, steps in ((running, apply_steps(merge, running)), (after, rollback_steps(merge, running))):
        ports = set(start.config_db.get("PORT", {}))
        for step in steps:
            match step:
                case LoadStep(document):
                    gone = {key for key, row in document.get("PFC_WD", {}).items() if row is None}
                    assert gone <= ports, "a port's row goes while the port is there, the switch's row never"
                    assert None not in document.get("PORT", {}).values()
                case PatchStep(operations):
                    assert not [one for one in operations if one["path"].startswith("/PFC_WD")]
                case ReloadStep(config_db, _):
                    assert not watchdogs_without_port(config_db)
    device = Redis(json_tables(running.config_db))  # which refuses a field's removal that would take the row along
    device.run(apply_steps(merge, running))
    device.run(rollback_steps(merge, running))
    replaced = Candidate(CandidateKind.REPLACE, {**json_tables(running.config_db), "PFC_WD": {}}).delta(after)
    assert not [
        one for one in replaced if (one.table, one.key, one.op, one.field) == ("PFC_WD", "GLOBAL", Op.REMOVE, None)
    ]
