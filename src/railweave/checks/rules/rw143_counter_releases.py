"""SONiC's YANG models take the rows of some counters in releases whose orchagent does not follow them, or on ASICs that
do not count, so a row that is accepted may do nothing. Such rows are not rendered."""

from railweave.checks.registry import Breach, Breaches, rule
from railweave.diagnostics import Severity
from railweave.fabric.counter_groups import GROUPS, SWITCH, CounterGroup, CounterState
from railweave.fabric.model import Fabric
from railweave.fabric.releases import nearest
from railweave.fabric.telemetry import GNMI_USERS, HIGH_FREQUENCY, PFC_HISTORY, TelemetryFeature

RULE = rule(
    "RW143",
    "the release and the ASICs have the counters that `telemetry` turns on",
    __doc__,
    "{sonic: {release: 202411}, telemetry: {}}",
)


@RULE.on_fabric
def check_counter_groups(fabric: Fabric) -> Breaches:
    """Yield an info for each group of counters that the intent turns on or off and the release does not poll."""
    counters = fabric.policies.telemetry.counters
    if counters is None:
        return
    release = nearest(fabric.policies.sonic.release)
    for group in GROUPS:
        is_rendered = counters.of(group).state is not CounterState.KEEP
        if group is SWITCH:
            # Its row is rendered only for switches that trim packets.
            is_rendered = is_rendered and _trims(fabric)
        if is_rendered and release < group.since:
            yield _unpolled(group, release)


@RULE.on_fabric
def check_features(fabric: Fabric) -> Breaches:
    """Yield an info for each other feature of `telemetry` that the release or an ASIC does not have."""
    telemetry = fabric.policies.telemetry
    if telemetry.high_frequency_us is not None:
        yield from _missing_feature(HIGH_FREQUENCY, fabric)
    if telemetry.pfc_history:
        yield from _missing_feature(PFC_HISTORY, fabric)
    if telemetry.gnmi is not None and telemetry.gnmi.user_auth is not None:
        yield from _missing_feature(GNMI_USERS, fabric)


def _missing_feature(feature: TelemetryFeature, fabric: Fabric) -> Breaches:
    """Yield a breach if the release is too old for a feature, or else one for each ASIC that lacks it."""
    release = nearest(fabric.policies.sonic.release)
    path = f"telemetry.{feature.key}"
    if release < feature.since:
        message = f"SONiC {release} does not {feature.what} ({path}), so no row of it is rendered"
        fix = f"run SONiC {feature.since} or later (sonic.release), or leave the key out"
        yield Breach(path, message, fix, Severity.INFO)
        return
    first_switches: dict[str, str] = {}
    for switch in fabric.switches:
        if not feature.runs_on(switch.panel.asic, release):
            first_switches.setdefault(switch.panel.asic, switch.name)
    for asic, switch_name in first_switches.items():
        message = f"the {asic} does not {feature.what} ({path}), so switches such as {switch_name} get no row of it"
        fix = f"nothing to do: only ASICs of {feature.vendor} do"
        yield Breach(path, message, fix, Severity.INFO, (switch_name,))


def _trims(fabric: Fabric) -> bool:
    """Tell whether some switch trims packets."""
    # Late: few intents have lossy RDMA.
    from railweave.sonic.render.trimming import trimming_of

    panels = {id(switch.panel): switch.panel for switch in fabric.switches}
    return any(trimming_of(panel, fabric.policies).queues for panel in panels.values())


def _unpolled(group: CounterGroup, release: str) -> Breach:
    """Return the breach of a group of counters that a release does not poll."""
    # Late: the check of an intent without `telemetry` needs no rows.
    from railweave.sonic.counter_keys import counter_keys

    rows = ", ".join(counter_keys(group))
    message = f"SONiC {release} does not poll {rows} (telemetry.counters.{group.key}), so its row is not rendered"
    fix = f"run SONiC {group.since} or later (sonic.release), or write `{group.key}: keep`"
    return Breach(f"telemetry.counters.{group.key}", message, fix, Severity.INFO)
