"""How railweave works on one switch, whatever network operating system it runs: the contract of a driver.

A driver is a NAPALM driver, which connects, with an attribute ``switch_driver`` that implements ``SwitchDriver``.
``capabilities`` states what it can do; whatever needs a capability that is missing is refused by its name.

A configuration is exchanged as ``RunningConfig``: rows in tables, named as in SONiC's CONFIG_DB, and the lines of the
routing daemon, written as FRR writes them. A driver of another network operating system translates both ways.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from railweave.sonic.delta.change import Delta
from railweave.sonic.delta.rejected import ModelsVerdict
from railweave.sonic.document import RunningConfig

ATTRIBUTE = "switch_driver"
"""The attribute of a NAPALM driver that holds its ``SwitchDriver``."""


class Capability(StrEnum):
    """What a driver can do. The first three are needed to deploy; without one of the others its use is left out."""

    READ = "read"
    OBSERVE = "observe"
    APPLY_WITH_TIMER = "apply-with-timer"
    CHECK = "check"
    CHECK_RELOAD = "check-reload"
    SAVE = "save"
    DRAIN = "drain"
    HOLD = "hold"
    ROUTES = "routes"
    COUNTERS = "counters"
    LINK_STATE = "link-state"
    ROLLBACK_DOCUMENTS = "rollback-documents"
    RECOVER = "recover"
    SECOND_LOGIN = "second-login"
    APPLIED_STATE = "applied-state"


METHODS: Mapping[Capability, tuple[str, ...]] = {
    Capability.READ: ("read", "status", "printed", "serial_number"),
    Capability.OBSERVE: ("observe", "interfaces"),
    Capability.APPLY_WITH_TIMER: ("apply", "confirm", "revert"),
    Capability.CHECK: ("check",),
    Capability.CHECK_RELOAD: ("check_reload",),
    Capability.SAVE: ("save",),
    Capability.DRAIN: ("drain", "undrain", "drained"),
    Capability.HOLD: ("hold",),
    Capability.ROUTES: ("ports_towards",),
    Capability.COUNTERS: ("all_counters",),
    Capability.LINK_STATE: ("link_state",),
    Capability.ROLLBACK_DOCUMENTS: ("rollback_document",),
    Capability.RECOVER: ("recover",),
    Capability.SECOND_LOGIN: ("log_in_again",),
    # No method: readings and views tell what the daemons have applied.
    Capability.APPLIED_STATE: (),
}
"""The methods that a driver with a capability implements."""

NEEDED_TO_READ = (Capability.READ, Capability.OBSERVE)
NEEDED_TO_DEPLOY = (*NEEDED_TO_READ, Capability.APPLY_WITH_TIMER)


@dataclass(frozen=True, slots=True)
class CommitStatus:
    """A switch's last commit, and what the switch says of itself beside it; a text is empty where it is not known."""

    # True while the commit waits for its confirmation or its revert.
    pending: bool
    commit_id: str = ""
    # The text that the commit was made with.
    message: str = ""
    # The id of the last commit that was confirmed.
    kept: str = ""
    # Its time is over, and no process on the switch reverts it.
    overdue: bool = False
    # Who made it.
    by: str = ""
    # It drains and changes no configuration.
    is_drain: bool = False
    # The state in the driver's own word, its kind and its error, for a person.
    state: str = ""
    kind: str = ""
    error: str = ""
    # Which commit waits, and when the switch reverts it, for a person; empty where none does.
    waits_for: str = ""
    # What is wrong with the state that the switch keeps of its commits.
    damage: str = ""
    # Which daemons the last change ended that nobody started again.
    broken: str = ""
    # The generation of the intent that the switch runs, as it was given with the last confirmed commit.
    generation: Mapping[str, Any] = field(default_factory=dict)
    # The name of a hold, the BGP peers that are about to be drained under it, and who holds.
    hold: str = ""
    held: tuple[str, ...] = ()
    held_by: str = ""
    # In how many seconds the switch reverts the commit by itself (None: no timer runs), and the hold ends.
    remaining_s: float | None = None
    held_s: float = 0.0
    # The id of the temporary drain that a pending commit supersedes.
    drain: str = ""

    @property
    def drains(self) -> bool:
        """True if the pending commit is only a temporary drain."""
        return self.pending and self.is_drain


