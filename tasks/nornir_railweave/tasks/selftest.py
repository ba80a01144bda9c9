"""The self-test of one switch: it is read, then changed and reverted trial by trial, and left as it was found."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from napalm.base.exceptions import CommitError
from nornir.core import Nornir
from nornir.core.task import Result, Task

from napalm_sonic.clock import SYSTEM_CLOCK, Clock
from napalm_sonic.driver import SonicDriver
from napalm_sonic.observed import Observed
from napalm_sonic.program import SwitchProgram
from nornir_railweave.checked_driver import DriverError
from nornir_railweave.device.session import DEVICE_ERRORS, DeviceSession, error_text, session
from nornir_railweave.events import Event, Events, Step, silent
from nornir_railweave.target.connect import run_on
from railweave.plan.selftest import (
    LinkState,
    Probe,
    SelftestOptions,
    SelftestReport,
    TrialResult,
    TrialVerdict,
    judge,
    nameless,
    untried,
    uses,
)
from railweave.sonic.chosen_words import names_in
from railweave.sonic.delta.change import Delta, Edit, Op
from railweave.sonic.delta.delta import judged, treated
from railweave.sonic.delta.methods import RELOADED
from railweave.sonic.rows import ConfigDb, Row
from railweave.sonic.trials import Trial, class_trial, trials_of
from railweave.switch_driver import STATE

MESSAGE = "self-test"
_PAUSE_S = 0.5
_TIMER_MARGIN_S = 60.0


def _forget(_: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class SelftestOrder:
    """What is asked of a self-test: the intended ``rows`` of the switch, and what may be tried on it."""

    rows: tuple[Row, ...] = field(repr=False)
    options: SelftestOptions = field(default_factory=SelftestOptions)
    # The switch reverts a trial by itself after so many seconds, should the runner be lost.
    revert_in_s: int = 600
    # The commit with which an earlier run that was cut off added classes; empty for none.
    leftover: str = ""
    # Keeps the commit of this run until it is rolled back, so that the next run can.
    note: Callable[[str], None] = field(default=_forget, repr=False)


def selftest(
    nr: Nornir, name: str, order: SelftestOrder, *, events: Events = silent, clock: Clock = SYSTEM_CLOCK
) -> SelftestReport:
    """Test the switch ``name``; return its report, with an error if the switch was lost meanwhile."""
    report: SelftestReport = run_on(nr, [name], selftest_device, order=order, announce=events, clock=clock)[name]
    return report


def selftest_device(task: Task, order: SelftestOrder, announce: Events, clock: Clock) -> Result:
    """Return a ``SelftestReport``; in a dry run the switch is only read."""
    if task.is_dry_run():
        order = replace(order, options=replace(order.options, reads_only=True))
    with session(task) as opened:
        report = SelftestReport(is_back=False, error="not attempted")
        try:
            driver = opened.napalm_driver
            if isinstance(driver, SonicDriver):
                test = _Selftest(task.host.name, SonicSession(opened), order, announce, clock)
                report = test.run(driver.revert_timer)
            else:
                report = SelftestReport(error=f"the driver {type(driver).__name__} is not railweave's own")
        except DEVICE_ERRORS as fault:
            report = SelftestReport(error=error_text(fault))
    return Result(host=task.host, result=report, failed=not report.ok)


class SonicSession:
    """A session of a SONiC switch; the trials need methods of its driver that the general contract does not have."""

    def __init__(self, opened: DeviceSession) -> None:
        self._opened = opened

    @property
    def driver(self) -> SonicDriver:
        """Return the open driver. Raises ConnectionException, and DriverError if the driver is another one."""
        driver = self._opened.napalm_driver
        if not isinstance(driver, SonicDriver):
            raise DriverError(f"the driver {type(driver).__name__} is not railweave's own")
        return driver

    def reconnect(self, within_s: float, clock: Clock) -> SonicDriver:
        """Return the driver of a new session."""
        self._opened.reconnect(within_s, clock)
        return self.driver


class _Selftest:
    """One run on one switch. ``results`` grow trial by trial, so that they survive a switch that is lost."""

    def __init__(self, name: str, opened: SonicSession, order: SelftestOrder, announce: Events, clock: Clock) -> None:
        self._name = name
        self._opened = opened
        self._order = order
        self._announce = announce
        self._clock = clock
        self._results: list[TrialResult] = []
        self._classes_id = order.leftover
        self._names: frozenset[str] = frozenset()

    @property
    def _program(self) -> SwitchProgram:
        return self._opened.driver.revert_timer

    def run(self, program: SwitchProgram) -> SelftestReport:
        """Read the switch, try every change on it, and bring it back; return the report.

        A switch that is in use, or has a pending commit, is only read.
        """
        status = program.status()
        if status.pending:
            return SelftestReport(error=f"{status.waits_for}: end it first")
        reading = program.read(request=STATE)
        report = _description(reading.running.config_db, reading.view, program.probe())
        # A switch that is in use, or does not show whether it is, is left alone.
        if reading.view is None or report.uses:
            return report
        report = replace(report, port=_trial_port(reading.running.config_db))
        if self._order.options.reads_only or not report.port:
            return report
        if self._classes_id:
            # Not before the switch is known to be unused: somebody may have deployed the same classes since.
            self._remove_classes()
            reading = program.read()
            report = replace(report, port=_trial_port(reading.running.config_db))
        config_db = reading.running.config_db
        self._names = names_in(config_db)
        before = self._probe()
        error = ""
        try:
            self._try_all(config_db, report.port, has_frr=reading.running.frr is not None)
        except DEVICE_ERRORS as fault:
            error = error_text(fault)
        is_back = self._bring_back(before)
        return replace(report, results=tuple(self._results), is_back=is_back, error=error)

    def _try_all(self, config_db: ConfigDb, port: str, *, has_frr: bool) -> None:
        """Try the rules, the revert timer, a lost session and, if the options say so, a reload."""
        classes = class_trial(config_db, self._order.rows, port)
        if classes is not None:
            self._with_classes(classes, port, has_frr=has_frr)
        else:
            self._try_rules(port, has_frr=has_frr)
        self._try_timer(port)
        self._try_lost_session(port)
        if self._order.options.reloads:
            self._try_reload(port)

    def _with_classes(self, classes: Trial, port: str, *, has_frr: bool) -> None:
        """Add the classes of the intent to the port, try the rules on them, and remove the classes."""
        before = self._probe()
        began_s = self._clock.monotonic()
        self._classes_id = self._apply(classes.delta)
        # A run that is cut off leaves its classes on the switch; the next one removes them.
        self._order.note(self._classes_id)
        self._opened.driver.confirm_commit()
        applied_s = self._clock.monotonic() - began_s
        during = self._probe()
        self._try_rules(port, has_frr=has_frr)
        began_s = self._clock.monotonic()
        self._remove_classes()
        reverted_s = self._clock.monotonic() - began_s
        verdict, reasons = judge(classes, before, during, self._probe())
        self._note(_result(classes, verdict, reasons, applied_s, reverted_s))

    def _remove_classes(self) -> None:
        """Roll back the commit that added traffic classes, of this run or of one that was cut off."""
        if not self._classes_id:
            return
        if self._can_roll_back(self._classes_id):
            # The last commit of the switch may be another: a trial's, which was reverted.
            self._program.revert(commit=self._classes_id, last=self._program.status().commit_id)
        self._classes_id = ""
        self._order.note("")

    def _can_roll_back(self, commit_id: str) -> bool:
        """Tell whether the switch still has a commit; one that was replaced or reinstalled since does not."""
        try:
            self._program.rollback_document(commit_id)
        except CommitError:
            return False
        return True

    def _try_rules(self, port: str, *, has_frr: bool) -> None:
        """Try each rule that can be tried on the port, and note those that cannot."""
        trials = trials_of(self._program.read().running.config_db, port, has_frr=has_frr)
        for trial in trials:
            self._try(trial)
        for result in untried(trials):
            self._results.append(result)

    def _try(self, trial: Trial) -> None:
        """Apply the change of a trial, probe the switch, revert it, and note whether the trial's rule was right."""
        before = self._probe()
        began_s = self._clock.monotonic()
        try:
            self._apply(trial.delta)
        except DEVICE_ERRORS as fault:
            # The switch reverts what it refuses; the end of the run checks that it is as before.
            refused = f"the switch refused it: {nameless(error_text(fault), self._name, self._names)}"
            self._note(_result(trial, TrialVerdict.CONTRADICTED, (refused,), None, None))
            self._opened.reconnect(self._order.revert_in_s, self._clock)
            return
        applied_s = self._clock.monotonic() - began_s
        during = self._probe()
        began_s = self._clock.monotonic()
        self._opened.driver.rollback()
        reverted_s = self._clock.monotonic() - began_s
        verdict, reasons = judge(trial, before, during, self._probe())
        self._note(_result(trial, verdict, reasons, applied_s, reverted_s))

    def _try_timer(self, port: str) -> None:
        """Leave a change unconfirmed, and note whether the switch reverts it by itself when its timer ends."""
        before = self._probe()
        began_s = self._clock.monotonic()
        self._apply(_marking(self._config_db(), port), self._order.options.timer_s)
        deadline_s = began_s + self._order.options.timer_s + _TIMER_MARGIN_S
        while self._program.status().pending and self._clock.monotonic() < deadline_s:
            self._clock.sleep(_PAUSE_S)
        took_s = self._clock.monotonic() - began_s
        reasons: list[str] = []
        if self._program.status().pending:
            reasons.append(f"the change still waits {took_s:.0f} s after it began")
        reasons += self._unrestored(before)
        self._conclude("revert timer", reasons, took_s)

    def _try_lost_session(self, port: str) -> None:
        """End the session after a change, and note whether a new session finds it under its timer and can revert it."""
        before = self._probe()
        began_s = self._clock.monotonic()
        commit_id = self._apply(_marking(self._config_db(), port))
        driver = self._opened.reconnect(self._order.revert_in_s, self._clock)
        status = driver.revert_timer.status()
        reasons: list[str] = []
        if status.pending and status.commit_id == commit_id:
            driver.rollback()
        else:
            reasons.append("a new session does not find the change that the lost one made")
        reasons += self._unrestored(before)
        self._conclude("lost session", reasons, self._clock.monotonic() - began_s)

    def _try_reload(self, port: str) -> None:
        """Apply a change by a reload, roll it back, and note whether the switch is as before."""
        before = self._probe()
        edits = list(_marking(self._config_db(), port))
        began_s = self._clock.monotonic()
        self._apply(treated(edits, [RELOADED] * len(edits), [MESSAGE] * len(edits)))
        applied_s = self._clock.monotonic() - began_s
        self._opened.driver.rollback()
        self._conclude("reload", self._unrestored(before), applied_s)

    def _unrestored(self, before: Probe) -> list[str]:
        """Return a list with the reason if the switch's configuration is not as ``before``; empty if it is."""
        if self._probe().config_digest == before.config_digest:
            return []
        return ["CONFIG_DB or FRR did not go back to what they were"]

    def _conclude(self, name: str, reasons: Sequence[str], took_s: float) -> None:
        """Note the result of a trial, which failed if there are ``reasons``."""
        verdict = TrialVerdict.CONTRADICTED if reasons else TrialVerdict.CONFIRMED
        self._note(TrialResult(name, verdict, tuple(reasons), apply_s=round(took_s, 2)))

    def _apply(self, delta: Delta, revert_in_s: int = 0) -> str:
        """Apply a delta under the switch's timer; return the commit's id.

        The timer runs for ``revert_in_s`` seconds, for 0 as long as the order says.
        """
        # The switch applies a delta to the rows of the last reading.
        self._program.read()
        applied = self._opened.driver.changes.apply(
            delta, message=MESSAGE, revert_in=revert_in_s or self._order.revert_in_s
        )
        return str(applied.commit_id)

    def _config_db(self) -> ConfigDb:
        return self._program.read().running.config_db

    def _probe(self) -> Probe:
        reading = self._program.read(request=STATE)
        unapplied = None if reading.view is None else reading.view.unapplied()
        digest = f"{reading.tables_digest} {reading.frr_digest}"
        return probe_of(self._program.probe(), unapplied, digest)

    def _note(self, result: TrialResult) -> None:
        self._results.append(result)
        self._announce(Event(Step.VERIFYING, self._name, f"{result.name}: {result.verdict.value}"))

    def _bring_back(self, before: Probe) -> bool:
        """Revert whatever the test has left on the switch; return whether the switch runs what it ran before."""
        try:
            driver = self._opened.reconnect(self._order.revert_in_s, self._clock)
            status = driver.revert_timer.status()
            if status.message == MESSAGE and status.pending:
                driver.rollback()
            self._remove_classes()
            return self._probe().config_digest == before.config_digest
        except DEVICE_ERRORS:
            return False


