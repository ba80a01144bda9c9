"""The rows of FLEX_COUNTER_TABLE that `telemetry.counters` asks for: what a switch counts, and how often.

The table is shared: SONiC fills it at its first boot (init_cfg.json) and operators write it with ``counterpoll``. Of a
row only the fields below are ours, and a row that the intent no longer states stays as it is.
"""

from collections.abc import Iterator

from railweave.fabric.counter_groups import GROUPS, SWITCH, CounterGroup, CounterSetting, CounterState
from railweave.fabric.panel import Panel
from railweave.fabric.policy import Policies
from railweave.fabric.releases import nearest
from railweave.sonic.counter_keys import counter_keys
from railweave.sonic.ownership import FLEX_COUNTERS
from railweave.sonic.rows import Row
from railweave.wording import natural_key


def counter_rows(panel: Panel, policies: Policies, *, trims: bool) -> tuple[Row, ...]:
    """Return the rows of a switch in the order of their keys; none without `telemetry.counters`.

    ``trims`` tells whether the switch trims packets.
    """
    counters = policies.telemetry.counters
    if counters is None:
        return ()
    rows: list[Row] = []
    for group in GROUPS:
        setting = counters.of(group)
        if setting.state is CounterState.KEEP or not _is_polled(group, policies.sonic.release, trims=trims):
            continue
        rows += _rows(group, setting, len(panel.ports))
    return tuple(sorted(rows, key=lambda row: natural_key(row.key)))


def _is_polled(group: CounterGroup, release: str, *, trims: bool) -> bool:
    """Tell whether orchagent of a release polls a group: a YANG model may know a row that does nothing."""
    if group is SWITCH and not trims:
        return False
    return nearest(release) >= group.since


def _rows(group: CounterGroup, setting: CounterSetting, ports: int) -> Iterator[Row]:
    """Yield the rows of a group of counters on a switch with so many ports."""
    fields = {"FLEX_COUNTER_STATUS": setting.state.value}
    # The watchdog has an interval of its own (PFC_WD|GLOBAL), and its model takes none here.
    if setting.state is CounterState.ENABLE and group.poll_ms:
        fields["POLL_INTERVAL"] = str(group.interval_ms(setting))
    for key in counter_keys(group):
        yield Row(FLEX_COUNTERS, key, fields, _reason(group, setting, ports))


def _reason(group: CounterGroup, setting: CounterSetting, ports: int) -> str:
    """Return why a group of counters is polled or not, on a switch with so many ports."""
    intent = f"telemetry.counters.{group.key} ({setting.poll_ms or setting.state.value})"
    if setting.state is CounterState.DISABLE:
        return f"{intent}: SONiC stops polling {group.objects}."
    if not group.poll_ms:
        return f"{intent}: SONiC polls {group.objects}."
    default = "on" if group.is_on_by_default else "off"
    interval_ms = group.interval_ms(setting)
    return f"{intent}: SONiC polls {group.count(ports)} {group.objects} every {interval_ms} ms ({default} by default)."
