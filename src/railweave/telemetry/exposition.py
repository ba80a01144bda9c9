"""``thresholds.prom``: the thresholds in Prometheus' text format, for the textfile collector of node_exporter.

Samples of a metric are together, as the format demands. A fabric of 1,024 switches has up to two million samples in
200 MB. Most ports have the same thresholds, so what follows a port's labels in a line is made once for all of them, and
the text of no more than one switch's ports is in memory at once.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from railweave.fabric.node_metrics import ScrapedMetric
from railweave.telemetry import metrics
from railweave.telemetry.thresholds import PortThresholds, QueueLimits, SwitchThresholds, Thresholds

_BYTES_PER_GBPS = 125_000_000
_MS_PER_S = 1000

_LineEnds = Callable[[PortThresholds], Iterable[str]]
"""The function that yields what follows a port's labels in the lines of a metric: further labels and the value."""


class _AlikePorts(NamedTuple):
    """The ports of a switch that have the same thresholds."""

    thresholds: PortThresholds
    # The start of the labels of each: ``{device="…",port="…",cable="…"``.
    labels: list[str]


class ThresholdsText:
    """The text of ``thresholds.prom``, in parts of any number of lines."""

    def __init__(self, thresholds: Thresholds) -> None:
        """Take the thresholds to write."""
        self._thresholds = thresholds
        # The number of samples in the parts yielded so far.
        self.samples = 0

    def __iter__(self) -> Iterator[str]:
        """Yield the parts, and count their samples."""
        self.samples = 0
        for metric, samples in _samples(self._thresholds):
            # A metric without samples has no header.
            has_header = False
            for text in samples:
                if not has_header:
                    yield f"# HELP {metric} {metric.help}\n# TYPE {metric} {metric.kind}\n"
                    has_header = True
                self.samples += text.count("\n")
                yield text


def _samples(thresholds: Thresholds) -> Iterator[tuple[ScrapedMetric, Iterable[str]]]:
    """Yield the metrics with their samples: texts of any number of lines."""
    yield metrics.DEVICE, map(_device, thresholds.switches)
    yield metrics.LINK, _links(thresholds)
    ports = list(_alike_ports(thresholds))
    for metric, line_ends in _OF_PORTS.items():
        yield metric, _port_samples(metric, line_ends, ports)
    yield metrics.POOL, _pools(thresholds)
    yield metrics.WEIGHT, _weights(thresholds)
    yield metrics.RATE_LIMIT, _rate_limits(thresholds)
    for metric, value in _OF_SWITCHES.items():
        yield metric, _switch_samples(metric, value, thresholds.switches)
    yield metrics.HOLD, _switch_samples(metrics.HOLD, lambda _: thresholds.hold_s, thresholds.switches)
    # A value of the whole fabric, without a device.
    yield metrics.FLOOR, [f"{metrics.FLOOR} {thresholds.floor_percent / 100:g}\n"]


def switch_labels(entry: SwitchThresholds) -> dict[str, str]:
    """Return the labels that say where a switch is: its role, and its pod, plane, rail and stripe where it has one."""
    switch = entry.switch
    places = {"pod": switch.pod, "plane": switch.plane, "rail": switch.rail, "stripe": switch.stripe}
    labels = {"device": switch.name, "role": switch.tier.name}
    labels |= {name: str(value) for name, value in places.items() if value is not None}
    return labels


def _device(entry: SwitchThresholds) -> str:
    labels = ",".join(f'{name}="{value}"' for name, value in switch_labels(entry).items())
    return f"{metrics.DEVICE}{{{labels}}} 1\n"


def _links(thresholds: Thresholds) -> Iterator[str]:
    """Yield the samples of the cabled ports of each switch with their far ends, a text a switch."""
    for entry in thresholds.switches:
        head = f'{metrics.LINK}{{device="{entry.switch.name}",port="'
        lines = []
        for port, cable, peer, peer_port, direction, _ in entry.ports:
            lines.append(
                f'{head}{port}",cable="{cable}",peer="{peer}",peer_port="{peer_port}",direction="{direction}"}} 1\n'
            )
        yield "".join(lines)


def _alike_ports(thresholds: Thresholds) -> Iterator[_AlikePorts]:
    """Yield the ports of each switch, those with the same thresholds together."""
    for entry in thresholds.switches:
        # Equal thresholds are one object, and comparing identities is much faster than comparing values.
        alike_ports: dict[int, _AlikePorts] = {}
        for port in entry.ports:
            alike = alike_ports.setdefault(id(port.thresholds), _AlikePorts(port.thresholds, []))
            alike.labels.append(f'{{device="{entry.switch.name}",port="{port.port}",cable="{port.cable}"')
        yield from alike_ports.values()


