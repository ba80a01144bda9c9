"""`railweave exporter`: reads the switches of a target in the background, and serves their metrics."""

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic

from nornir_railweave.device.reading import Comparer
from nornir_railweave.device.session import DEVICE_ERRORS
from nornir_railweave.polling import SwitchPolling
from nornir_railweave.rollout.rollouts import last_written, rollouts
from nornir_railweave.tasks.telemetry import SwitchTelemetry, TelemetryReader
from railweave import __version__
from railweave.api.design.intent import load_configurable
from railweave.api.journal.folder import journal_folder
from railweave.api.journal.history import sources_digest
from railweave.api.monitoring.web_config import OPEN, WebConfig, load_web_config
from railweave.api.operator import Operator
from railweave.api.project import Project
from railweave.api.targets.fabric import LiveFabric, connect
from railweave.errors import RailweaveError, UsageError
from railweave.exporter.model import MonitoredReading
from railweave.exporter.samples import SwitchSampler, served_queues
from railweave.exporter.store import ReadingStore
from railweave.fabric.link_limits import LimitsOf
from railweave.links.cages import Cages
from railweave.plan.lineage import generation_of
from railweave.sonic.document import RunningConfig

INTERVAL_S = 15.0
DRIFT_S = 300.0
"""Comparing a configuration with the intent takes longer than all else, and configurations seldom change."""
LISTEN = "127.0.0.1:9105"
_LAST_PORT = 65535
_FIX = "listen on 127.0.0.1, or name a file with TLS and passwords by --web-config (docs/how-to/prometheus.md)"


@dataclass(frozen=True, slots=True)
class ExporterOptions:
    """How often switches are read and compared with the intent, where scrapes arrive, and who may scrape."""

    listen: str = LISTEN
    interval_s: float = INTERVAL_S
    drift_s: float = DRIFT_S
    web_config: Path | None = None


DEFAULT_OPTIONS = ExporterOptions()


