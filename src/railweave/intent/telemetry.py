"""The ``telemetry:`` of the intent: where monitoring runs, and how often it reads."""

from typing import Annotated

from railweave.fabric.telemetry import TelemetryPolicy
from railweave.intent.keys import Keys, default, unset
from railweave.intent.kinds import Text, Whole

_ADDRESS = r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\]):[0-9]{1,5}"
Address = Annotated[str, Text(what="an address with a port", pattern=_ADDRESS, example="monitor1:9105")]
Url = Annotated[str | None, Text(what="a URL", pattern=r"https?://[^\s\"\\]+", example="https://pager.example/hook")]
Place = Annotated[str, Text(what="a folder or URL", pattern=r"[^\s\"\\{}]+", example="https://docs.example/runbooks")]

_DEFAULTS = TelemetryPolicy()


class TelemetryKeys(Keys):
    """Where the files of `railweave telemetry render` find exporters and receivers."""

    scrape_s: Annotated[int, Whole(least=1, most=120)] = default(
        _DEFAULTS.scrape_s, "seconds between two scrapes; windows and delays of alerts are multiples of it"
    )
    exporter: Address = default(_DEFAULTS.exporter, "where Prometheus reaches the exporter of switch metrics")
    textfile: Address = default(_DEFAULTS.textfile, "where Prometheus reaches the node_exporter with thresholds.prom")
    alertmanager: Address = default(_DEFAULTS.alertmanager, "where Prometheus reaches Alertmanager")
    node_port: Annotated[int, Whole(least=1, most=65535)] = default(
        _DEFAULTS.node_port, "port of node_exporter on the nodes"
    )
    webhook: Url = unset("URL that Alertmanager posts alerts to; left out, its own page shows them")
    runbooks: Place = default(_DEFAULTS.runbooks, "begins the links of alerts to their runbook pages")

    def policy(self) -> TelemetryPolicy:
        """Return the keys as a frozen value."""
        return TelemetryPolicy(**dict(self))