def _port_samples(metric: ScrapedMetric, line_ends: _LineEnds, ports: Iterable[_AlikePorts]) -> Iterator[str]:
    """Yield the samples of a metric of ports, for each group of alike ports and each of their line ends."""
    name = metric.name
    # By the identity of thresholds, because equal thresholds are one object.
    ends_of: dict[int, tuple[str, ...]] = {}
    for alike in ports:
        limits = alike.thresholds
        if id(limits) not in ends_of:
            ends_of[id(limits)] = tuple(line_ends(limits))
        for end in ends_of[id(limits)]:
            # One join for the lines of all ports, because a loop over ports would take ten times as long.
            yield f"{name}{(end + name).join(alike.labels)}{end}"


def _of_queues(value: Callable[[QueueLimits], int | None]) -> _LineEnds:
    """Return a function that yields the line ends for a value of each queue; a queue without a value has no sample."""

    def line_ends(limits: PortThresholds) -> Iterator[str]:
        for queue in limits.queues:
            number = value(queue)
            if number is not None:
                yield f',queue="{queue.queue}"}} {number}\n'

    return line_ends


def _starts(limits: PortThresholds) -> Iterator[str]:
    for queue in limits.queues:
        for congested, start_bytes in queue.pfc_start_bytes.items():
            yield f',queue="{queue.queue}",congested="{congested}"}} {start_bytes}\n'


def _fec(limits: PortThresholds) -> Iterator[str]:
    if limits.fec:
        yield f',fec="{limits.fec}"}} 1\n'


def _speed(limits: PortThresholds) -> Iterator[str]:
    yield f"}} {limits.speed_gbps * _BYTES_PER_GBPS}\n"


def _watch_ratio(limits: PortThresholds) -> Iterator[str]:
    if limits.watch_ratio is not None:
        yield f"}} {limits.watch_ratio:.6g}\n"


_OF_PORTS: dict[ScrapedMetric, _LineEnds] = {
    metrics.KMIN: _of_queues(lambda queue: queue.kmin_bytes),
    metrics.KMAX: _of_queues(lambda queue: queue.kmax_bytes),
    metrics.PMAX: _of_queues(lambda queue: queue.pmax_percent),
    metrics.PFC_START: _starts,
    metrics.HEADROOM: _of_queues(lambda queue: queue.headroom_bytes),
    metrics.SPEED: _speed,
    metrics.FEC: _fec,
    metrics.WATCH_RATIO: _watch_ratio,
}


def _watchdog_s(entry: SwitchThresholds, field: str) -> str | None:
    """Return a time of the PFC watchdog in seconds, None where the switch has none."""
    if entry.watchdog is None:
        return None
    return f"{getattr(entry.watchdog, field) / _MS_PER_S:g}"


_OF_SWITCHES: dict[ScrapedMetric, Callable[[SwitchThresholds], object]] = {
    metrics.HEADROOM_SUM: lambda entry: entry.headroom_bytes,
    metrics.SHARED: lambda entry: entry.shared_bytes,
    metrics.DETECTION: lambda entry: _watchdog_s(entry, "detection_ms"),
    metrics.RESTORATION: lambda entry: _watchdog_s(entry, "restoration_ms"),
    metrics.POLL: lambda entry: _watchdog_s(entry, "poll_ms"),
    metrics.SESSIONS: lambda entry: entry.sessions,
    # A switch of the highest tier has no next hops upwards.
    metrics.NEXT_HOPS: lambda entry: entry.next_hops or None,
}


def _switch_samples(
    metric: ScrapedMetric, value: Callable[[SwitchThresholds], object], switches: Iterable[SwitchThresholds]
) -> Iterator[str]:
    """Yield the sample of a metric for each switch; switches whose value is None have none."""
    for entry in switches:
        number = value(entry)
        if number is not None:
            yield f'{metric}{{device="{entry.switch.name}"}} {number}\n'


def _pools(thresholds: Thresholds) -> Iterator[str]:
    for entry in thresholds.switches:
        for pool, size_bytes in entry.pools.items():
            yield f'{metrics.POOL}{{device="{entry.switch.name}",pool="{pool}"}} {size_bytes}\n'


def _weights(thresholds: Thresholds) -> Iterator[str]:
    for entry in thresholds.switches:
        for share in thresholds.shares:
            if not share.strict:
                labels = f'device="{entry.switch.name}",queue="{share.queue}",class="{share.name}"'
                yield f"{metrics.WEIGHT}{{{labels}}} {share.weight}\n"


def _rate_limits(thresholds: Thresholds) -> Iterator[str]:
    """Yield the rate limit of each limited queue by switch and port speed."""
    for entry in thresholds.switches:
        speeds = sorted({port.thresholds.speed_gbps for port in entry.ports})
        for share in thresholds.shares:
            if not share.limit_percent:
                continue
            for speed in speeds:
                labels = f'device="{entry.switch.name}",queue="{share.queue}",class="{share.name}",speed="{speed}"'
                yield f"{metrics.RATE_LIMIT}{{{labels}}} {share.limit_bytes_per_second(speed)}\n"