def _result(
    trial: Trial, verdict: TrialVerdict, reasons: Sequence[str], applied_s: float | None, reverted_s: float | None
) -> TrialResult:
    """Return the result of a trial; both times are in seconds, and None if the switch refused the change."""
    # A trial of several changes has no table and field of its own.
    changed_field = ""
    if len(trial.delta) == 1:
        change = next(iter(trial.delta))
        changed_field = f"{change.table} {change.field or ''}".strip()
    return TrialResult(
        trial.name,
        verdict,
        tuple(reasons),
        method="+".join(sorted(method.value for method in trial.delta.methods)),
        disruption=trial.disruption.value,
        place=changed_field,
        source="" if trial.rule is None else trial.rule.source,
        apply_s=None if applied_s is None else round(applied_s, 2),
        revert_s=None if reverted_s is None else round(reverted_s, 2),
    )


def _marking(config_db: ConfigDb, port: str) -> Delta:
    """Return a change that does not affect traffic: a new description of a port."""
    before = config_db["PORT"][port].get("description")
    op = Op.ADD if before is None else Op.UPDATE
    return judged([Edit(op=op, table="PORT", key=port, field="description", before=before, after=MESSAGE)], config_db)


def _trial_port(config_db: ConfigDb) -> str:
    """Return the port that trials change: the first with traffic classes, else the first; empty if there is none."""
    ports = list(config_db.get("PORT", {}))
    with_classes = [port for port in ports if port in config_db.get("PORT_QOS_MAP", {})]
    return next(iter(with_classes or ports), "")


