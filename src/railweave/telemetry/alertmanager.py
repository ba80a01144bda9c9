"""``alertmanager.yml``: one receiver, and which alerts another one inhibits.

A dead spine takes all of its links and sessions down, a rollout some of them: the marking alerts of the cables and of
the device keep these quiet at both ends, so that a cause is one alert and planned work is none.
"""

from typing import Any

from railweave.export.yaml_text import yaml_text
from railweave.fabric.telemetry import TelemetryPolicy
from railweave.telemetry.prometheus import WRITTEN
from railweave.telemetry.rules import devices, links, loss
from railweave.telemetry.rules.model import AlertRule, AlertSeverity

_NO_ONE = "no-one"
_FABRIC = "fabric"
_ALL = f'severity!="{AlertSeverity.NONE}"'
# Alerts that belong together arrive within two scrapes of each other.
_WAIT_SCRAPES = 2


def alertmanager_text(policy: TelemetryPolicy) -> str:
    """Return the configuration of Alertmanager."""
    receiver: dict[str, Any] = {"name": _FABRIC}
    if policy.webhook:
        receiver["webhook_configs"] = [{"url": policy.webhook, "send_resolved": True}]
    document = {
        "route": {
            "receiver": _FABRIC,
            "group_by": ["fabric", "rule", "device"],
            "group_wait": f"{_WAIT_SCRAPES * policy.scrape_s}s",
            "group_interval": "5m",
            "repeat_interval": "12h",
            "routes": [{"matchers": [f'severity="{AlertSeverity.NONE}"'], "receiver": _NO_ONE}],
        },
        "inhibit_rules": [
            _inhibition(devices.CABLE_OUT, [_ALL], "cable"),
            # The alert that says that a device is down is the one that has to come through.
            _inhibition(devices.DEVICE_OUT, [_ALL, f'rule!="{devices.DEVICE_DOWN.code}"'], "device"),
            # Not a wrong neighbor: a cable in a wrong port leaves another port dark, and is its cause.
            _inhibition(links.LINK_DOWN, [_of(links.BGP_DOWN, links.OPTIC_POWER)], "cable"),
            # The neighbor at a wrong cable has other addresses: its session cannot come up.
            _inhibition(links.WRONG_NEIGHBOR, [_of(links.BGP_DOWN)], "device", "port"),
            _inhibition(links.UNCORRECTABLE, [_of(links.PRE_FEC_BER, links.ERRORS)], "device", "port"),
            # The watchdog drops what a stormed queue gets; pauses for most of the time are what it detected.
            _inhibition(loss.STORM, [_of(loss.QUEUE_DROPS, loss.PAUSED)], "device", "port", "queue"),
            _inhibition(devices.UNREAD, [_of(devices.STALE)], "device"),
        ],
        "receivers": [receiver, {"name": _NO_ONE}],
    }
    return WRITTEN + yaml_text(document)


def _inhibition(source: AlertRule, targets: list[str], *equal: str) -> dict[str, Any]:
    """Return the rule by which ``source`` inhibits alerts that match ``targets`` and have ``equal`` labels."""
    return {
        "source_matchers": [f'rule="{source.code}"'],
        "target_matchers": targets,
        "equal": ["fabric", *equal],
    }


def _of(*rules: AlertRule) -> str:
    codes = "|".join(rule.code for rule in rules)
    return f'rule=~"{codes}"'
