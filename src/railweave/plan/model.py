"""A plan: what a deployment would change on which device, how, and in which order.

A plan is a value with a file form (``document``). It states what will be done; nothing in it is computed later.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from railweave.fabric.releases import OtherRelease
from railweave.plan.policy import DEFAULT_POLICY, PolicyViolation, RolloutPolicy
from railweave.plan.unapplied import Unapplied
from railweave.sonic.delta.change import Change, Delta, Disruption, Op
from railweave.sonic.delta.closing import ClosingPort
from railweave.sonic.delta.diff import NO_DIFFERENCE, DeviceDiff
from railweave.telemetry.alert_change import AlertChange

PLAN_VERSION = 3
"""The version of the file form; a plan of another version is refused."""

_NO_CHANGES = Delta()


class DeviceState(StrEnum):
    """How a device differs from the intent."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    # It runs the intent by a commit that awaits confirmation, so its timer may still revert it.
    WAITING = "waiting"
    # Not readable, or it refuses the change.
    UNREACHABLE = "unreachable"
    # It has changes, or was not read, and the plan's limit leaves it out.
    BEHIND = "behind"


class NodeFile(NamedTuple):
    """A file of GPU nodes by its name below a node's folder, and the nodes that have it."""

    name: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Generation:
    """The state of an intent that a switch runs, or that is deployed. Without a digest nothing is known."""

    # Confirmed deployments and rollbacks of the switch so far.
    number: int = 0
    # The git commit of the intent; empty without a git history.
    revision: str = ""
    # SHA-256 of the intent and the project's templates and models.
    digest: str = ""
    # The files differ from the commit.
    dirty: bool = False
    # Who confirmed the last deployment.
    by: str = ""

    @property
    def content(self) -> "Generation":
        """Return the generation without the values of a single switch, so that equal states compare equal."""
        return replace(self, number=0, by="")

    @property
    def shown(self) -> str:
        """Return the generation as a person would name it: by its commit, or by its digest if it has none."""
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
class Reading:
    """One device as it was read: its difference from the intent, or why it could not be read.

    A reading with both an ``error`` and a difference was not read and is planned as factory-fresh (``unreached``).
    """

    # What the device needs; None if it could not be read.
    difference: DeviceDiff | None = None
    # Of the rows and FRR lines that railweave owns, to detect changes since the plan was made.
    running_sha256: str = ""
    # A commit awaits its confirmation, so the device may still revert.
    pending: bool = False
    # Why the device could not be read.
    error: str = ""
    # Not readable, and its neighbors see all links to it down: it forwards nothing.
    out_of_service: bool = False
    # Ports that close for good although they are in use, see ``consent.leaving_ports``.
    live_ports: tuple[ClosingPort, ...] = ()
    # Values that SONiC's daemons hold in APPL_DB or the kernel and that differ from CONFIG_DB.
    unapplied: tuple[Unapplied, ...] = ()
    # The state of the intent that the last confirmed deployment left on the device.
    generation: Generation = NO_GENERATION
    # SONiC release from ``/etc/sonic/sonic_version.yml``; empty if the device did not report it.
    release: str = ""
    # The device was reached, although it could not be read.
    answered: bool = False
    # Daemons that an earlier change ended and that do not run, in words.
    broken: str = ""
    # The device did not report what its daemons hold, so an empty ``unapplied`` proves nothing.
    applied_unknown: bool = False
    # Port fields for which SONiC does not report the value in force.
    unseen: tuple[str, ...] = ()


NOT_READ = Reading()


@dataclass(frozen=True, slots=True)
class DevicePlan:
    """One device of a plan: what was read of it, and what is done to it."""

    state: DeviceState
    # The tier of the device in the Clos network, such as ``leaf``.
    role: str = ""
    reading: Reading = NOT_READ
    # Its changes take it out of service for a while: the order of waves, the report and the rollout all use this.
    disruptive: bool = False
    # BGP peers that are drained before the change, ``("*",)`` for the whole device.
    drain: tuple[str, ...] = ()
    # It runs another SONiC release than intended.
    other_release: OtherRelease | None = None
    # Labels of the ports whose cables change, by SONiC's names; None if none changes.
    labels: Mapping[str, str] | None = None
    # The limit leaves it behind with changes that concern no link, so its neighbors can be verified against it.
    links_as_intended: bool = False

    @property
    def difference(self) -> DeviceDiff:
        """Return what the device needs; nothing if it could not be read."""
        return self.reading.difference or NO_DIFFERENCE

    @property
    def error(self) -> str:
        """Return why the device could not be read, or must not or would not take the change."""
        return self.reading.error or "; ".join(blocker.message for blocker in self.difference.blockers)

    def with_delta(self, delta: Delta) -> "DevicePlan":
        """Return the device with ``delta`` as its changes; its state stays the same."""
        if delta == self.difference.delta:
            return self
        return replace(self, reading=replace(self.reading, difference=replace(self.difference, delta=delta)))


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
class MovedStripes:
    """An entry of nodes whose leaves run from stripe ``before`` on, and would be others from ``after`` on."""

    kind: str
    before: int
    after: int