class Exporter:
    """Reads the switches of a fabric into a store."""

    def __init__(
        self,
        operator: Operator,
        live: LiveFabric,
        options: ExporterOptions,
        intent_digest: str = "",
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Prepare; nothing is read yet. ``intent_digest`` is what a switch reports once the intent is deployed."""
        fabric = live.designed.fabric
        names = [switch.name for switch in fabric.switches]
        self.store = ReadingStore(names, options.interval_s, clock, __version__)
        self._reachable = [name for name in names if name in live.nornir.inventory.hosts]
        for name in names:
            if name not in live.nornir.inventory.hosts:
                self.store.fail(name, "the target has no address of it")
        cages = Cages(fabric)
        limits = LimitsOf(fabric)
        self._samplers = {name: SwitchSampler(fabric, name, cages, limits, live.scope) for name in names}
        self._comparer = Comparer(fabric, live.intended, unresolved=bool(live.missing_secrets))
        self._operator = operator
        self._live = live
        self._options = options
        self._clock = clock
        # When a switch was last compared with the intent, and what it ran; None if its drift is unknown.
        self._compared: dict[str, tuple[float, RunningConfig | None]] = {}
        # The journals of rollouts when all of them were over.
        self._ended_journals: Mapping[Path, int] = {}
        self._telling = Lock()
        self._intent_digest = intent_digest
        self._ended = Event()
        self._polling = _polling_of(live, self._reachable, options.interval_s)

    def page(self, name: str | None) -> str | None:
        """Return the metrics of a switch, or without a name the exporter's own; None for an unknown switch."""
        if name is None:
            return self.store.own_page()
        try:
            return self.store.page(name)
        except KeyError:
            return None

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read all switches again and again until the block ends."""
        Thread(target=self._watch_rollouts, name="watch rollouts", daemon=True).start()
        self._polling.start(self.store.begin, self.take)
        try:
            yield
        finally:
            self._ended.set()
            self._polling.stop()

    def read_once(self) -> None:
        """Read all switches once."""
        self._polling.read_once(self.store.begin, self.take)

    def take(self, name: str, answered: object) -> None:
        """Take the result of a task: a `SwitchTelemetry`, or the exception that ended it."""
        if not isinstance(answered, SwitchTelemetry):
            self._failed(name, f"this is a bug in railweave: {type(answered).__name__}: {answered}")
            return
        if answered.error or answered.reading is None:
            self._failed(name, answered.error)
            return
        reading = MonitoredReading(
            answered.observation, answered.reading.status, answered.reading.running, answered.telemetry or {}
        )
        try:
            earlier = self.store.put(name, self._samplers[name](reading))
            self._compare(name, reading)
        # A bug that shows on this switch must not end the readings of the others.
        except Exception as fault:
            self._failed(name, f"its answer cannot be used: {type(fault).__name__}: {fault}")
            return
        self._tell(name, earlier)

    def _failed(self, name: str, error: str) -> None:
        earlier = self.store.fail(name, error)
        self._compared.pop(name, None)
        self._tell(name, earlier)

    def _tell(self, name: str, earlier: str | None) -> None:
        """Tell the operator what is wrong with a switch, once, and that it is right again."""
        error = self.store.error(name)
        if error == earlier or (earlier is None and not error):
            return
        self._say(f"{name}: {error or 'read in full again'}")

    def _say(self, note: str) -> None:
        with self._telling:
            self._operator.tell(note)

    def _compare(self, name: str, reading: MonitoredReading) -> None:
        """Count the rows that differ from the intent, if it is time."""
        now = self._clock()
        compared_at, running = self._compared.get(name, (-self._options.drift_s, None))
        if now - compared_at < self._options.drift_s:
            return
        self._compared[name] = now, reading.running
        deployed = generation_of(reading.status.generation).digest
        if self._intent_digest and deployed not in ("", self._intent_digest):
            # A rollout of a changed intent is no drift, and neither is what is not deployed yet.
            self._compared[name] = now, None
            self.store.put_drift(name, None)
            self._say(f"{name}: runs another state of the intent: its drift is unknown until the exporter is restarted")
            return
        # A driver gives the same object again while nothing changed.
        if running is reading.running:
            return
        rows = None
        # The drift of a configuration that cannot be compared is unknown, and its counters are none the worse.
        with suppress(*DEVICE_ERRORS):
            rows = self._comparer.changes(name, reading.running)
        self.store.put_drift(name, rows)

    def _watch_rollouts(self) -> None:
        """Note which switches a rollout changes that runs on this machine: they may not answer for a while."""
        while not self._ended.wait(self._options.interval_s):
            self.store.put_rolling(self._rolling())

    def _rolling(self) -> frozenset[str]:
        folder = journal_folder()
        fabric = self._live.designed.fabric.name
        written = last_written(folder, fabric)
        # To read the journal of a rollout takes longer than to read a switch.
        if written == self._ended_journals:
            return frozenset()
        for rollout in rollouts(folder, fabric, self._live.target.name):
            if rollout.alive:
                return frozenset(rollout.devices)
            # Older ones are over.
            if rollout.finished:
                break
        self._ended_journals = written
        return frozenset()


def _polling_of(live: LiveFabric, names: list[str], interval_s: float) -> SwitchPolling:
    """Return the readings of the switches ``names``; nothing is read yet."""
    reader = TelemetryReader(served_queues(live.designed.fabric))
    at_once = 0
    if live.target.login.jump is not None:
        at_once = live.target.login.jump.channels
    return SwitchPolling(live.nornir, names, reader.read, interval_s=interval_s, at_once=at_once)


def exporter_of(project: Project, target: str, options: ExporterOptions) -> Exporter:
    """Return the exporter of the project's fabric on ``target``; nothing is read yet.

    Raises RefusedError, UsageError, and UsageError for a target with sites.
    """
    designed = load_configurable(project.intent)
    live = connect(project, designed, target, partial=True)
    if live.target.sites:
        raise UsageError(
            f"target {target} has sites, and the exporter reads switches itself: run an exporter at each site, with a"
            " target file of its switches"
        )
    return Exporter(project.operator, live, options, sources_digest(designed.intent.sha256))


def exporter_once(project: Project, target: str, options: ExporterOptions = DEFAULT_OPTIONS) -> str:
    """Read every switch of ``target`` once and return the metrics of all, as for node_exporter's textfile collector.

    Counters of error rates need two readings and are missing. Raises RefusedError, UsageError.
    """
    exporter = exporter_of(project, target, options)
    exporter.read_once()
    return exporter.store.all_switches()


def serve_exporter(project: Project, target: str, options: ExporterOptions = DEFAULT_OPTIONS) -> None:
    """Read the switches of ``target`` in the background and serve their metrics, until SIGTERM or Ctrl-C.

    Raises RefusedError with every fault of the web configuration, UsageError for an address that would be open to
    others, and RailweaveError if it is in use.
    """
    from railweave.api.monitoring.server import MetricsServer

    config = OPEN
    if options.web_config is not None:
        config = load_web_config(options.web_config)
    host, port = listen_address(options.listen, config)
    exporter = exporter_of(project, target, options)
    try:
        server = MetricsServer(host, port, exporter.page, config)
    except OSError as fault:
        raise RailweaveError(
            f"{options.listen} cannot be listened on: {fault.strerror}; name a free port by --listen"
        ) from None
    scheme = "http" if config.tls is None else "https"
    # Fabric and intent stay to the end: Python need not look through them again and again.
    gc.freeze()
    with server, exporter.reading():
        project.operator.tell(f"serving {scheme}://{host}:{server.port}/metrics; SIGTERM or Ctrl-C ends it")
        with suppress(KeyboardInterrupt):
            server.serve_forever()


def listen_address(text: str, config: WebConfig) -> tuple[str, int]:
    """Return the host and port of ``ADDRESS:PORT``; raises UsageError, also if others could read without a password."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    try:
        is_loopback = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        raise UsageError(f"--listen {text}: not an address and a port, such as {LISTEN}") from None
    if not port.isdecimal() or int(port) > _LAST_PORT:
        raise UsageError(f"--listen {text}: {port or 'nothing'} is not a port, such as in {LISTEN}")
    if not is_loopback and (config.tls is None or not config.users):
        raise UsageError(f"--listen {text}: without TLS and a password only this machine may read metrics; {_FIX}")
    return host, int(port)
