"""The ``telemetry:`` of the intent: where monitoring runs, how often it reads, and what switches count."""

from dataclasses import dataclass
from typing import Annotated, Any

from railweave.fabric.counter_groups import GROUP_OF, CounterGroup, CounterPolicy, CounterSetting, CounterState
from railweave.fabric.telemetry import GNMI_PORT, GnmiPolicy, GnmiUserAuth, NicCounterPolicy, TelemetryPolicy
from railweave.intent.keys import Keys, default, section, unset
from railweave.intent.kinds import Flag, Kind, Text, Whole, Word, refuse, shown

_ADDRESS = r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\]):[0-9]{1,5}"
Address = Annotated[str, Text(what="an address with a port", pattern=_ADDRESS, example="monitor1:9105")]
Url = Annotated[str | None, Text(what="a URL", pattern=r"https?://[^\s\"\\]+", example="https://pager.example/hook")]
Place = Annotated[str, Text(what="a folder or URL", pattern=r"[^\s\"\\{}]+", example="https://docs.example/runbooks")]

# As SONiC's model takes them (sonic-gnmi.yang); `.cer` and `.key` are the only endings.
_FOLDERS = r"(?:/[A-Za-z0-9_-]+)*/[A-Za-z0-9_-]+"
CertificateFile = Annotated[
    str | None,
    Text(what="the path of a certificate", pattern=rf"{_FOLDERS}\.cer", example="/etc/sonic/telemetry/server.cer"),
]
KeyFile = Annotated[
    str | None, Text(what="the path of a key", pattern=rf"{_FOLDERS}\.key", example="/etc/sonic/telemetry/server.key")
]
# What systemd takes in ReadWritePaths without quotes.
Folder = Annotated[
    str | None,
    Text(
        what="the path of a folder",
        pattern=r"(?:/[A-Za-z0-9_][A-Za-z0-9._-]*)+",
        example="/var/lib/prometheus/node-exporter",
    ),
]

_DEFAULTS = TelemetryPolicy()


@dataclass(frozen=True, slots=True)
class Polling(Kind):
    """``enable``, ``disable``, ``keep``, or the milliseconds between two polls of a group of counters."""

    group: str = ""

    @property
    def _group(self) -> CounterGroup:
        return GROUP_OF[self.group]

    def read(self, value: object) -> CounterSetting:
        """Return the setting. Any other value, and an interval out of range, is refused."""
        if value in [state.value for state in CounterState]:
            return CounterSetting(CounterState(value))
        group = self._group
        # A truth value is an int in Python. A group without an interval of its own takes words only.
        if isinstance(value, bool) or not isinstance(value, int) or not group.poll_ms:
            refuse("RW014", f"{shown(value)} is not a valid polling", self._fix(value))
        if not group.least_ms <= value <= group.most_ms:
            fix = f"{self._fix(value)}, as `{group.command} interval` takes them"
            refuse("RW013", f"{shown(value)} is out of range", fix)
        return CounterSetting(CounterState.ENABLE, value)

    def _fix(self, value: object) -> str:
        """Return how to correct ``value``: the word that it probably means, or all that may be written."""
        if value is True or value == "on":
            return "write `enable`"
        if value is False or value == "off":
            return "write `disable`"
        group = self._group
        if not group.poll_ms:
            return "write `enable`, `disable` or `keep`"
        return f"write `enable`, `disable`, `keep`, or milliseconds from {group.least_ms} to {group.most_ms}"

    def form(self) -> dict[str, Any]:
        """Return the words, and the bounds of the interval."""
        words: dict[str, Any] = {"enum": [state.value for state in CounterState]}
        group = self._group
        if not group.poll_ms:
            return words
        return {"anyOf": [words, {"type": "integer", "minimum": group.least_ms, "maximum": group.most_ms}]}


