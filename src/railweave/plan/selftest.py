"""A self-test of one unused switch: what each trial (``sonic.trials``) proved.

The claim of a trial is what the one table of rules says of its change: how it is applied and what it disturbs. What the
switch shows before, under and after the change decides; where the switch shows nothing, nothing is concluded.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from railweave.sonic.delta.change import Disruption
from railweave.sonic.trials import SHOWN_BY_DAEMONS, Trial, untried_rules

Digests = Mapping[str, Sequence[str]]
"""Digests of the ASIC's objects by SAI's name of their type, and of what the watchdog watches as ``PFC_WD``."""


@dataclass(frozen=True, slots=True)
class SelftestOptions:
    """How to test a switch. A trial has the target's revert timer."""

    # A person says that the switch is unused.
    spare: bool = False
    # Nothing is changed.
    reads_only: bool = False
    # `config reload` stops all traffic for minutes, so it is tried on request only.
    reloads: bool = False
    # Seconds of the revert timer in the trial of the timer itself, which waits until it ends.
    timer_s: int = 20


class TrialVerdict(StrEnum):
    """What a trial proved of its claim; ``UNKNOWN`` where the switch does not show it."""

    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    UNKNOWN = "unknown"
    NOT_TRIED = "not-tried"


@dataclass(frozen=True, slots=True)
class LinkState:
    """Whether a port has a link, and how often that changed; None where SONiC does not count it."""

    is_up: bool
    flaps: int | None = None


@dataclass(frozen=True, slots=True)
class Probe:
    """What a switch shows at one moment, in seconds of its own clock.

    ``asic`` is None where ASIC_DB cannot be read; ``processes`` tells a daemon's process from a later one.
    ``unapplied`` are the tables of which daemons hold other values than CONFIG_DB, None where that is not known.
    """

    at_s: float
    asic: Digests | None = None
    ports: Mapping[str, LinkState] = field(default_factory=dict)
    processes: Mapping[str, str] = field(default_factory=dict)
    unapplied: frozenset[str] | None = None
    config_digest: str = ""


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What a trial proved: its verdict with every reason, and how long the change and its revert took, in seconds."""

    name: str
    verdict: TrialVerdict
    reasons: tuple[str, ...] = ()
    method: str = ""
    disruption: str = ""
    place: str = ""
    source: str = ""
    apply_s: float | None = None
    revert_s: float | None = None


def untried(trials: Sequence[Trial]) -> Iterator[TrialResult]:
    """Yield a result for each rule that no trial is about, with the reason why it was not tried."""
    for rule in untried_rules(trials):
        reason = "no row of the switch has what it is about, or SONiC would not give the row back as it was"
        if rule.disruption is Disruption.RELOAD:
            reason = "its changes reload the switch"
        fields = ", ".join(filter(None, rule.fields))
        place = f"{', '.join(rule.tables)} {fields}".strip()
        yield TrialResult(
            name=place,
            verdict=TrialVerdict.NOT_TRIED,
            reasons=(reason,),
            method=rule.method.value,
            disruption=rule.disruption.value,
            place=place,
            source=rule.source,
        )


def judge(trial: Trial, before: Probe, during: Probe, after: Probe) -> tuple[TrialVerdict, tuple[str, ...]]:
    """Return the verdict on a trial, and the reasons for it; a confirmed trial has none.

    The probes were taken before the trial, while its change was applied, and after the revert.
    """
    contradicted = [*_unclaimed_disturbances(trial, before, during), *_lasting_differences(before, after)]
    unknown: list[str] = []
    took_effect = _took_effect(trial, before, during)
    if took_effect is None:
        unknown.append("the switch does not show whether its daemons took the change")
    elif not took_effect:
        contradicted.append(f"the switch shows the same {' and '.join(trial.objects)} as before")
    if trial.disruption is Disruption.FLAP and not _flapped_ports(before, during):
        unknown.append("no link changed its state: the trial's port has no link, or the change does not need one")
    if contradicted:
        return TrialVerdict.CONTRADICTED, (*contradicted, *unknown)
    if unknown:
        return TrialVerdict.UNKNOWN, tuple(unknown)
    return TrialVerdict.CONFIRMED, ()


def _unclaimed_disturbances(trial: Trial, before: Probe, during: Probe) -> Iterator[str]:
    """Yield a sentence for each disturbance by the change that the trial's claim rules out."""
    if trial.disruption in (Disruption.NONE, Disruption.SESSION):
        flapped = _flapped_ports(before, during)
        if flapped:
            yield f"links changed their state: {', '.join(flapped)}"
    if trial.disruption is not Disruption.RELOAD:
        ended = [name for name, process in before.processes.items() if during.processes.get(name) != process]
        if ended:
            yield f"daemons ended or started anew: {', '.join(ended)}"


