"""A plan: what a deployment would change on which device, how, and in which order.

A plan is a value with a file form (``document``). It states what will be done; nothing in it is computed later.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from railweave.diagnostics import Blocker
from railweave.fabric.releases import OtherRelease
from railweave.plan.policy import DEFAULT_POLICY, PolicyViolation, RolloutPolicy
from railweave.sonic.delta.change import Change, Delta, Disruption, Op
from railweave.sonic.delta.kept import Kept
from railweave.sonic.frr.maintenance import Maintenance
from railweave.sonic.rows import FRR_TABLE

PLAN_VERSION = 3
"""The version of the file form; a plan of another version is refused."""


class DeviceState(StrEnum):
    """How a device stands to the intent. ``WAITING``: it runs what is intended by a commit that is not confirmed yet,
    which its timer may revert."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    WAITING = "waiting"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class Conflict:
    """An unmanaged row that conflicts with managed ones; ``port`` is the fabric port it holds.

    For a line of FRR the table is ``frr`` and the port empty unless the line is about one.
    """

    table: str
    key: str
    port: str
    reason: str

    @property
    def subject(self) -> str:
        """Return what is in the way, as a person would point at it."""
        return f"the FRR line `{self.key}`" if self.table == FRR_TABLE else f"{self.table}|{self.key}"

    @property
    def claim(self) -> str:
        """Return what is in the way, and of what."""
        return f"{self.subject} is unmanaged and " + (f"holds {self.port}" if self.port else "contradicts the intent")


@dataclass(frozen=True, slots=True)
class LivePort:
    """A port that closes while it is in use. ``far_end`` is the device at the other end, empty where none is known."""

    port: str
    far_end: str


@dataclass(frozen=True, slots=True)
class Unapplied:
    """What SONiC's daemons apply that differs from CONFIG_DB: ``field`` of ``row``, or the row where it is empty."""

    row: str
    field: str
    applied: str
    configured: str

    def __str__(self) -> str:
        """Return it in words."""
        return f"{self.row} {self.field}".rstrip() + f" is {self.applied}, configured {self.configured}"


@dataclass(frozen=True, slots=True)
class Generation:
    """The state of an intent that a switch runs, or that is deployed.

    ``revision`` is its git commit, empty where the intent is in no git history; ``digest`` is of the intent and the
    project's templates, ``dirty`` tells that they differ from the commit. ``number`` counts the confirmed deployments
    and rollbacks of the switch, ``by`` made the last one. Without a digest nothing is known.
    """

    number: int = 0
    revision: str = ""
    digest: str = ""
    dirty: bool = False
    by: str = ""

    @property
    def content(self) -> "Generation":
        """Return it without what is the switch's own."""
        return replace(self, number=0, by="")

    @property
    def shown(self) -> str:
        """Return it as a person would name it."""
        if self.revision and not self.dirty:
            return f"commit {self.revision[:12]}"
        return f"an uncommitted state {self.digest[:12]}" + (f" of {self.revision[:12]}" if self.revision else "")


NO_GENERATION = Generation()


