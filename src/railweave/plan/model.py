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
    """How a device differs from the intent."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    # It runs the intent by a commit that awaits confirmation, so its timer may still revert it.
    WAITING = "waiting"
    # Not readable, or it refuses the change.
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class ConflictingRow:
    """An unmanaged row that conflicts with managed ones; ``port`` is the fabric port it holds.

    For a line of FRR the table is ``frr``, and the port is empty unless the line names one.
    """

    table: str
    key: str
    port: str
    reason: str

    @property
    def subject(self) -> str:
        """Return the row or line, as a person would name it."""
        if self.table == FRR_TABLE:
            return f"the FRR line `{self.key}`"
        return f"{self.table}|{self.key}"

    @property
    def claim(self) -> str:
        """Return the row or line and what it conflicts with."""
        if self.port:
            return f"{self.subject} is unmanaged and holds {self.port}"
        return f"{self.subject} is unmanaged and contradicts the intent"


@dataclass(frozen=True, slots=True)
class LivePort:
    """A port that closes while it is in use. ``far_end`` is the device at the other end, empty where none is known."""

    port: str
    far_end: str


@dataclass(frozen=True, slots=True)
class Unapplied:
    """A value of SONiC's daemons that differs from CONFIG_DB: ``field`` of ``row``, or the row if it is empty."""

    row: str
    field: str
    applied: str
    configured: str

    def __str__(self) -> str:
        """Return it in words."""
        return f"{self.row} {self.field}".rstrip() + f" is {self.applied}, configured {self.configured}"


@dataclass(frozen=True, slots=True)
class Generation:
    """The state of an intent that a switch runs, or that is deployed. Without a digest nothing is known."""

    # Confirmed deployments and rollbacks of the switch so far.
    number: int = 0
    # The git commit of the intent; empty without a git history.
    revision: str = ""
    # SHA-256 of the intent and the project's templates.
    digest: str = ""
    # The files differ from the commit.
    dirty: bool = False
    # Who confirmed the last deployment.
    by: str = ""

    @property
    def content(self) -> "Generation":
        """Return it without the values of the single switch, so that switches with the same state compare equal."""
        return replace(self, number=0, by="")

    @property
    def shown(self) -> str:
        """Return it as a person would name it."""
        # 12 digits of a hash are what git shows in large repositories.
        revision = self.revision[:12]
        if revision and not self.dirty:
            return f"commit {revision}"
        state = f"an uncommitted state {self.digest[:12]}"
        if revision:
            state += f" of {revision}"
        return state


NO_GENERATION = Generation()


@dataclass(frozen=True, slots=True)
class DevicePlan:
    """One device of a plan."""

    state: DeviceState
    # The tier of the device in the Clos network, such as ``leaf``.
    role: str = ""
    # Of the rows and FRR lines that railweave owns, as they were read; empty if the device could not be reached.
    running_sha256: str = ""
    # Rows that railweave leaves untouched, counted by table.
    unmanaged: Mapping[str, int] | None = None
    conflicts: tuple[ConflictingRow, ...] = ()
    # Why the device must not or would not take the change.
    blockers: tuple[Blocker, ...] = ()
    unprovisioned: bool = False
    # A commit awaits its confirmation, so the device may revert by itself.
    pending: bool = False
    error: str = ""
    # Its changes take it out of service for a while: the order of waves, the report and the rollout all use this.
    disruptive: bool = False
    # It does not answer and forwards nothing.
    out_of_service: bool = False
    # BGP peers that are drained before the change, ``("*",)`` for the whole device.
    drain: tuple[str, ...] = ()
    # Code points that are lossless on the device and no longer would be.
    lossless_removed: tuple[int, ...] = ()
    # Peers that somebody drained by hand, written like ``drain``; a rollout leaves them drained.
    drained: tuple[str, ...] = ()
    # The state of SONiC's traffic shift away (TSA).
    maintenance: Maintenance = Maintenance.NONE
    # Ports that close for good although their far end still uses them.
    live_ports: tuple[LivePort, ...] = ()
    # Values of SONiC's daemons that differ from CONFIG_DB. From here to ``answered``: not part of the plan's file.
    unapplied: tuple[Unapplied, ...] = ()
    # The device did not report the values of its daemons.
    applied_unknown: bool = False
    # Port fields for which SONiC does not report the value in force.
    unseen: tuple[str, ...] = ()
    # The state of the intent that the device runs.
    generation: Generation = NO_GENERATION
    # It runs another SONiC release than intended.
    other_release: OtherRelease | None = None
    # It was reached although it could not be read.
    answered: bool = False
    # Labels of the ports whose cables change, by SONiC's names; None if none changes.
    labels: Mapping[str, str] | None = None
    # Daemons that an earlier change ended and that do not run, with their last log lines and the command.
    broken: str = ""
    # Values that should be removed and stay in force, because no step removes them.
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
    """What a deployment of ``fabric`` to ``target`` would do."""

    fabric: str
    # Empty for a plan that compares two intents offline.
    target: str
    intent_sha256: str
    devices: Mapping[str, DevicePlan]
    # The changes of each changed device, in the order of ``devices``; equal changes of several devices are one object.
    deltas: Mapping[str, Delta]
    # Every changed device once, in the order of the rollout.
    waves: tuple[tuple[str, ...], ...]
    # Devices of the base that the intent no longer has (offline plans only): nothing is done to them.
    gone: tuple[str, ...] = ()
    policy: RolloutPolicy = DEFAULT_POLICY
    # Rules of the policy that no order can keep: such a plan is shown and never carried out.
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
        """Return the devices on which a commit awaits confirmation: they may revert by themselves."""
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
