"""The groups of counters that `telemetry` turns on: which rows a switch of each release gets, and what they state.

What each release knows is written here from SONiC's own models (sonic-flex_counter.yang) and, where a model is older
than the code that follows it, from orchagent (WRED_ECN_QUEUE and WRED_ECN_PORT: 202505).
"""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railweave.checks.config import check_design
from railweave.diagnostics import Diagnostic, Severity, Where
from railweave.fabric.counter_groups import GROUP_OF, GROUPS, CounterPolicy, CounterSetting, CounterState
from railweave.fabric.model import Fabric
from railweave.fabric.releases import RELEASES
from railweave.sonic.counter_keys import polled_every_ms
from railweave.sonic.delta.change import Disruption
from railweave.sonic.delta.diff import diff
from railweave.sonic.document import RunningConfig
from railweave.sonic.render.configure import configure
from railweave.sonic.render.counter_rows import counter_rows
from railweave.sonic.rows import DeviceConfig, Table
from railweave.templates import find_templates

Lab = Callable[..., Fabric]
Rows = dict[str, dict[str, object]]

ALWAYS = {"BUFFER_POOL_WATERMARK", "PFCWD", "PG_DROP", "PG_WATERMARK", "PORT", "PORT_BUFFER_DROP", "QUEUE",
          "QUEUE_WATERMARK"}  # fmt: skip
FROM_202505 = ALWAYS | {"PORT_PHY_ATTR", "WRED_ECN_PORT", "WRED_ECN_QUEUE"}
FROM_202511 = FROM_202505 | {"SWITCH"}
POLLED = {
    "202305": ALWAYS,
    "202311": ALWAYS,
    "202405": ALWAYS,
    "202411": ALWAYS,
    "202505": FROM_202505,
    "202511": FROM_202511,
    "202605": FROM_202511,
}

settings_of_groups = st.builds(
    CounterPolicy,
    **{
        group.key: st.builds(
            CounterSetting,
            st.sampled_from(CounterState),
            st.none() if not group.poll_ms else st.none() | st.integers(group.least_ms, group.most_ms),
        )
        for group in GROUPS
    },
)


def config_of(fabric: Fabric) -> DeviceConfig:
    return configure(fabric, fabric.switch_of["lab-leaf1"], find_templates())


def counters_of(fabric: Fabric) -> Rows:
    table = config_of(fabric).config_db().get("FLEX_COUNTER_TABLE", {})
    return {key: dict(fields) for key, fields in table.items()}


def findings(fabric: Fabric, code: str) -> list[Diagnostic]:
    return [finding for finding in check_design(fabric, lambda path: Where(path=path)) if finding.code == code]


def test_the_strategy_covers_every_key_of_the_schema() -> None:
    assert set(CounterPolicy._fields) == {group.key for group in GROUPS}
    assert set(POLLED) == set(RELEASES)


def test_without_telemetry_no_row_is_rendered(lab_fabric: Lab) -> None:
    assert counters_of(lab_fabric()) == {}


def test_with_telemetry_switches_count_ecn_marks_and_wred_drops(lab_fabric: Lab) -> None:
    assert counters_of(lab_fabric("telemetry: {}\n")) == {
        "WRED_ECN_PORT": {"FLEX_COUNTER_STATUS": "enable", "POLL_INTERVAL": "1000"},
        "WRED_ECN_QUEUE": {"FLEX_COUNTER_STATUS": "enable", "POLL_INTERVAL": "10000"},
    }


