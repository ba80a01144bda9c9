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
    code="AL-10",
    name="LinkDown",
    severity=AlertSeverity.CRITICAL,
    scope=AlertScope.PORT,
    observed=_gauge(metrics.PORT_UP),
    comparison="==",
    limit=RuleLimit(0),
    scrapes=4,
    summary="the link of {device} {port} to {peer} is down",
    needs=(metrics.PORT_UP,),
    example=(ExampleSeries(metrics.PORT_UP, 1, 0),),
)
BGP_DOWN = AlertRule(
    code="AL-11",
    name="BgpSessionDown",
    severity=AlertSeverity.CRITICAL,
    scope=AlertScope.PORT,
    observed=_gauge(metrics.BGP_UP),
    comparison="==",
    limit=RuleLimit(0),
    scrapes=4,
    summary="the BGP session of {device} over {port} to {peer} is down",
    needs=(metrics.BGP_UP,),
    example=(ExampleSeries(metrics.BGP_UP, 1, 0),),
)
WRONG_NEIGHBOR = AlertRule(
    code="AL-12",
    name="WrongNeighbor",
    severity=AlertSeverity.CRITICAL,
    scope=AlertScope.PORT,
    observed=_gauge(metrics.NEIGHBOR_MATCHES),
    comparison="==",
    limit=RuleLimit(0),
    scrapes=4,
    summary="LLDP shows another neighbor on {device} {port} than {peer}: a cable is in the wrong port",
    needs=(metrics.NEIGHBOR_MATCHES,),
    example=(ExampleSeries(metrics.NEIGHBOR_MATCHES, 1, 0),),
)
FLAPS = AlertRule(
    code="AL-13",
    name="LinkFlaps",
    severity=AlertSeverity.WARNING,
    scope=AlertScope.PORT,
    observed=rate_by(_PORT, metrics.FLAPS),
    comparison=">=",
    limit=RuleLimit(3),
    scrapes=0,
    summary="the link of {device} {port} to {peer} flapped three times within an hour",
    needs=(metrics.FLAPS,),
    example=(ExampleSeries(metrics.FLAPS, 0, 1),),
    window_s=_HOUR_S,
)
ERRORS = AlertRule(
    code="AL-14",
    name="LinkErrors",
    severity=AlertSeverity.WARNING,
    scope=AlertScope.PORT,
    observed=rate_by(_PORT, metrics.RECEIVE_ERRORS),
    comparison=">",
    limit=RuleLimit(0),
    scrapes=4,
    summary="{device} {port} receives damaged frames from {peer}",
    needs=(metrics.RECEIVE_ERRORS,),
    example=(ExampleSeries(metrics.RECEIVE_ERRORS, 0, 50),),
)
UNCORRECTABLE = AlertRule(
    code="AL-15",
    name="FecUncorrectable",
    severity=AlertSeverity.CRITICAL,
    scope=AlertScope.PORT,
    observed=rate_by(_PORT, metrics.UNCORRECTABLE),
    comparison=">",
    limit=RuleLimit(0),
    scrapes=0,
    summary="FEC of {device} {port} cannot correct what {peer} sends: packets are lost",
    needs=(metrics.UNCORRECTABLE,),
    example=(ExampleSeries(metrics.UNCORRECTABLE, 0, 2),),
)
PRE_FEC_BER = AlertRule(
    code="AL-16",
    name="PreFecBerHigh",
    severity=AlertSeverity.WARNING,
    scope=AlertScope.PORT,
    observed=_gauge(metrics.PRE_FEC_BER),
    comparison=">=",
    # Two decades below what the FEC corrects there is time to clean or replace (`fabric.link_limits`).
    limit=RuleLimit(1, metrics.WATCH_RATIO),
    scrapes=20,
    summary="the bit error ratio of {device} {port} from {peer} is high, FEC still corrects it",
    needs=(metrics.PRE_FEC_BER, metrics.WATCH_RATIO),
    example=(ExampleSeries(metrics.PRE_FEC_BER, 1e-9, 2e-6), ExampleSeries(metrics.WATCH_RATIO, 1e-6, 1e-6)),
)
OPTIC_POWER = AlertRule(
    code="AL-17",
    name="OpticPowerLow",
    severity=AlertSeverity.WARNING,
    scope=AlertScope.PORT,
    observed=_gauge(metrics.OPTIC_POWER),
    comparison="<",
    limit=RuleLimit(1, metrics.OPTIC_POWER_LOW),
    scrapes=4,
    summary="a lane of {device} {port} receives less light from {peer} than its module demands",
    needs=(metrics.OPTIC_POWER, metrics.OPTIC_POWER_LOW),
    example=(ExampleSeries(metrics.OPTIC_POWER, -1, -9), ExampleSeries(metrics.OPTIC_POWER_LOW, -8, -8)),
)
OPTIC_TEMPERATURE = AlertRule(
    code="AL-18",
    name="OpticTooHot",
    severity=AlertSeverity.WARNING,
    scope=AlertScope.PORT,
    observed=_gauge(metrics.OPTIC_TEMPERATURE),
    comparison=">",
    limit=RuleLimit(1, metrics.OPTIC_TEMPERATURE_HIGH),
    scrapes=4,
    summary="the module in {device} {port} is hotter than it allows",
    needs=(metrics.OPTIC_TEMPERATURE, metrics.OPTIC_TEMPERATURE_HIGH),
    example=(ExampleSeries(metrics.OPTIC_TEMPERATURE, 50, 75), ExampleSeries(metrics.OPTIC_TEMPERATURE_HIGH, 70, 70)),
)