@dataclass(frozen=True, slots=True)
class ObserveRequest:
    """What an answer is to show beside itself. ``state``: interfaces, addresses, LLDP and BGP; ``counters``: those of
    the ports, read twice, ``over_s`` seconds apart, unless that is 0; ``telemetry``: what monitoring reads, which only
    ``read`` answers, of the ``queues`` and priority groups with these numbers (empty: of all)."""

    state: bool = True
    counters: bool = False
    over_s: float = 0.0
    telemetry: bool = False
    queues: tuple[int, ...] = ()


STATE = ObserveRequest()


class NotOfferedError(NotImplementedError):
    """The driver does not implement this method of the contract."""


class PortCounters(Protocol):
    """NAPALM's counters of every port at one moment, in seconds of a steady clock."""

    @property
    def at_s(self) -> float:
        """Return the moment."""
        raise NotImplementedError

    @property
    def ports(self) -> Mapping[str, Mapping[str, int]]:
        """Return the counters of each port; -1 is unknown, as in NAPALM."""
        raise NotImplementedError


class SwitchView(Protocol):
    """What a switch shows. The getters return what NAPALM's of the same names do.

    A subclass implements the first four; what a driver does not know stays as here.
    """

    def get_interfaces(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the state of every interface."""
        raise NotOfferedError

    def get_interfaces_ip(self) -> Mapping[str, Mapping[str, Mapping[str, Mapping[str, int]]]]:
        """Return the addresses of the interfaces."""
        raise NotOfferedError

    def get_lldp_neighbors_detail(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Return what LLDP knows of each neighbor."""
        raise NotOfferedError

    def get_bgp_neighbors(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the BGP neighbors; raises CommandErrorException where the BGP daemon does not answer."""
        raise NotOfferedError

    @property
    def counted(self) -> tuple[PortCounters, ...]:
        """Return the counters, the earlier ones first; empty where they were not asked for, or are not counted."""
        return ()

    @property
    def waiting(self) -> str:
        """Return in words the commit that waits for its confirmation or revert; empty for none."""
        return ""

    @property
    def broken(self) -> str:
        """Return in words which daemons a change ended; empty for none."""
        return ""

    @property
    def is_whole(self) -> bool:
        """Tell whether the view has all of the following; what is missing of it is then missing on the switch."""
        return False

    def unapplied(self) -> Sequence[tuple[str, str, str, str]] | None:
        """Return row, field, applied and configured value where they differ; None where that is not known."""
        return None

    def unseen(self) -> tuple[str, ...]:
        """Return the fields of ports of which the switch does not tell what is in force."""
        return ()

    def image(self) -> Mapping[str, str]:
        """Return what the image says of its release: ``release``, ``branch``, ``build_version`` of SONiC."""
        return {}

    def bgp_timers(self) -> Mapping[str, Mapping[str, int]]:
        """Return ``keepalive``, ``hold``, ``configured_keepalive`` and ``configured_hold`` in seconds, by neighbor."""
        return {}

    def bfd(self) -> Mapping[str, str] | None:
        """Return the state of BFD (``up``, ``down``) by BGP neighbor; None where that is not known."""
        return None

    def bfd_detection_ms(self) -> Mapping[str, int] | None:
        """Return the milliseconds of silence after which BFD reports a neighbor down; None where not known."""
        return None


@dataclass(frozen=True, slots=True)
class ConfigReading:
    """What a switch runs, from one answer. A driver fills in what it knows.

    A driver may return a subclass with further fields, by which its ``confirm`` compares the running configuration.
    """

    running: RunningConfig
    status: CommitStatus
    # The same text for the same tables; the routing lines do not count. Empty where the driver makes none.
    tables_digest: str = ""
    # The generation of the intent before the last confirmed commit.
    earlier: Mapping[str, Any] = field(default_factory=dict)
    view: SwitchView | None = field(default=None, repr=False)
    # As `unapplied`, `unseen` and `image` of a view.
    unapplied: Sequence[tuple[str, str, str, str]] | None = None
    unseen: tuple[str, ...] = ()
    image: Mapping[str, str] = field(default_factory=dict)
    # What monitoring reads: ``counters`` and ``link_state`` as the methods return them; ``watermarks`` of the last
    # interval by ``queues`` and ``groups``; ``error_rates`` before FEC by port, as texts; ``error``, why some of it is
    # missing; ``other_program``, a sentence if another version of the switch's program answered. None from a driver
    # that does not answer it together.
    telemetry: Mapping[str, Any] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class AppliedChange:
    """A commit under its revert timer. ``reading`` is what the switch said right after it, None where that is not
    known; ``complaint`` is an error that it reported although the configuration is as wanted."""

    commit_id: str
    reading: ConfigReading | None = None
    complaint: str = ""


@dataclass(frozen=True, slots=True)
class HeldByOther:
    """Another runner holds the switch: a sentence that says who, the name and message of its hold, and how long it
    lasts at most, in seconds."""

    by: str
    hold: str = ""
    message: str = ""
    remaining_s: float = 0.0


@dataclass(frozen=True, slots=True)
class RecoveredState:
    """What a recovery found, and its outcome: ``healthy``, ``reverted``, ``accepted``, ``failed``, ``refused``, or
    another word for a commit that was left alone. ``restored`` and ``missing`` name rows and routing lines."""

    found: CommitStatus
    outcome: str
    restored: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    error: str = ""


class SwitchDriver(Protocol):
    """One switch, over a session that the NAPALM driver opened.

    A subclass implements the methods of the capabilities that it states. Methods raise NAPALM's exceptions; any other
    exception is reported as a fault of the driver.
    """

    @property
    def capabilities(self) -> Collection[str]:
        """Return the values of ``Capability`` that the driver has."""
        raise NotImplementedError

    @property
    def last_reading(self) -> ConfigReading | None:
        """Return what the last answer said of what runs; None where that may no longer be so."""
        return None

    # read

    def read(self, request: ObserveRequest | None = None) -> ConfigReading:
        """Return what runs and the status of the last commit; with a ``request`` the reading has a view too."""
        raise NotOfferedError

    def status(self) -> CommitStatus:
        """Return the status of the last commit, whoever made it."""
        raise NotOfferedError

    def printed(self, which: str) -> str:
        """Return the ``running`` or ``startup`` configuration as JSON: tables, and ``bgpraw`` with the routing lines.

        Empty where it cannot be read.
        """
        raise NotOfferedError

    def serial_number(self) -> str:
        """Return the serial number of the switch."""
        raise NotOfferedError

    # observe

    def observe(self, request: ObserveRequest = STATE) -> SwitchView:
        """Return what the switch shows now."""
        raise NotOfferedError

    def interfaces(self) -> Mapping[str, Mapping[str, Any]]:
        """Return NAPALM's ``get_interfaces``, alone."""
        raise NotOfferedError

    # apply-with-timer

    def apply(
        self,
        delta: Delta,
        *,
        message: str,
        revert_in: int | None,
        commit_id: str,
        request: ObserveRequest | None = None,
        generation: Mapping[str, Any] | None = None,
        restores: bool = False,
    ) -> AppliedChange:
        """Carry out a delta made for the last reading, under the name ``commit_id``.

        With ``revert_in`` (seconds) the switch itself restores what it ran, unless the commit is confirmed; None keeps
        and saves it at once. Raises CommitError, with the earlier configuration restored, where the delta cannot be
        carried out or its rows are no longer as they were read.

        ``request`` asks for a view in the answer. ``generation["now"]`` is kept with the confirmation, and
        ``generation["was"]`` is the number that the switch must still have. A delta that ``restores`` an earlier
        configuration is not checked by the switch's models.
        """
        raise NotOfferedError

    def confirm(self, commit_id: str, *, only: ConfigReading | None = None) -> bool:
        """Keep and save the pending commit; if ``commit_id`` is not empty, only the commit of that name.

        With ``only`` the commit is kept if exactly this reading runs. Return False, with nothing done, if something
        else runs. Raises CommitConfirmException if the commit is not pending.
        """
        raise NotOfferedError

    def revert(self, commit_id: str, *, pending: bool) -> None:
        """Undo a commit: revert it if it is ``pending``, else roll it back as the last one.

        Raises CommitError, with nothing done, if another commit came since.
        """
        raise NotOfferedError

    # check, check-reload

    def check(self, changes: Mapping[str, Any]) -> ModelsVerdict:
        """Return what the switch's models would refuse once the rows of ``changes`` are written; change nothing."""
        raise NotOfferedError

    def check_reload(self, config_db: Mapping[str, Any]) -> ModelsVerdict:
        """Return what SONiC's ``config reload`` of the tables ``config_db`` would refuse; change nothing."""
        raise NotOfferedError

    # save

    def save(self) -> None:
        """Save what runs, so that the switch boots it; raises CommitError while a commit is pending."""
        raise NotOfferedError

    # drain, hold

    def drain(
        self,
        peers: Sequence[str] | None,
        *,
        revert_in: int | None,
        message: str,
        request: ObserveRequest | None = None,
        hold: str = "",
    ) -> SwitchView | None:
        """Move traffic off these BGP peers, or off the switch (None), by graceful shutdown.

        With ``revert_in`` (seconds) the switch ends the drain by itself, and a commit that follows takes it over;
        without, it is saved. With the name of a ``hold`` it drains only while that hold lasts. Return the view that
        ``request`` asks for, None without a request.
        """
        raise NotOfferedError

    def undrain(self, request: ObserveRequest | None = None) -> SwitchView | None:
        """Move traffic back; a pending commit stays pending. Return the view that ``request`` asks for, or None."""
        raise NotOfferedError

    def drained(self) -> tuple[str, ...]:
        """Return the drained BGP peers; ``("*",)`` for the whole switch."""
        raise NotOfferedError

    def hold(self, name: str, peers: Sequence[str], *, seconds: float, message: str, over: str) -> HeldByOther | None:
        """Hold the switch for ``seconds``, or end the hold if ``seconds`` is 0.

        A hold tells others, on the switch, that ``peers`` are about to be drained. ``over`` names a hold whose owner no
        longer runs. Return who else holds the switch, None once it is held.
        """
        raise NotOfferedError

    # routes

    def ports_towards(self, prefix: str) -> frozenset[str]:
        """Return the ports over which the switch sends to an IPv4 prefix."""
        raise NotOfferedError

    # counters

    def all_counters(self) -> Mapping[str, Any]:
        """Return ``at`` (Unix seconds), ``boot`` (changes when counters restart), and ``ports``, ``queues`` and
        ``groups``: integers by SONiC's names of counters, by ``Ethernet0`` or ``Ethernet0|3``."""
        raise NotOfferedError

    # link-state

    def link_state(self) -> Mapping[str, Any]:
        """Return ``at`` (Unix seconds) and ``ports``: by port ``oper_status``, ``flap_count``, ``last_down_time``, and
        ``info``, ``readings`` and ``thresholds`` of its module, texts by SONiC's names of fields."""
        raise NotOfferedError

    # rollback-documents, recover

    def rollback_document(self, commit_id: str) -> Mapping[str, Any]:
        """Return the merge document that undoes a confirmed commit; raises CommitError if the switch has none."""
        raise NotOfferedError

    def recover(self, *, accept_running: bool) -> RecoveredState:
        """Repair the state of the switch's commits: restore what nobody finishes, or accept what runs."""
        raise NotOfferedError

    # second-login

    def log_in_again(self) -> None:
        """Open a second session and close it; raises if nobody can log in."""
        raise NotOfferedError
