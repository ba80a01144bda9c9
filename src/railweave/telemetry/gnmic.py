"""``gnmic.yaml``: SONiC's own gNMI instead of the exporter, with the paths of its ``COUNTERS_DB``.

SONiC sends every value as text and names ports by their alias, so that a script of gnmic (`event-starlark`) turns each
leaf into a metric of `metrics`. What lies in other databases (optics, flaps, LLDP, BGP) is left to the exporter.
"""

import json
from collections.abc import Mapping
from typing import Any

from railweave.export.yaml_text import yaml_text
from railweave.fabric.model import Fabric
from railweave.fabric.node_metrics import ScrapedMetric
from railweave.fabric.releases import nearest
from railweave.fabric.telemetry import GnmiPolicy
from railweave.telemetry import metrics
from railweave.telemetry.prometheus import WRITTEN

_PATHS = (
    "COUNTERS/Ethernet*",
    "COUNTERS/Ethernet*/Queues",
    "COUNTERS/Ethernet*/Pfcwd",
    "PERIODIC_WATERMARKS/Ethernet*/PriorityGroups",
    "RATES/Ethernet*",
)
# sonic-gnmi of branch 202505 (9e9223d8) is older than that of 202411 and does not know it.
_NOT_IN = {"202505": frozenset({"PERIODIC_WATERMARKS/Ethernet*/PriorityGroups"})}
_PERIODIC = "PERIODIC_WATERMARKS "
_SECONDS_PER_US = 1e-6

SCRIPT = """\
# Pairs of metric and factor by the field, and the label of its index.
FIELDS = @FIELDS@
PERIODIC = @PERIODIC@
ALIASES = @ALIASES@
PANEL_OF = @PANEL_OF@

def is_number(text):
    return text.strip("0123456789.eE+-") == "" and text.strip(".eE+-") != ""

def convert(event, path, value):
    parts = path.split("/")
    if len(parts) < 3:
        return None
    field, key = parts[-1], parts[-2]
    # An alias such as Ethernet1/1 has a slash.
    if not key[:1].isalpha():
        key = parts[-3] + "/" + key
    index = ""
    if field.startswith("SAI_PORT_STAT_PFC_"):
        index = field[18:19]
        field = field[:18] + "<priority>" + field[19:]
    if field not in FIELDS or not is_number(str(value)):
        return None
    words = key.split(":")
    is_periodic = words[-1] == "periodic" or "PERIODIC_WATERMARKS" in parts
    # A failed reading of a watermark is stored as 2^64 - 1 and stays.
    if field in PERIODIC and (not is_periodic or float(value) >= 9.2e18):
        return None
    if len(words) > 1:
        index = words[1]
    metric, factor, label = FIELDS[field]
    device = event.tags.get("target", "")
    tags = {"device": device, "port": ALIASES[PANEL_OF.get(device, 0)].get(words[0], words[0])}
    if label:
        tags[label] = index
    return Event(event.name, event.timestamp, {metric: float(value) * factor}, tags, [])

def apply(*events):
    converted = []
    for event in events:
        for path, value in (event.values or {}).items():
            metric = convert(event, path, value)
            if metric:
                converted.append(metric)
    return converted
"""


def gnmic_text(fabric: Fabric) -> str:
    """Return the configuration of gnmic: a target a switch, SONiC's paths, and Prometheus metrics as output."""
    absent = _NOT_IN.get(nearest(fabric.policies.sonic.release), frozenset())
    gnmi = fabric.policies.telemetry.gnmi or GnmiPolicy()
    document = {
        "targets": {f"{switch.name}:{gnmi.port}": _target(switch.name, gnmi) for switch in fabric.switches},
        "subscriptions": {
            "counters": {
                "target": "COUNTERS_DB",
                "paths": [path for path in _PATHS if path not in absent],
                "mode": "stream",
                "stream-mode": "sample",
                "sample-interval": f"{fabric.policies.telemetry.scrape_s}s",
                "encoding": "json_ietf",
            }
        },
        "outputs": {
            "prometheus": {
                "type": "prometheus",
                "listen": ":9804",
                "path": "/metrics",
                "append-subscription-name": False,
                "event-processors": ["metrics"],
            }
        },
    }
    processors = "processors:\n  metrics:\n    event-starlark:\n      source: |\n"
    lines = "".join(f"        {line}\n" if line else "\n" for line in starlark(fabric).splitlines())
    return WRITTEN + yaml_text(document) + processors + lines


def _target(name: str, gnmi: GnmiPolicy) -> Mapping[str, Any]:
    """Return the target of a switch. Files are on the collector, and users in its environment (GNMIC_USERNAME)."""
    target: dict[str, Any] = {"name": name, "tls-ca": "/etc/gnmic/ca.crt"}
    # SONiC requires a certificate of clients unless `client_auth` is false.
    if gnmi.client_auth is not False:
        target["tls-cert"] = "/etc/gnmic/client.crt"
        target["tls-key"] = "/etc/gnmic/client.key"
    return {**target, "subscriptions": ["counters"], "outputs": ["prometheus"]}


def starlark(fabric: Fabric) -> str:
    """Return the Starlark script with which gnmic turns the leaves of SONiC's YANG models into metrics."""
    # By identity: switches share the objects of their panels, and a panel is not hashable.
    panels = {id(switch.panel): switch.panel for switch in fabric.switches}
    number_of_panel = {panel_id: number for number, panel_id in enumerate(panels)}
    values = {
        "@FIELDS@": _metric_of_fields(),
        "@PERIODIC@": [_field_of(metric) for metric in metrics.SCRAPED if metric.source.startswith(_PERIODIC)],
        "@ALIASES@": [{port.alias: port.name for port in panel.ports} for panel in panels.values()],
        "@PANEL_OF@": {switch.name: number_of_panel[id(switch.panel)] for switch in fabric.switches},
    }
    text = SCRIPT
    for placeholder, value in values.items():
        text = text.replace(placeholder, json.dumps(value))
    return text


def _metric_of_fields() -> dict[str, tuple[str, float, str]]:
    """Return (name, factor, second label) of the metric by each field of COUNTERS_DB; the label is empty for none."""
    fields = {}
    for metric in metrics.SCRAPED:
        field = _field_of(metric)
        if field:
            label = "" if len(metric.labels) == 1 else metric.labels[1]
            fields[field] = (metric.name, _factor(metric), label)
    return fields


def _field_of(metric: ScrapedMetric) -> str:
    """Return the field of COUNTERS_DB, empty for metrics from elsewhere."""
    field = metric.source.removeprefix(_PERIODIC).removeprefix("RATES ")
    if field.startswith(("SAI_", "PFC_WD_", "FEC_")):
        return field
    return ""


def _factor(metric: ScrapedMetric) -> float:
    """Return the factor that makes the value of a field one of its metric: seconds of microseconds."""
    if metric.source.endswith("_US"):
        return _SECONDS_PER_US
    return 1.0
