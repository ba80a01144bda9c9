"""How a fabric is monitored: the ``telemetry:`` of an intent, with its defaults."""

from enum import StrEnum
from typing import Final, NamedTuple

from railweave.fabric.counter_groups import CounterPolicy


class TelemetryFeature(NamedTuple):
    """What the intent may ask for and only some switches can."""

    # The key in ``telemetry``.
    key: str
    # The first release whose orchagent has it.
    since: str
    # The vendor of the ASICs that have it, as `Panel.asic` begins.
    vendor: str
    # In words.
    what: str

    def runs_on(self, asic: str, release: str) -> bool:
        """Tell whether switches of an ASIC and release have it."""
        return release >= self.since and asic.startswith(self.vendor)


# sonic-swss orchagent/high_frequency_telemetry: branches from 202511 on have it, 202505 has the YANG model alone. The
# SAI of other vendors streams no statistics (HFTelOrch::isSupportedHFTel).
HIGH_FREQUENCY: Final = TelemetryFeature("high_frequency_us", "202511", "NVIDIA", "stream counters")
# sonic-swss orchagent/pfc_detect_broadcom.lua: the scripts of other vendors do not read it.
PFC_HISTORY: Final = TelemetryFeature("pfc_history", "202511", "Broadcom", "estimate the time of pauses")
# sonic-gnmi.yang and docker-sonic-gnmi of 202305 and 202311 have no users.
GNMI_USERS: Final = TelemetryFeature("gnmi.user_auth", "202405", "", "tell the users of gNMI apart")

GNMI_PORT: Final = 8080
"""The port of SONiC's gNMI server without a row (sonic-buildimage dockers/docker-sonic-gnmi/gnmi-native.sh)."""


class GnmiUserAuth(StrEnum):
    """How SONiC's gNMI server knows who asks."""

    PASSWORD = "password"  # noqa: S105  a word of SONiC's model
    JWT = "jwt"
    CERT = "cert"


class GnmiPolicy(NamedTuple):
    """``telemetry.gnmi``: SONiC's gNMI server; files are paths on the switches."""

    port: int = GNMI_PORT
    # None leaves SONiC's own: clients need a certificate.
    client_auth: bool | None = None
    user_auth: GnmiUserAuth | None = None
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None


class NicCounterPolicy(NamedTuple):
    """``telemetry.nic_counters``: what the nodes write for node_exporter because its own collectors lack it."""

    # The folder on the nodes that node_exporter's textfile collector reads.
    directory: str
    # node_exporter is 1.11 or newer: its collector `infiniband` has the hw_counters of mlx5.
    infiniband_hw_counters: bool = False


class TelemetryPolicy(NamedTuple):
    """The keys of ``telemetry:``; each is described in docs/reference/intent.md."""

    # Seconds between two scrapes; windows and delays of alerts are multiples of it.
    scrape_s: int = 15
    # Where Prometheus reaches the exporter, the node_exporter with thresholds.prom, and Alertmanager.
    exporter: str = "localhost:9105"
    textfile: str = "localhost:9100"
    alertmanager: str = "localhost:9093"
    # The port of node_exporter on the nodes.
    node_port: int = 9100
    # Alertmanager posts alerts to this URL; None configures a receiver without integration.
    webhook: str | None = None
    # Begins the links to the runbook pages.
    runbooks: str = "docs/runbooks"
    # What switches count; None without `telemetry:` in the intent, which leaves the switches' rows alone.
    counters: CounterPolicy | None = None
    # Microseconds between two samples of streamed counters; None streams none.
    high_frequency_us: int | None = None
    # Whether the PFC watchdog estimates how long queues were paused.
    pfc_history: bool = False
    # None leaves the gNMI server as it is.
    gnmi: GnmiPolicy | None = None
    # None installs nothing on the nodes.
    nic_counters: NicCounterPolicy | None = None
