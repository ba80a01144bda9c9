"""Which group of counters a metric comes from, so that a check can say which alerts a group that is off disables."""

import re

from railweave.fabric.counter_groups import GROUP_OF, CounterGroup
from railweave.fabric.node_metrics import ScrapedMetric
from railweave.telemetry.rules.model import AlertRule
from railweave.telemetry.rules.registry import ALERTS

# The first expression that matches the field of COUNTERS_DB decides. Fields of other databases belong to no group.
_GROUP_OF_FIELD = (
    (r"WATERMARK", "watermark"),
    (r"PFC_WD_|PAUSE_DURATION", "pfcwd"),
    (r"SAI_QUEUE_STAT_WRED_", "wred_queue"),
    (r"SAI_PORT_STAT_.*WRED_", "wred_port"),
    (r"SAI_QUEUE_STAT_", "queue"),
    (r"SAI_INGRESS_PRIORITY_GROUP_STAT_", "pg_drop"),
    # port_rates.lua computes RATES when it polls the ports.
    (r"SAI_PORT_STAT_|RATES ", "port"),
)


def group_of(metric: ScrapedMetric) -> CounterGroup | None:
    """Return the group of counters that SONiC has to poll for a metric, None if it comes from elsewhere."""
    for pattern, key in _GROUP_OF_FIELD:
        if re.search(pattern, metric.source):
            return GROUP_OF[key]
    return None


def alerts_of(group: CounterGroup) -> tuple[AlertRule, ...]:
    """Return the alerts that cannot fire while a group is off."""
    return tuple(alert for alert in ALERTS if group in map(group_of, alert.needs))