# Without slots, so that the changes of its devices are gathered once.
@dataclass(frozen=True)
class Plan:
    """What a deployment of ``fabric`` to ``target`` would do."""

    fabric: str
    # Empty for a plan that compares two intents offline.
    target: str
    intent_sha256: str
    devices: Mapping[str, DevicePlan]
    # Every changed device once, in the order of the rollout.
    waves: tuple[tuple[str, ...], ...]
    # Devices of the base that the intent no longer has (offline plans only): nothing is done to them.
    gone: tuple[str, ...] = ()
    policy: RolloutPolicy = DEFAULT_POLICY
    # Rules of the policy that no order can keep: such a plan is shown and never carried out.
    violations: tuple[PolicyViolation, ...] = ()
    # The switches that may be changed, in the order of the fabric (`--limit`); empty for all.
    limit: tuple[str, ...] = ()
    # The intent, a git revision or file, whose switches of equal configuration were not read; empty if all were.
    since: str = ""
    # Entries of nodes that an automatic ``first_stripe`` moves to other leaves.
    moved_stripes: tuple[MovedStripes, ...] = ()
    # Files of GPU nodes that differ because their templates do (offline plans only): `hosts apply` writes them.
    node_files: tuple[NodeFile, ...] = ()
    # Alerts that change, of an intent with `telemetry` (offline plans only): `telemetry render` writes them.
    alerts: tuple[AlertChange, ...] = ()
    version: int = PLAN_VERSION

    @cached_property
    def deltas(self) -> Mapping[str, Delta]:
        """Return the changes of each changed device, in the order of ``devices``.

        Equal changes of several devices are one object.
        """
        deltas = {name: device.difference.delta for name, device in self.devices.items()}
        return {name: delta for name, delta in deltas.items() if delta}

    def with_deltas(self, deltas: Mapping[str, Delta]) -> "Plan":
        """Return the plan with ``deltas`` as its only changes; states and waves stay the same."""
        devices = {name: device.with_delta(deltas.get(name, _NO_CHANGES)) for name, device in self.devices.items()}
        return replace(self, devices=devices)

    @property
    def is_offline(self) -> bool:
        """Tell whether it compares two intents, and nothing was read of any device."""
        return not self.target

    @property
    def summary(self) -> Summary:
        """Return how many rows, fields and lines are added, updated and removed."""
        counts: Counter[Op] = Counter()
        for delta in self.deltas.values():
            counts.update(delta.ops)
        return Summary(counts[Op.ADD], counts[Op.UPDATE], counts[Op.REMOVE])

    def includes(self, name: str) -> bool:
        """Tell whether the plan may change a device. Without a limit it may change any."""
        return not self.limit or name in self._limit

    @cached_property
    def _limit(self) -> frozenset[str]:
        return frozenset(self.limit)

    @property
    def behind(self) -> tuple[str, ...]:
        """Return the devices that stay behind: they have changes, or were not read, and the limit leaves them out."""
        return self.names(DeviceState.BEHIND)

    @property
    def settled(self) -> frozenset[str]:
        """Return the devices whose ends of links are as intended before the first wave."""
        behind = (name for name in self.behind if self.devices[name].links_as_intended)
        return frozenset((*self.names(DeviceState.UNCHANGED), *behind))

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
        return frozenset(name for name, device in self.devices.items() if device.reading.out_of_service)

    @property
    def unread(self) -> tuple[str, ...]:
        """Return the devices that could not be read or that refuse the change, also those outside of the limit."""
        behind = (name for name in self.behind if self.devices[name].reading.difference is None)
        return (*self.names(DeviceState.UNREACHABLE), *behind)

    @property
    def broken(self) -> tuple[str, ...]:
        """Return the devices on which a daemon does not run because an earlier change ended it.

        They forward nothing, or changes take no effect on them.
        """
        return tuple(name for name, device in self.devices.items() if device.reading.broken)

    # Asked for at every device of a rollout.
    @cached_property
    def unprovisioned(self) -> frozenset[str]:
        """Return the devices that are provisioned for the first time, so carry nothing yet."""
        return frozenset(name for name, device in self.devices.items() if device.difference.unprovisioned)

    @property
    def waiting(self) -> tuple[str, ...]:
        """Return the devices on which a commit awaits confirmation: they may revert by themselves."""
        return tuple(name for name, device in self.devices.items() if device.reading.pending)

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
