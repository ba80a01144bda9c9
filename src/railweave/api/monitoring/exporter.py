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


@dataclass(frozen=True, slots=True)
class _DriftComparison:
    """When a switch was compared with the intent, and the configuration that it ran.

    ``running`` is None where the switch ran another state of the intent, so that its drift is unknown.
    """

    at_s: float
    running: RunningConfig | None


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
        self._reachable: list[str] = []
        for name in names:
            if name in live.nornir.inventory.hosts:
                self._reachable.append(name)
            else:
                self.store.fail(name, "the target has no address of it")
        cages = Cages(fabric)
        limits = LimitsOf(fabric)
        self._samplers = {name: SwitchSampler(fabric, name, cages, limits, live.scope) for name in names}
        self._comparer = Comparer(fabric, live.intended, unresolved=bool(live.missing_secrets))
        self._operator = operator
        self._live = live
        self._options = options
        self._clock = clock
        # The last comparison of each switch; none for a switch whose last reading failed.
        self._comparisons: dict[str, _DriftComparison] = {}
        # When each journal was last written, noted once no rollout ran.
        self._ended_journals: Mapping[Path, int] = {}
        self._tell_lock = Lock()
        self._intent_digest = intent_digest
        self._stopped = Event()
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
            self._stopped.set()
            self._polling.stop()

    def read_once(self) -> None:
        """Read all switches once."""
        self._polling.read_once(self.store.begin, self.take)

    def take(self, name: str, answer: object) -> None:
        """Take the result of a task: a `SwitchTelemetry`, or the exception that ended it."""
        if not isinstance(answer, SwitchTelemetry):
            self._fail(name, f"this is a bug in railweave: {type(answer).__name__}: {answer}")
            return
        if answer.error or answer.reading is None:
            self._fail(name, answer.error)
            return
        reading = MonitoredReading(
            answer.observation, answer.reading.status, answer.reading.running, answer.telemetry or {}
        )
        try:
            previous_error = self.store.put(name, self._samplers[name](reading))
            self._compare(name, reading)
        # A bug that shows on this switch must not end the readings of the others.
        except Exception as fault:
            self._fail(name, f"its answer cannot be used: {type(fault).__name__}: {fault}")
            return
        self._report_change(name, previous_error)

    def _fail(self, name: str, error: str) -> None:
        """Note that a switch could not be read."""
        previous_error = self.store.fail(name, error)
        self._comparisons.pop(name, None)
        self._report_change(name, previous_error)

    def _report_change(self, name: str, previous_error: str | None) -> None:
        """Tell the operator once what is wrong with a switch, and once that it can be read in full again.

        ``previous_error`` is that of the reading before: empty if it was complete, None on the first reading.
        """
        error = self.store.error(name)
        if error == previous_error:
            return
        is_first_success = previous_error is None and not error
        if is_first_success:
            return
        self._say(f"{name}: {error or 'read in full again'}")

    def _say(self, note: str) -> None:
        with self._tell_lock:
            self._operator.tell(note)

    def _compare(self, name: str, reading: MonitoredReading) -> None:
        """Count the rows that differ from the intent, unless the switch was compared less than ``drift_s`` ago."""
        now_s = self._clock()
        last = self._comparisons.get(name)
        if last is not None and now_s - last.at_s < self._options.drift_s:
            return
        if self._runs_another_state(reading):
            self._comparisons[name] = _DriftComparison(now_s, None)
            self.store.put_drift(name, None)
            self._say(f"{name}: runs another state of the intent: its drift is unknown until the exporter is restarted")
            return
        self._comparisons[name] = _DriftComparison(now_s, reading.running)
        # A driver returns the same object while nothing changed: the number of rows is still right.
        if last is not None and last.running is reading.running:
            return
        rows = None
        # The drift of a configuration that cannot be compared is unknown; the counters of the switch are still served.
        with suppress(*DEVICE_ERRORS):
            rows = self._comparer.changes(name, reading.running)
        self.store.put_drift(name, rows)

    def _runs_another_state(self, reading: MonitoredReading) -> bool:
        """Tell whether a switch runs another state of the intent than this one: its differences are not drift."""
        deployed_digest = generation_of(reading.status.generation).digest
        # An exporter without a project, and a switch deployed by an older railweave, have no digest to compare.
        if not self._intent_digest or not deployed_digest:
            return False
        return deployed_digest != self._intent_digest

    def _watch_rollouts(self) -> None:
        """Note again and again which switches are changed by a rollout on this machine: they may not answer."""
        while not self._stopped.wait(self._options.interval_s):
            self.store.put_rolling(self._rolling_switches())

    def _rolling_switches(self) -> frozenset[str]:
        """Return the switches of the rollout that runs on this machine, empty if none runs."""
        folder = journal_folder()
        fabric = self._live.designed.fabric.name
        written = last_written(folder, fabric)
        # No journal has changed since no rollout ran, and reading one takes longer than reading a switch.
        if written == self._ended_journals:
            return frozenset()
        # Newest first.
        for rollout in rollouts(folder, fabric, self._live.target.name):
            if rollout.alive:
                return frozenset(rollout.devices)
            # The rollouts before a finished one ended as well.
            if rollout.finished:
                break
        self._ended_journals = written
        return frozenset()


def _polling_of(live: LiveFabric, names: list[str], interval_s: float) -> SwitchPolling:
    """Return what reads the switches ``names`` every ``interval_s`` seconds; nothing is read yet."""
    reader = TelemetryReader(served_queues(live.designed.fabric))
    # 0 is no limit. A jump host allows only so many sessions at a time.
    at_once = 0
    if live.target.login.jump is not None:
        at_once = live.target.login.jump.channels
    return SwitchPolling(live.nornir, names, reader.read, interval_s=interval_s, at_once=at_once)


def exporter_of(project: Project, target: str, options: ExporterOptions) -> Exporter:
    """Return the exporter of the project's fabric on ``target``; nothing is read yet.

    Raises RefusedError, UsageError as `connect` does, and UsageError for a target with sites.
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
    # Fabric and intent live until the end: the garbage collector need not traverse them again and again.
    gc.freeze()
    with server, exporter.reading():
        project.operator.tell(f"serving {scheme}://{host}:{server.port}/metrics; SIGTERM or Ctrl-C ends it")
        with suppress(KeyboardInterrupt):
            server.serve_forever()


def listen_address(text: str, config: WebConfig) -> tuple[str, int]:
    """Return the host and port of ``ADDRESS:PORT``.

    Raises UsageError if it is neither, or if other machines could read metrics without TLS and a password.
    """
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
