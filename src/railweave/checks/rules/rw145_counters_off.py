"""Alerts, `health` and `verify` judge what switches count. A group of counters that is off looks like a fabric without
faults: its fields keep their last values, or are missing."""

from railweave.checks.registry import Breach, Breaches, SwitchRead, rule
from railweave.diagnostics import Severity
from railweave.fabric.counter_groups import GROUPS, WATCHDOG, CounterGroup, CounterState
from railweave.fabric.releases import nearest
from railweave.intent.model import Intent
from railweave.sonic.rows import Fields, Table

RULE = rule(
    "RW145",
    "switches poll the counters that alerts need",
    __doc__,
    "telemetry: {counters: {queue: disable}}",
)


@RULE.on_intent
def check_intended_groups(intent: Intent) -> Breaches:
    """Yield a warning for each group of counters that the intent turns off and alerts need."""
    counters = intent.policies.telemetry.counters
    if counters is None:
        return
    for group in GROUPS:
        alerts = _alerts(group)
        if counters.of(group).state is CounterState.DISABLE and alerts:
            path = f"telemetry.counters.{group.key}"
            message = f"{path} is disabled: {alerts} cannot fire"
            yield Breach(path, message, "write `enable`, or `keep` for SONiC's own row", Severity.WARNING)


@RULE.on_switch
def check_polled_groups(switch: SwitchRead) -> Breaches:
    """Yield a warning for each group of counters that a switch does not poll and alerts need."""
    # Imported late: checks of an intent alone need no rows.
    from railweave.sonic.ownership import FLEX_COUNTERS

    # A whole CONFIG_DB without the table has no rows of it. If only some tables were read, nothing is known about one
    # that is not among them.
    is_known = switch.read.knows(FLEX_COUNTERS) or switch.read.is_whole
    if not is_known:
        return
    table = switch.read.table(FLEX_COUNTERS)
    for group in GROUPS:
        # The group of the watchdog is judged by check W-1.
        if group is WATCHDOG or not _is_needed(switch, group):
            continue
        unpolled_keys = _unpolled_keys(group, table)
        alerts = _alerts(group)
        if unpolled_keys and alerts:
            message = f"{switch.name} does not poll {', '.join(unpolled_keys)}: {alerts} cannot fire"
            yield Breach("", message, f"`sudo {group.enable}`", Severity.WARNING, devices=(switch.name,))


def _unpolled_keys(group: CounterGroup, table: Table) -> list[str]:
    """Return the keys of a group that a switch does not poll."""
    from railweave.sonic.counter_keys import counter_keys

    return [key for key in counter_keys(group) if not _is_polled(group, table.get(key, {}))]


def _is_needed(switch: SwitchRead, group: CounterGroup) -> bool:
    """Tell whether a switch should poll a group: what SONiC does by default, and what the intent turns on."""
    counters = switch.fabric.policies.telemetry.counters
    if nearest(switch.fabric.policies.sonic.release) < group.since:
        return False
    if counters is None:
        return group.is_on_by_default
    return counters.of(group).state is not CounterState.DISABLE


def _is_polled(group: CounterGroup, row: Fields) -> bool:
    # Without a row, or a status, SONiC's default holds only for a group that init_cfg.json turns on.
    status = row.get("FLEX_COUNTER_STATUS")
    if status is None:
        return group.is_on_by_default
    return status == "enable"


def _alerts(group: CounterGroup) -> str:
    """Return the alerts that need a group, such as ``alerts AL-1, AL-4``; empty if none does."""
    # Late: the rules of alerts are needed by few intents.
    from railweave.telemetry.counting import alerts_of

    codes = [alert.code for alert in alerts_of(group)]
    if not codes:
        return ""
    return f"alert{'s' * (len(codes) > 1)} {', '.join(codes)}"