class CounterKeys(Keys):
    """What each switch counts: `enable`, `disable`, milliseconds between two polls, or `keep` for its own row."""

    port: Annotated[CounterSetting, Polling(group="port")] = default(
        "keep", "packets, errors, PFC frames and FEC of ports; SONiC polls them every 1000 ms"
    )
    queue: Annotated[CounterSetting, Polling(group="queue")] = default(
        "keep", "packets and drops of queues; SONiC polls them every 10000 ms"
    )
    watermark: Annotated[CounterSetting, Polling(group="watermark")] = default(
        "keep", "watermarks of queues, priority groups and buffer pools; SONiC polls them every 60000 ms"
    )
    pg_drop: Annotated[CounterSetting, Polling(group="pg_drop")] = default(
        "keep", "drops of priority groups; SONiC polls them every 10000 ms"
    )
    port_buffer_drop: Annotated[CounterSetting, Polling(group="port_buffer_drop")] = default(
        "keep", "drops of port buffers, expensive to read; SONiC polls them every 60000 ms"
    )
    phy: Annotated[CounterSetting, Polling(group="phy")] = default(
        "keep", "signal and lock of lanes, from SONiC 202505 on, which polls them every 10000 ms"
    )
    pfcwd: Annotated[CounterSetting, Polling(group="pfcwd")] = default(
        "keep", "storms and pause time of queues that the PFC watchdog watches; SONiC polls them"
    )
    wred_queue: Annotated[CounterSetting, Polling(group="wred_queue")] = default(
        "enable", "ECN marks and WRED drops of queues, from SONiC 202505 on; `enable` is every 10000 ms"
    )
    wred_port: Annotated[CounterSetting, Polling(group="wred_port")] = default(
        "enable", "WRED drops of ports, from SONiC 202505 on; `enable` is every 1000 ms"
    )
    switch: Annotated[CounterSetting, Polling(group="switch")] = default(
        "enable", "trimmed packets of a switch that trims, from SONiC 202511 on; `enable` is every 60000 ms"
    )

    def policy(self) -> CounterPolicy:
        """Return the keys as a frozen value."""
        return CounterPolicy(**dict(self))


class GnmiKeys(Keys):
    """SONiC's gNMI server on the switches; no row is rendered unless a key is stated."""

    port: Annotated[int | None, Whole(least=1, most=65535)] = unset(
        f"port of the server, {GNMI_PORT} as soon as another key is stated"
    )
    client_auth: Annotated[bool | None, Flag()] = unset(
        "whether clients need a certificate; left out, they do (SONiC's own)"
    )
    user_auth: Annotated[GnmiUserAuth | None, Word(words=GnmiUserAuth, what="kind of user")] = unset(
        "how users are known, from SONiC 202405 on"
    )
    ca: CertificateFile = unset("file on the switch: certificate of the authority that signed those of clients")
    certificate: CertificateFile = unset("file on the switch: certificate of the server")
    key: KeyFile = unset("file on the switch: key of the server")

    def policy(self) -> GnmiPolicy | None:
        """Return the keys as a frozen value; None if no key is stated."""
        stated_keys = {name: value for name, value in dict(self).items() if value is not None}
        if not stated_keys:
            return None
        return GnmiPolicy(**stated_keys)


class NicCounterKeys(Keys):
    """Counters of NICs that the nodes write for node_exporter, because its own collectors lack them."""

    directory: Folder = unset("folder on the nodes that node_exporter's textfile collector reads; left out, none")
    infiniband_hw_counters: Annotated[bool, Flag()] = default(
        False, "node_exporter on the nodes is 1.11 or newer and reads NVIDIA's counters itself: they are not written"
    )

    def policy(self) -> NicCounterPolicy | None:
        """Return the keys as a frozen value; None if no folder is stated."""
        if self.directory is None:
            return None
        return NicCounterPolicy(self.directory, self.infiniband_hw_counters)


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

    counters: CounterKeys = section(
        CounterKeys, "what switches count, as soon as the intent has `telemetry`; without it they keep their own rows"
    )

    high_frequency_us: Annotated[int | None, Whole(least=1_000, most=1_000_000)] = unset(
        "microseconds between two samples of counters that NVIDIA switches stream from SONiC 202511 on; left out, none"
    )
    pfc_history: Annotated[bool, Flag()] = default(
        False,
        "the PFC watchdog estimates how long Broadcom switches were paused, from SONiC 202511 on",
    )
    gnmi: GnmiKeys = section(GnmiKeys, "SONiC's gNMI server, which `gnmic.yaml` reads")
    nic_counters: NicCounterKeys = section(NicCounterKeys, "counters of NICs that the nodes write for node_exporter")

    def policy(self, *, counts: bool) -> TelemetryPolicy:
        """Return the keys as a frozen value; ``counts`` tells whether the intent states `telemetry` at all."""
        keys = dict(self)
        keys["counters"] = self.counters.policy() if counts else None
        keys["gnmi"] = self.gnmi.policy()
        keys["nic_counters"] = self.nic_counters.policy()
        return TelemetryPolicy(**keys)
