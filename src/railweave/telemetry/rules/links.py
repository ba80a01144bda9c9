"""Links: down, wrongly cabled, flapping, with errors, and optics beyond their own limits."""

from railweave.fabric.node_metrics import ScrapedMetric
from railweave.telemetry import metrics
from railweave.telemetry.rules.model import (
    AlertRule,
    AlertScope,
    AlertSeverity,
    ExampleSeries,
    RuleLimit,
    rate_by,
)

_PORT = "device, port"
_HOUR_S = 3600


def _gauge(metric: ScrapedMetric) -> str:
    return f"max by ({_PORT}) ({metric})"


LINK_DOWN = AlertRule(
    "AL-10",
    "LinkDown",
    AlertSeverity.CRITICAL,
    AlertScope.PORT,
    _gauge(metrics.PORT_UP),
    "==",
    RuleLimit(0),
    4,
    "the link of {device} {port} to {peer} is down",
    (metrics.PORT_UP,),
    (ExampleSeries(metrics.PORT_UP, 1, 0),),
)
BGP_DOWN = AlertRule(
    "AL-11",
    "BgpSessionDown",
    AlertSeverity.CRITICAL,
    AlertScope.PORT,
    _gauge(metrics.BGP_UP),
    "==",
    RuleLimit(0),
    4,
    "the BGP session of {device} over {port} to {peer} is down",
    (metrics.BGP_UP,),
    (ExampleSeries(metrics.BGP_UP, 1, 0),),
)
WRONG_NEIGHBOR = AlertRule(
    "AL-12",
    "WrongNeighbor",
    AlertSeverity.CRITICAL,
    AlertScope.PORT,
    _gauge(metrics.NEIGHBOR_MATCHES),
    "==",
    RuleLimit(0),
    4,
    "LLDP shows another neighbor on {device} {port} than {peer}: a cable is in the wrong port",
    (metrics.NEIGHBOR_MATCHES,),
    (ExampleSeries(metrics.NEIGHBOR_MATCHES, 1, 0),),
)
FLAPS = AlertRule(
    "AL-13",
    "LinkFlaps",
    AlertSeverity.WARNING,
    AlertScope.PORT,
    rate_by(_PORT, metrics.FLAPS),
    ">=",
    RuleLimit(3),
    0,
    "the link of {device} {port} to {peer} flapped three times within an hour",
    (metrics.FLAPS,),
    (ExampleSeries(metrics.FLAPS, 0, 1),),
    window_s=_HOUR_S,
)
ERRORS = AlertRule(
    "AL-14",
    "LinkErrors",
    AlertSeverity.WARNING,
    AlertScope.PORT,
    rate_by(_PORT, metrics.RECEIVE_ERRORS),
    ">",
    RuleLimit(0),
    4,
    "{device} {port} receives damaged frames from {peer}",
    (metrics.RECEIVE_ERRORS,),
    (ExampleSeries(metrics.RECEIVE_ERRORS, 0, 50),),
)
UNCORRECTABLE = AlertRule(
    "AL-15",
    "FecUncorrectable",
    AlertSeverity.CRITICAL,
    AlertScope.PORT,
    rate_by(_PORT, metrics.UNCORRECTABLE),
    ">",
    RuleLimit(0),
    0,
    "FEC of {device} {port} cannot correct what {peer} sends: packets are lost",
    (metrics.UNCORRECTABLE,),
    (ExampleSeries(metrics.UNCORRECTABLE, 0, 2),),
)
PRE_FEC_BER = AlertRule(
    "AL-16",
    "PreFecBerHigh",
    AlertSeverity.WARNING,
    AlertScope.PORT,
    _gauge(metrics.PRE_FEC_BER),
    ">=",
    # Two decades below what the FEC corrects there is time to clean or replace (`fabric.link_limits`).
    RuleLimit(1, metrics.WATCH_RATIO),
    20,
    "the bit error ratio of {device} {port} from {peer} is high, FEC still corrects it",
    (metrics.PRE_FEC_BER, metrics.WATCH_RATIO),
    (ExampleSeries(metrics.PRE_FEC_BER, 1e-9, 2e-6), ExampleSeries(metrics.WATCH_RATIO, 1e-6, 1e-6)),
)
OPTIC_POWER = AlertRule(
    "AL-17",
    "OpticPowerLow",
    AlertSeverity.WARNING,
    AlertScope.PORT,
    _gauge(metrics.OPTIC_POWER),
    "<",
    RuleLimit(1, metrics.OPTIC_POWER_LOW),
    4,
    "a lane of {device} {port} receives less light from {peer} than its module demands",
    (metrics.OPTIC_POWER, metrics.OPTIC_POWER_LOW),
    (ExampleSeries(metrics.OPTIC_POWER, -1, -9), ExampleSeries(metrics.OPTIC_POWER_LOW, -8, -8)),
)
OPTIC_TEMPERATURE = AlertRule(
    "AL-18",
    "OpticTooHot",
    AlertSeverity.WARNING,
    AlertScope.PORT,
    _gauge(metrics.OPTIC_TEMPERATURE),
    ">",
    RuleLimit(1, metrics.OPTIC_TEMPERATURE_HIGH),
    4,
    "the module in {device} {port} is hotter than it allows",
    (metrics.OPTIC_TEMPERATURE, metrics.OPTIC_TEMPERATURE_HIGH),
    (ExampleSeries(metrics.OPTIC_TEMPERATURE, 50, 75), ExampleSeries(metrics.OPTIC_TEMPERATURE_HIGH, 70, 70)),
)
