"""The result of a run on GPU nodes, node by node: values for views, JSON and tests."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class HostState(StrEnum):
    """The state of a node after a run; after a dry run ``changed`` means that it would change."""

    UNCHANGED = "unchanged"
    CHANGED = "changed"
    FAILED = "failed"
    UNREACHABLE = "unreachable"
    NOT_ATTEMPTED = "not-attempted"


class ChangeKind(StrEnum):
    """What a change is made to: a file of the node, or its running kernel and NICs."""

    FILE = "file"
    SETTING = "setting"


@dataclass(frozen=True, slots=True)
class HostChange:
    """A change of one node.

    ``subject`` is the path of a file or an interface, ``what`` is the setting. ``diff`` is the unified diff of a file,
    empty for a setting.
    """

    kind: ChangeKind
    subject: str
    what: str
    before: str
    after: str
    diff: str = ""


@dataclass(frozen=True, slots=True)
class HostNote:
    """A setting of a NIC's firmware that differs, which railweave never changes.

    ``text`` is the value and what to do; ``is_pending`` means that it is set and takes effect with a restart.
    """

    subject: str
    what: str
    text: str
    is_pending: bool


@dataclass(frozen=True, slots=True)
class HostResult:
    """The result of one node.

    ``error`` says why it failed or was not reached; ``notes`` come in addition to its changes. ``interrupted`` tells
    that an earlier change of the node did not end.
    """

    name: str
    state: HostState
    changes: tuple[HostChange, ...] = ()
    error: str = ""
    notes: tuple[HostNote, ...] = ()
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class HostsRun:
    """A run on nodes in natural order; ``stopped_by`` says why the rest was not attempted, empty if all were.

    ``applied`` is False in a dry run; with ``is_rollback`` the nodes went to their snapshots, not to the intent.
    ``tested`` is the result of the RDMA test on the first batch, or why there was none.
    """

    fabric: str
    target: str
    applied: bool
    hosts: tuple[HostResult, ...]
    stopped_by: str = ""
    is_rollback: bool = False
    tested: str = ""

    def named(self, state: HostState) -> tuple[str, ...]:
        """Return the nodes in ``state``."""
        return tuple(host.name for host in self.hosts if host.state is state)

    @property
    def ok(self) -> bool:
        """Tell whether every node was reached and is, or would be, as intended."""
        return all(host.state in {HostState.UNCHANGED, HostState.CHANGED} for host in self.hosts)


def failed(hosts: Iterable[HostResult]) -> tuple[HostResult, ...]:
    """Return the nodes that count against a failure budget."""
    return tuple(host for host in hosts if host.state in {HostState.FAILED, HostState.UNREACHABLE})