def test_an_interval_a_word_and_a_group_of_three_rows_are_rendered_as_stated(lab_fabric: Lab) -> None:
    stated = "telemetry: {counters: {queue: 2000, watermark: 30000, phy: disable, pfcwd: enable, wred_port: keep}}\n"
    polled = {"FLEX_COUNTER_STATUS": "enable", "POLL_INTERVAL": "30000"}
    assert counters_of(lab_fabric(stated)) == {
        "BUFFER_POOL_WATERMARK": polled,
        "PFCWD": {"FLEX_COUNTER_STATUS": "enable"},
        "PG_WATERMARK": polled,
        "PORT_PHY_ATTR": {"FLEX_COUNTER_STATUS": "disable"},
        "QUEUE": {"FLEX_COUNTER_STATUS": "enable", "POLL_INTERVAL": "2000"},
        "QUEUE_WATERMARK": polled,
        "WRED_ECN_QUEUE": {"FLEX_COUNTER_STATUS": "enable", "POLL_INTERVAL": "10000"},
    }


def test_a_reason_names_the_key_and_what_polling_costs(lab_fabric: Lab) -> None:
    rows = config_of(lab_fabric("telemetry: {}\n")).rows
    reason = next(row.reason for row in rows if row.key == "WRED_ECN_QUEUE")
    assert reason == ("telemetry.counters.wred_queue (enable): SONiC polls 256 queues every 10000 ms (off by default).")


@given(settings_of_groups, st.sampled_from(sorted(RELEASES)), st.booleans())
def test_no_release_gets_a_row_that_it_does_not_poll(
    lab_fabric: Lab, counters: CounterPolicy, release: str, trims: bool
) -> None:
    fabric = lab_fabric()
    policies = fabric.policies._replace(
        sonic=fabric.policies.sonic._replace(release=release),
        telemetry=fabric.policies.telemetry._replace(counters=counters),
    )
    rows = counter_rows(fabric.switch_of["lab-leaf1"].panel, policies, trims=trims)
    keys = [row.key for row in rows]
    assert keys == sorted(set(keys))
    assert set(keys) <= POLLED[release]
    assert "SWITCH" not in keys or trims
    for row in rows:
        assert row.fields["FLEX_COUNTER_STATUS"] in {"enable", "disable"}
        # sonic-flex_counter.yang: from 100 on, and none in PFCWD.
        assert row.key != "PFCWD" or "POLL_INTERVAL" not in row.fields
        assert int(str(row.fields.get("POLL_INTERVAL", "100"))) >= 100


def test_only_a_switch_that_trims_counts_its_trimmed_packets(lab_fabric: Lab) -> None:
    fabric = lab_fabric("sonic: {release: '202511'}\ntelemetry: {}\n")
    panel = fabric.switch_of["lab-leaf1"].panel
    assert [row.key for row in counter_rows(panel, fabric.policies, trims=False)] == ["WRED_ECN_PORT", "WRED_ECN_QUEUE"]
    assert [row.key for row in counter_rows(panel, fabric.policies, trims=True)] == [
        "SWITCH",
        "WRED_ECN_PORT",
        "WRED_ECN_QUEUE",
    ]


def test_a_release_that_does_not_count_gets_no_row_and_a_note(lab_fabric: Lab) -> None:
    fabric = lab_fabric("sonic: {release: '202411'}\ntelemetry: {}\n")
    assert counters_of(fabric) == {}
    notes = findings(fabric, "RW143")
    assert [(note.severity, note.where.path) for note in notes] == [
        (Severity.INFO, "telemetry.counters.wred_queue"),
        (Severity.INFO, "telemetry.counters.wred_port"),
    ]
    assert notes[0].message == (
        "SONiC 202411 does not poll WRED_ECN_QUEUE (telemetry.counters.wred_queue), so its row is not rendered"
    )
    assert notes[0].fix == "run SONiC 202505 or later (sonic.release), or write `wred_queue: keep`"


@pytest.mark.parametrize(("interval_ms", "is_dear"), [(1300, False), (1250, True)])
def test_polling_that_costs_more_than_three_times_the_default_is_a_warning(
    lab_fabric: Lab, interval_ms: int, is_dear: bool
) -> None:
    # 32 ports cost 95.47 objects a second by default, of which 25.6 are the queues; WRED of ports adds 16. Up to 286.4
    # the queues may cost 200.5, which are 256 queues every 1277 ms.
    fabric = lab_fabric(f"telemetry: {{counters: {{queue: {interval_ms}, wred_queue: keep, wred_port: 2000}}}}\n")
    assert bool(findings(fabric, "RW144")) is is_dear


