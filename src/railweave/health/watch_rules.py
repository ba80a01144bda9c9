"""The rules that watch a running fabric, by their codes: alerts of Prometheus, rules of `health`, and rules of both.

What `railweave explain CODE` says of them is taken from the rules themselves, so that it cannot differ from them.
"""

import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from railweave.fabric.telemetry import TelemetryPolicy
from railweave.health.model import HealthRule
from railweave.health.registry import RULES
from railweave.telemetry.counting import group_of
from railweave.telemetry.prometheus import runbook_url
from railweave.telemetry.rules.model import AlertRule
from railweave.telemetry.rules.registry import ALERTS

_POLICY = TelemetryPolicy()


class WatchInput(NamedTuple):
    """What a rule reads: a metric of Prometheus, or a kind of counter of `health`."""

    name: str
    help: str
    # The field of SONiC's databases; empty for values of railweave itself and for `health`.
    source: str
    # What turns it on, if something has to.
    enable: str


class WatchRule(NamedTuple):
    """A rule by which a running fabric is watched."""

    code: str
    # Of the alert; empty for a rule that only `health` judges.
    alert: str
    severity: str
    # What the alert says, with the names of its labels in capitals.
    summary: str
    # What is compared with what, and for how long; empty without an alert.
    limit: str
    expression: str
    # What `health` requires, and why; empty for a rule that only an alert watches.
    holds: str
    explanation: str
    inputs: tuple[WatchInput, ...]
    # The page that says what to look at, in the repository.
    runbook: str


@cache
def watch_rules() -> Mapping[str, WatchRule]:
    """Return every rule by its code: alerts in the order of their numbers, then rules that only `health` judges."""
    judged = {rule.code: rule for rule in RULES}
    rules = {alert.code: _rule_of_alert(alert, judged.get(alert.code)) for alert in ALERTS}
    for code, rule in sorted(judged.items()):
        if code not in rules:
            rules[code] = _rule_of_health(rule)
    return rules


def runbook_of(code: str) -> str:
    """Return the path of the runbook page of a code in the repository."""
    return runbook_url(code, _POLICY)


def _rule_of_alert(alert: AlertRule, judged: HealthRule | None) -> WatchRule:
    """Return the rule of an alert; ``judged`` is the rule of `health` with the same code, if there is one."""
    holds = ""
    explanation = ""
    if judged is not None:
        holds = judged.title
        explanation = _explanation(judged)
    return WatchRule(
        code=alert.code,
        alert=alert.name,
        severity=alert.severity.value,
        summary=alert.summary.format_map({label: label.upper() for label in alert.labels}),
        limit=_limit_text(alert),
        expression=alert.promql(_POLICY.scrape_s),
        holds=holds,
        explanation=explanation,
        inputs=tuple(_inputs_of(alert)),
        runbook=runbook_of(alert.code),
    )


def _rule_of_health(rule: HealthRule) -> WatchRule:
    """Return a rule that only `health` judges."""
    inputs = tuple(WatchInput(str(need.kind), f"counter of {need.table}", "", need.fix) for need in rule.needs)
    return WatchRule(
        code=rule.code,
        alert="",
        severity="",
        summary="",
        limit="",
        expression="",
        holds=rule.title,
        explanation=_explanation(rule),
        inputs=inputs,
        runbook=runbook_of(rule.code),
    )


def _explanation(rule: HealthRule) -> str:
    """Return what the module of a rule says of it."""
    return inspect.getdoc(sys.modules[rule.judge.__module__]) or ""


def _limit_text(alert: AlertRule) -> str:
    """Return the comparison of an alert, its limit, and how long it must hold, as people read it."""
    limit = alert.limit.promql
    if alert.limit.metric is not None:
        limit = f"{limit} ({alert.limit.metric.help})"
    duration = "at once"
    seconds = alert.scrapes * _POLICY.scrape_s
    if seconds:
        duration = f"for {alert.scrapes} scrapes ({seconds} s at `telemetry.scrape_s: {_POLICY.scrape_s}`)"
    return f"{alert.comparison} {limit}, {duration}"


def _inputs_of(alert: AlertRule) -> Iterator[WatchInput]:
    """Yield the metrics that an alert reads, each with the command that turns it on, if one has to."""
    for metric in alert.needs:
        group = group_of(metric)
        enable = ""
        if group is not None:
            enable = group.enable
        yield WatchInput(metric.name, metric.help, metric.source, enable)
