"""The health of a running fabric: two readings of every switch, and its state between them. Nothing is changed."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from napalm_sonic.clock import SYSTEM_CLOCK, Clock
from nornir_railweave.tasks.counters import read_counters
from nornir_railweave.tasks.link_state import read_link_states
from railweave.api.project import Project
from railweave.api.targets.fabric import LiveFabric, live_fabric
from railweave.health.case import HealthCase, watched_ports
from railweave.health.judge import CounterAnswer, compare_switches, health_gaps, judge_health
from railweave.health.model import HealthReport
from railweave.health.reading import with_flaps
from railweave.plan.outcome import CheckKind, VerifyCheck
from railweave.telemetry.thresholds import Thresholds

DEFAULT_SECONDS = 30.0
"""Three polls of queues and priority groups, which SONiC reads every 10 seconds."""

_NO_ADDRESS = "the target has no address of it"


def health(
    project: Project, target: str, *, seconds: float = DEFAULT_SECONDS, clock: Clock = SYSTEM_CLOCK
) -> HealthReport:
    """Read every switch of ``target`` twice, ``seconds`` apart, and return what is wrong.

    A switch that cannot be read, or whose counters restarted meanwhile, is in ``unread``. Raises RefusedError,
    UsageError for an unknown target.
    """
    live = live_fabric(project, target, partial=True)
    with live.progress():
        look = HealthLook(live, clock)
        look.read()
        return look.report(seconds, is_last=True)


def watch_health(
    project: Project, target: str, *, seconds: float = DEFAULT_SECONDS, clock: Clock = SYSTEM_CLOCK
) -> Iterator[HealthReport]:
    """Yield a report every ``seconds``, each from the last reading to the next, until the caller stops.

    Sessions stay open meanwhile. Raises as `health`.
    """
    live = live_fabric(project, target, partial=True)
    with live.connected():
        look = HealthLook(live, clock)
        look.read()
        while True:
            yield look.report(seconds)


class HealthLook:
    """Looks at a fabric again and again; each report is from the last reading to the next."""

    def __init__(self, live: LiveFabric, clock: Clock) -> None:
        """Nothing is read yet."""
        self._live = live
        self._clock = clock
        self._ports = watched_ports(Thresholds(live.designed.fabric, live.designed.catalog))
        self._reachable = [name for name in self._ports if name in live.nornir.inventory.hosts]
        self._last: dict[str, CounterAnswer] = {}
        self._read_at_s = 0.0

    def read(self, names: Collection[str] | None = None) -> dict[str, CounterAnswer]:
        """Read the counters of ``names``, by default of all switches, and return the answers of the reading before."""
        if names is None:
            names = self._reachable
        previous_answers = self._last
        self._read_at_s = self._clock.monotonic()
        readings = read_counters(self._live.nornir, names)
        self._last = {name: CounterAnswer(reading.counters, reading.error) for name, reading in readings.items()}
        self._add_flaps()
        return previous_answers

    def _add_flaps(self) -> None:
        """Add the flaps of ports to the last counters; without them the rule of flaps is not judged."""
        # Another attempt on a switch that did not answer would only cost time.
        answering = [name for name, answer in self._last.items() if not answer.error]
        for name, reading in read_link_states(self._live.nornir, answering).items():
            if not reading.error:
                self._last[name] = CounterAnswer(with_flaps(self._last[name].counters, reading.state))

    def report(self, seconds: float, *, is_last: bool = False) -> HealthReport:
        """Read the state now and the counters once ``seconds`` have passed since the last reading.

        A switch that did not answer is asked again for the next report alone, unless this one ``is_last``.
        """
        # Without the switches that did not answer: a switch that hangs would be waited for twice.
        answering = [name for name, answer in self._last.items() if not answer.error]
        checks = self._live.verify(devices=answering).checks
        self._clock.sleep(max(0.0, self._read_at_s + seconds - self._clock.monotonic()))
        if is_last:
            before = self.read(answering)
        else:
            before = self.read()
        return self._judge(seconds, before, checks)

    def _judge(
        self, seconds: float, before: Mapping[str, CounterAnswer], checks: tuple[VerifyCheck, ...]
    ) -> HealthReport:
        """Return what is wrong by the counters from ``before`` to the last reading, and by the checks of the state."""
        compared_switches, unread = compare_switches(self._ports, before, self._last)
        unread |= {name: _NO_ADDRESS for name in self._ports if name not in self._reachable}
        unread |= _unreachable(checks)
        judged_switches = {name: switch for name, switch in compared_switches.items() if name not in unread}
        fabric = self._live.designed.fabric
        case = HealthCase(fabric, self._ports, judged_switches, checks)
        # In the order of the fabric.
        ordered_unread = {name: unread[name] for name in self._ports if name in unread}
        return HealthReport(
            fabric=fabric.name,
            target=self._live.target.name,
            seconds=seconds,
            judged=len(judged_switches),
            findings=judge_health(case),
            unread=ordered_unread,
            gaps=health_gaps(case),
        )


def _unreachable(checks: Sequence[VerifyCheck]) -> dict[str, str]:
    """Return why the state of switches could not be read, by their names."""
    return {check.device: check.actual for check in checks if check.kind is CheckKind.REACHABLE and not check.ok}