@dataclass(frozen=True, slots=True)
class DevicePlan:
    """One device of a plan.

    ``running_sha256`` is of the rows and FRR lines that we own, as they were read; empty where the device could not be
    reached, and ``error`` then says why. ``unmanaged`` counts the rows kept by table. ``pending`` tells that a commit
    still waits for its confirmation, so that the device may go back by itself. ``role`` is the device's in the Clos.
    ``disruptive`` tells that its changes take it out of service for a while: the one value that the order of the waves,
    the report and the rollout go by (``drain_planner``). ``out_of_service`` tells that it answers nobody and forwards
    nothing. ``drain`` are the BGP peers whose traffic is led away before the change: ``("*",)`` is the whole device,
    nothing is none. ``lossless_removed`` are the code points that are lossless on it and no longer would be.
    ``drained`` are the peers that somebody drained by hand, written like ``drain``, and ``maintenance`` what SONiC's
    TSA made of it; a rollout leaves them so. ``live_ports`` are those that close for good although something at their
    far end still uses them. ``unapplied`` is what its daemons apply that differs from CONFIG_DB, ``applied_unknown``
    tells that this is not known, ``unseen`` are the fields of ports of which none tells what is in force,
    ``generation`` is the state of the intent that it runs, ``other_release`` tells that it runs another SONiC release
    than intended, and ``answered`` that it was reached although it could not be read: none of them is part of the
    plan's file. ``labels``
    are those of its ports whose cables change, None where none does. ``broken`` names daemons that an earlier change
    ended and that do not run, with their last log lines and the command; empty where all run. ``kept`` is what would go
    and stays in force, because no step removes it.
    """

    state: DeviceState
    role: str = ""
    running_sha256: str = ""
    unmanaged: Mapping[str, int] | None = None
    conflicts: tuple[Conflict, ...] = ()
    blockers: tuple[Blocker, ...] = ()
    unprovisioned: bool = False
    pending: bool = False
    error: str = ""
    disruptive: bool = False
    out_of_service: bool = False
    drain: tuple[str, ...] = ()
    lossless_removed: tuple[int, ...] = ()
    drained: tuple[str, ...] = ()
    maintenance: Maintenance = Maintenance.NONE
    live_ports: tuple[LivePort, ...] = ()
    unapplied: tuple[Unapplied, ...] = ()
    applied_unknown: bool = False
    unseen: tuple[str, ...] = ()
    generation: Generation = NO_GENERATION
    other_release: OtherRelease | None = None
    answered: bool = False
    labels: Mapping[str, str] | None = None
    broken: str = ""
    kept: tuple[Kept, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """Changes by what happens to the row, field or line."""

    add: int
    update: int
    remove: int

    @property
    def total(self) -> int:
        """Return the number of changes."""
        return self.add + self.update + self.remove


@dataclass(frozen=True, slots=True)
class Plan:
    """What a deployment of ``fabric`` to ``target`` would do.

    ``deltas`` hold what changes on each changed device, in the order of ``devices``; equal changes of several devices
    are one object. ``waves`` holds every changed device once, in the order of the rollout. ``gone`` names devices of
    the base that the intent no longer has (offline plans only): nothing is done to them. ``target`` is empty for a plan
    that compares two intents offline. ``policy`` is what the waves keep to, and ``violations`` is what of it no
    order can keep: such a plan is shown and never carried out.
    """

    fabric: str
    target: str
    intent_sha256: str
    devices: Mapping[str, DevicePlan]
    deltas: Mapping[str, Delta]
    waves: tuple[tuple[str, ...], ...]
    gone: tuple[str, ...] = ()
    policy: RolloutPolicy = DEFAULT_POLICY
    violations: tuple[PolicyViolation, ...] = ()
    version: int = PLAN_VERSION

    @property
    def is_offline(self) -> bool:
        """Tell whether it compares two intents, and nothing was read of any device."""
        return not self.target

    @property
    def summary(self) -> Summary:
        """Return the number of changes of each kind."""
        counts: Counter[Op] = Counter()
        for delta in self.deltas.values():
            counts.update(delta.ops)
        return Summary(counts[Op.ADD], counts[Op.UPDATE], counts[Op.REMOVE])

    def names(self, state: DeviceState) -> tuple[str, ...]:
        """Return the devices in ``state``, in the order of the plan."""
        return tuple(name for name, device in self.devices.items() if device.state is state)

    def changes(self) -> Iterator[tuple[str, Change]]:
        """Yield every change with its device, in order."""
        for name, delta in self.deltas.items():
            for change in delta:
                yield name, change

    @property
    def disruptive(self) -> frozenset[str]:
        """Return the devices that their changes take out of service for a while."""
        return frozenset(name for name, device in self.devices.items() if device.disruptive)

    @property
    def out_of_service(self) -> frozenset[str]:
        """Return the devices that answer nobody and forward nothing."""
        return frozenset(name for name, device in self.devices.items() if device.out_of_service)

    @property
    def broken(self) -> tuple[str, ...]:
        """Return the devices on which a daemon that an earlier change ended does not run: nothing is forwarded there,
        or changes take no effect."""
        return tuple(name for name, device in self.devices.items() if device.broken)

    @property
    def unprovisioned(self) -> frozenset[str]:
        """Return the devices that are provisioned for the first time, so carry nothing yet."""
        return frozenset(name for name, device in self.devices.items() if device.unprovisioned)

    @property
    def waiting(self) -> tuple[str, ...]:
        """Return the devices on which a commit waits: they may go back to what they ran before by themselves."""
        return tuple(name for name, device in self.devices.items() if device.pending)

    @property
    def assumed_fresh(self) -> tuple[str, ...]:
        """Return the devices that were not read and are planned as factory-fresh: nothing is deployed to them."""
        return tuple(name for name in self.names(DeviceState.UNREACHABLE) if name in self.deltas)

    @property
    def reloading(self) -> tuple[str, ...]:
        """Return the devices that the plan reloads."""
        return tuple(name for name, delta in self.deltas.items() if delta.reloads)


DISRUPTION_RANK = {Disruption.NONE: 0, Disruption.SESSION: 1, Disruption.FLAP: 2, Disruption.RELOAD: 3}
"""How bad a disruption is, mildest first."""