def _flapped_ports(before: Probe, during: Probe) -> list[str]:
    """Return the ports whose link changed its state, also if it is as before again."""
    return [port for port, state in before.ports.items() if during.ports.get(port) != state]


def _took_effect(trial: Trial, before: Probe, during: Probe) -> bool | None:
    """Tell whether the switch took the change, by the ASIC's objects or else by the values that its daemons hold.

    Returns None if neither shows it.
    """
    if not trial.objects:
        # The trial claims no change in the ASIC, so nothing can contradict it.
        return True
    changed_in_asic = _asic_changed(trial.objects, before.asic, during.asic)
    if changed_in_asic is not None:
        return changed_in_asic
    changed_fields = {(change.table, change.field) for change in trial.delta}
    daemons_show_all = changed_fields.issubset(SHOWN_BY_DAEMONS)
    if during.unapplied is None or not daemons_show_all:
        return None
    # The daemons took the change if they hold no other value than CONFIG_DB in any of its tables.
    changed_tables = {table for table, _ in changed_fields}
    return during.unapplied.isdisjoint(changed_tables)


def _asic_changed(types: Iterable[str], before: Digests | None, during: Digests | None) -> bool | None:
    """Tell whether objects of the SAI types ``types`` changed.

    Returns None if ASIC_DB could not be read, or had no such object before the change.
    """
    if before is None or during is None:
        return None
    # A switch that shows no object of a type, such as a virtual one, proves nothing by its absence.
    types_in_use = [sai_type for sai_type in types if before.get(sai_type)]
    if not types_in_use:
        return None
    return any(_objects_differ(before, during, sai_type) for sai_type in types_in_use)


def _objects_differ(first: Digests, second: Digests, sai_type: str) -> bool:
    """Tell whether two readings have different objects of a type. Their order does not count, since syncd has none."""
    return Counter(first.get(sai_type, ())) != Counter(second.get(sai_type, ()))


def _lasting_differences(before: Probe, after: Probe) -> Iterator[str]:
    """Yield a sentence for each thing that the revert did not restore."""
    if before.config_digest != after.config_digest:
        yield "CONFIG_DB or FRR did not go back to what they were"
    if before.asic is not None and after.asic is not None:
        types = sorted(before.asic.keys() | after.asic.keys())
        changed = [sai_type for sai_type in types if _objects_differ(before.asic, after.asic, sai_type)]
        if changed:
            yield f"the ASIC or its counters did not go back: {', '.join(changed)} differ"


_ADDRESS = re.compile(r"\b\d{1,3}(\.\d{1,3}){3}\b|\b(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}\b", re.IGNORECASE)


_LOG = re.compile(r" \(last in its log: .*", re.DOTALL)
"""What an error quotes of a switch's log, where any name may be."""


def nameless(text: str, name: str, names: Collection[str] = ()) -> str:
    """Return ``text`` with the switch's name, the other ``names``, addresses and log lines replaced or removed.

    The result goes into a report that users send to others.
    """
    without_log = _LOG.sub("", text)
    anonymous = _ADDRESS.sub("ADDRESS", without_log).replace(name, "SWITCH")
    if not names:
        return anonymous
    # An alternation takes the first match, so a name must come before its prefixes.
    longest_first = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.sub(rf"(?<!\w)(?:{longest_first})(?!\w)", "NAME", anonymous)


def uses(reading: Mapping[str, bool], neighbors: Mapping[str, str], sessions: Sequence[str]) -> tuple[str, ...]:
    """Return the reasons why a switch is in use.

    ``reading`` tells whether each port has a link, ``neighbors`` are LLDP's by port, ``sessions`` are BGP peers.
    """
    connected = [f"{port} is connected to {name}" for port, name in neighbors.items()]
    links = [f"{port} has a link" for port, is_up in reading.items() if is_up and port not in neighbors]
    established = [f"the BGP session with {peer} is established" for peer in sessions]
    return (*connected, *links, *established)


@dataclass(frozen=True, slots=True)
class SelftestReport:
    """The result of a self-test: the switch without its name, each trial, and whether the switch is as before."""

    port: str = ""
    image: Mapping[str, str] = field(default_factory=dict)
    platform: Mapping[str, str] = field(default_factory=dict)
    # The counters in COUNTERS_DB, by ports, queues and priority groups.
    counters: Mapping[str, object] = field(default_factory=dict)
    results: tuple[TrialResult, ...] = ()
    is_back: bool = True
    # Why a switch that is in use was refused.
    uses: tuple[str, ...] = ()
    # Why the test ended early.
    error: str = ""

    @property
    def ok(self) -> bool:
        """Tell whether nothing contradicts a claim, and the switch is as it was before."""
        verdicts = {result.verdict for result in self.results}
        return self.is_back and not (self.error or self.uses) and TrialVerdict.CONTRADICTED not in verdicts