def test_the_warning_has_the_arithmetic(lab_fabric: Lab) -> None:
    finding = findings(lab_fabric("telemetry: {counters: {queue: 1000}}\n"), "RW144")[0]
    assert finding.message == (
        "a switch of 32 ports reads 383 objects a second for its counters, 4.0 times the 95 of SONiC's own intervals,"
        " 3 at most: 256 queues every 1000 ms, 256 queues every 10000 ms, 32 ports every 1000 ms, the other groups as"
        " SONiC has them"
    )
    assert finding.fix == "raise telemetry.counters.queue; SONiC's own interval is 10000 ms"


def test_a_deployed_switch_gets_the_fields_alone_and_keeps_its_others(lab_fabric: Lab) -> None:
    with_counters = config_of(lab_fabric("telemetry: {}\n"))
    tables: dict[str, Table] = dict(config_of(lab_fabric()).config_db())
    tables["FLEX_COUNTER_TABLE"] = {
        "WRED_ECN_QUEUE": {"FLEX_COUNTER_STATUS": "disable", "FLEX_COUNTER_DELAY_STATUS": "false"},
        "QUEUE": {"FLEX_COUNTER_STATUS": "enable"},
    }
    running = RunningConfig(tables, with_counters.frr)
    delta = diff("lab-leaf1", running, with_counters).delta
    edits = [edit for edit in delta if edit.table == "FLEX_COUNTER_TABLE"]
    assert [(edit.key, edit.field, edit.before, edit.after) for edit in edits] == [
        ("WRED_ECN_PORT", None, None, {"FLEX_COUNTER_STATUS": "enable", "POLL_INTERVAL": "1000"}),
        ("WRED_ECN_QUEUE", "FLEX_COUNTER_STATUS", "disable", "enable"),
        ("WRED_ECN_QUEUE", "POLL_INTERVAL", None, "10000"),
    ]
    assert {edit.disruption for edit in edits} == {Disruption.NONE}


def test_rows_of_an_intent_without_telemetry_stay_as_they_are(lab_fabric: Lab) -> None:
    config = config_of(lab_fabric())
    tables: dict[str, Table] = {
        **config.config_db(),
        "FLEX_COUNTER_TABLE": {"QUEUE": {"FLEX_COUNTER_STATUS": "disable"}},
    }
    delta = diff("lab-leaf1", RunningConfig(tables, config.frr), config).delta
    assert not [edit for edit in delta if edit.table == "FLEX_COUNTER_TABLE"]


@pytest.mark.parametrize(
    ("key", "rows", "interval_ms"),
    [
        ("queue", {}, 10_000),
        ("wred_queue", {}, 0),
        ("queue", {"QUEUE": {"FLEX_COUNTER_STATUS": "disable", "POLL_INTERVAL": "1000"}}, 0),
        ("queue", {"QUEUE": {"POLL_INTERVAL": "1000"}}, 1000),
        ("wred_queue", {"WRED_ECN_QUEUE": {"FLEX_COUNTER_STATUS": "enable"}}, 10_000),
        ("port", {"PORT": {"FLEX_COUNTER_STATUS": "enable", "POLL_INTERVAL": "soon"}}, 1000),
        # The slowest of three rows.
        (
            "watermark",
            {"PG_WATERMARK": {"POLL_INTERVAL": "1000"}, "QUEUE_WATERMARK": {"POLL_INTERVAL": "2000"}},
            60_000,
        ),
    ],
)
def test_rows_say_how_often_a_group_is_polled(key: str, rows: dict[str, dict[str, str]], interval_ms: int) -> None:
    assert polled_every_ms({"FLEX_COUNTER_TABLE": rows}, GROUP_OF[key]) == interval_ms