def _neighbors(seen: Observed, ports: Collection[str]) -> dict[str, str]:
    """Return the name of the first LLDP neighbor at each of ``ports`` that has one."""
    neighbors = {}
    for port, systems in seen.get_lldp_neighbors_detail().items():
        if systems and port in ports:
            neighbors[port] = str(systems[0]["remote_system_name"])
    return neighbors


def _description(config_db: ConfigDb, seen: Observed | None, probe: Mapping[str, Any]) -> SelftestReport:
    """Return a report of what the switch is and what uses it, before anything is tried on it."""
    metadata = config_db.get("DEVICE_METADATA", {}).get("localhost", {})
    platform = {name: str(metadata[name]) for name in ("platform", "hwsku", "buffer_model") if name in metadata}
    report = SelftestReport(platform=platform, counters=probe["counters"])
    if seen is None:
        return replace(report, error="the switch does not show its interfaces")
    ports = config_db.get("PORT", {})
    neighbors = _neighbors(seen, ports)
    links = {port: state["is_up"] for port, state in seen.get_interfaces().items() if port in ports}
    sessions = _established(seen.get_bgp_neighbors())
    return replace(report, image=dict(seen.shown.get("image") or {}), uses=uses(links, neighbors, sessions))


def _established(instances: Mapping[str, Any]) -> list[str]:
    """Return the peers of all BGP instances whose session is established."""
    peers: list[str] = []
    for instance in instances.values():
        peers += (peer for peer, state in instance["peers"].items() if state["is_up"])
    return peers


def probe_of(shown: Mapping[str, Any], unapplied: Sequence[Sequence[str]] | None, digest: str) -> Probe:
    """Return a probe of the switch.

    ``shown`` is the answer of its program. ``unapplied`` are the rows that its daemons have not applied, ``TABLE|KEY``
    first in each; None where that is unknown. ``digest`` is that of its whole configuration.
    """
    ports = shown["ports"] or {}
    unapplied_tables = None
    if unapplied is not None:
        unapplied_tables = frozenset(row[0].partition("|")[0] for row in unapplied)
    return Probe(
        at_s=float(shown["at_s"]),
        asic=shown["asic"],
        ports={name: _port_state(port) for name, port in ports.items()},
        processes=shown["processes"],
        unapplied=unapplied_tables,
        config_digest=digest,
    )


def _port_state(port: Mapping[str, str]) -> LinkState:
    flaps = port["flaps"]
    return LinkState(port["oper"] == "up", int(flaps) if flaps.isdecimal() else None)
