"""A driver as tasks call it: what it cannot do is refused by name, and whatever it raises is a fault of the device.

A driver may be anybody's. It may lack a capability, state one that it does not have, answer with something else than
the contract says, or raise anything. None of that may end the work on other devices.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from napalm.base.exceptions import NapalmException

from railweave.printable import printable
from railweave.sonic.delta.change import Delta
from railweave.sonic.delta.rejected import ModelsVerdict
from railweave.sonic.document import DocumentError, RunningConfig
from railweave.switch_driver import (
    ATTRIBUTE,
    METHODS,
    NEEDED_TO_DEPLOY,
    STATE,
    AppliedChange,
    Capability,
    CommitStatus,
    ConfigReading,
    HeldByOther,
    ObserveRequest,
    RecoveredState,
    SwitchDriver,
    SwitchView,
)

# What the device, its driver, its answer or the way to it is at fault for. Anything else is a mistake of the program:
# no task catches it, so that it is reported as one (`rolling_out`, or by the command).
DEVICE_ERRORS = (NapalmException, OSError, EOFError, DocumentError)

Answer = TypeVar("Answer")


class DriverError(NapalmException):  # type: ignore[misc]
    """A driver lacks what it is asked for, or does not keep the contract."""


@contextmanager
def blaming(driver: str, method: str) -> Iterator[None]:
    """Raise DriverError, with the names of the ``driver`` and its ``method``, for an exception of the block.

    Exceptions of DEVICE_ERRORS and KeyboardInterrupt are left as they are.
    """
    try:
        yield
    except (*DEVICE_ERRORS, KeyboardInterrupt):
        raise
    except NotImplementedError as fault:
        raise DriverError(f"the driver {driver} states a capability and does not implement `{method}`") from fault
    # SystemExit and the like too: nobody's driver ends the run.
    except BaseException as fault:
        why = printable(" ".join(f"{type(fault).__name__}: {fault}".split()))
        raise DriverError(f"the driver {driver} failed in `{method}`: {why}") from fault


class CheckedDriver(SwitchDriver):
    """A driver whose capabilities are asked first, and whose answers and exceptions are checked."""

    def __init__(self, driver: SwitchDriver, name: str) -> None:
        """Check ``driver``, which messages call ``name``."""
        self.name = name
        self._driver = driver
        # What was read over this session, for drivers that keep no last reading themselves.
        self._last: ConfigReading | None = None

    @property
    def implementation(self) -> SwitchDriver:
        """Return the driver itself."""
        return self._driver

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Return the capabilities that the driver states and that railweave knows; other values are left out."""
        stated = self._stated
        return frozenset(capability for capability in Capability if capability in stated)

    @property
    def _stated(self) -> frozenset[object]:
        with blaming(self.name, "capabilities"):
            return frozenset(self._driver.capabilities)

    def can(self, capability: Capability) -> bool:
        """Tell whether the driver states a capability."""
        # Every call asks this, so only one capability is looked up.
        return capability in self._stated

    def require(self, capability: Capability) -> None:
        """Raise DriverError for a capability that the driver lacks."""
        if not self.can(capability):
            raise DriverError(lacking(self.name, [capability]))

    def _call(self, capability: Capability, method: str, call: Callable[[], Answer], *kinds: type[Any]) -> Answer:
        """Return the answer of a method, which ``call`` calls.

        Raises DriverError if the driver lacks the capability, or if the answer is of none of ``kinds``. Without
        ``kinds``, any answer is accepted.
        """
        self.require(capability)
        with blaming(self.name, method):
            answer = call()
        if kinds and not isinstance(answer, kinds):
            self._refuse_answer(method, answer, kinds[0])
        return answer

    def _change(self, capability: Capability, method: str, call: Callable[[], Answer], *kinds: type[Any]) -> Answer:
        """Call a method that changes the switch, as ``_call`` does; the last reading is no longer valid after it."""
        self._last = None
        return self._call(capability, method, call, *kinds)

    def _refuse_answer(self, method: str, answer: object, kind: type[Any]) -> None:
        raise DriverError(
            f"the driver {self.name} answered `{method}` with a {type(answer).__name__}, not a {kind.__name__}"
        )

    def _check_reading(self, method: str, reading: ConfigReading) -> None:
        if not isinstance(reading.running, RunningConfig):
            self._refuse_answer(method, reading.running, RunningConfig)
        if not isinstance(reading.status, CommitStatus):
            self._refuse_answer(method, reading.status, CommitStatus)

    @property
    def last_reading(self) -> ConfigReading | None:
        """Return what was read last; None if nothing was read, or if the switch was changed since."""
        reading = self._call(
            Capability.READ, "last_reading", lambda: self._driver.last_reading, ConfigReading, type(None)
        )
        if reading is None:
            return self._last
        self._check_reading("last_reading", reading)
        return reading

    def read(self, request: ObserveRequest | None = None) -> ConfigReading:
        """Return what runs and the status of the last commit."""
        reading = self._call(Capability.READ, "read", lambda: self._driver.read(request), ConfigReading)
        self._check_reading("read", reading)
        self._last = reading
        return reading

    def status(self) -> CommitStatus:
        """Return the status of the last commit."""
        return self._call(Capability.READ, "status", self._driver.status, CommitStatus)

    def printed(self, which: str) -> str:
        """Return the running or startup configuration as text."""
        return self._call(Capability.READ, "printed", lambda: self._driver.printed(which), str)

    def serial_number(self) -> str:
        """Return the serial number."""
        return self._call(Capability.READ, "serial_number", self._driver.serial_number, str)

    def observe(self, request: ObserveRequest = STATE) -> SwitchView:
        """Return what the switch shows."""
        return self._call(Capability.OBSERVE, "observe", lambda: self._driver.observe(request))

    def interfaces(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the state of every interface."""
        return self._call(Capability.OBSERVE, "interfaces", self._driver.interfaces, Mapping)

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
        """Carry out a delta."""

        def call() -> AppliedChange:
            return self._driver.apply(
                delta,
                message=message,
                revert_in=revert_in,
                commit_id=commit_id,
                request=request,
                generation=generation,
                restores=restores,
            )

        applied = self._change(Capability.APPLY_WITH_TIMER, "apply", call, AppliedChange)
        if applied.reading is not None:
            self._check_reading("apply", applied.reading)
        return applied

    def confirm(self, commit_id: str, *, only: ConfigReading | None = None) -> bool:
        """Keep and save the pending commit; return whether the driver did so.

        Raises DriverError if the driver says that it did, and the commit still waits for its confirmation.
        """
        confirmed = self._change(
            Capability.APPLY_WITH_TIMER, "confirm", lambda: self._driver.confirm(commit_id, only=only), bool
        )
        if confirmed:
            self._require_confirmed(commit_id)
        return confirmed

    def _require_confirmed(self, commit_id: str) -> None:
        """Raise DriverError if a commit that the driver confirmed still waits, so that the switch would revert it."""
        # A driver that learned the status with the answer is not asked again.
        reading = self.last_reading
        status = self.status() if reading is None else reading.status
        if status.pending and status.commit_id == commit_id:
            raise DriverError(f"the driver {self.name} says that it confirmed {commit_id}, which still waits")

    def revert(self, commit_id: str, *, pending: bool) -> None:
        """Undo this commit."""
        self._change(
            Capability.APPLY_WITH_TIMER, "revert", lambda: self._driver.revert(commit_id, pending=pending), type(None)
        )

    def check(self, changes: Mapping[str, Any]) -> ModelsVerdict:
        """Return which of the rows in ``changes`` the switch's models would refuse."""
        return self._call(Capability.CHECK, "check", lambda: self._driver.check(changes), ModelsVerdict)

    def check_reload(self, config_db: Mapping[str, Any]) -> ModelsVerdict:
        """Return what SONiC's ``config reload`` would refuse."""
        return self._call(
            Capability.CHECK_RELOAD, "check_reload", lambda: self._driver.check_reload(config_db), ModelsVerdict
        )

    def save(self) -> None:
        """Let the switch boot what it runs."""
        self._change(Capability.SAVE, "save", self._driver.save, type(None))

    def drain(
        self,
        peers: Sequence[str] | None,
        *,
        revert_in: int | None,
        message: str,
        request: ObserveRequest | None = None,
        hold: str = "",
    ) -> SwitchView | None:
        """Move traffic off BGP peers."""

        def call() -> SwitchView | None:
            return self._driver.drain(peers, revert_in=revert_in, message=message, request=request, hold=hold)

        return self._change(Capability.DRAIN, "drain", call)

    def undrain(self, request: ObserveRequest | None = None) -> SwitchView | None:
        """Move traffic back."""
        return self._change(Capability.DRAIN, "undrain", lambda: self._driver.undrain(request))

    def drained(self) -> tuple[str, ...]:
        """Return the drained BGP peers."""
        return self._call(Capability.DRAIN, "drained", self._driver.drained, tuple)

    def hold(self, name: str, peers: Sequence[str], *, seconds: float, message: str, over: str) -> HeldByOther | None:
        """Tell others that peers are about to be drained."""

        def call() -> HeldByOther | None:
            return self._driver.hold(name, peers, seconds=seconds, message=message, over=over)

        return self._call(Capability.HOLD, "hold", call, HeldByOther, type(None))

    def ports_towards(self, prefix: str) -> frozenset[str]:
        """Return the ports over which the switch sends to a prefix."""
        return self._call(Capability.ROUTES, "ports_towards", lambda: self._driver.ports_towards(prefix), frozenset)

    def all_counters(self) -> Mapping[str, Any]:
        """Return the counters of ports, queues and priority groups."""
        return self._call(Capability.COUNTERS, "all_counters", self._driver.all_counters, Mapping)

    def link_state(self) -> Mapping[str, Any]:
        """Return the flaps of ports and their modules."""
        return self._call(Capability.LINK_STATE, "link_state", self._driver.link_state, Mapping)

    def rollback_document(self, commit_id: str) -> Mapping[str, Any]:
        """Return the document that undoes a confirmed commit."""
        return self._call(
            Capability.ROLLBACK_DOCUMENTS,
            "rollback_document",
            lambda: self._driver.rollback_document(commit_id),
            Mapping,
        )

    def recover(self, *, accept_running: bool) -> RecoveredState:
        """Repair the state of the switch's commits."""
        return self._change(
            Capability.RECOVER, "recover", lambda: self._driver.recover(accept_running=accept_running), RecoveredState
        )

    def log_in_again(self) -> None:
        """Open a second session and close it."""
        self._call(Capability.SECOND_LOGIN, "log_in_again", self._driver.log_in_again, type(None))


def checked(connection: object, name: str) -> CheckedDriver:
    """Return the driver that a NAPALM connection holds. Raises DriverError if it holds none."""
    with blaming(name, ATTRIBUTE):
        driver = getattr(connection, ATTRIBUTE, None)
    if driver is None:
        raise DriverError(lacking(name, NEEDED_TO_DEPLOY))
    return CheckedDriver(driver, name)


def refusals(driver: CheckedDriver, needed: Sequence[Capability]) -> list[str]:
    """Return why a driver is refused, in sentences, before any device is tried; empty if it may be used.

    A driver is refused if it lacks a capability that is ``needed``, or states one whose methods it does not have.
    """
    if not all(driver.can(capability) for capability in needed):
        return [lacking(driver.name, [capability for capability in NEEDED_TO_DEPLOY if not driver.can(capability)])]
    implementation = driver.implementation
    unfounded: list[str] = []
    for capability in sorted(driver.capabilities):
        missing = [method for method in METHODS[capability] if not _implements(implementation, method)]
        stated = f"the driver {driver.name} states the capability {capability}"
        unfounded += (f"{stated} and has no method `{method}`" for method in missing)
    return unfounded


def _implements(driver: SwitchDriver, method: str) -> bool:
    """Tell whether a driver has a method of its own."""
    own = getattr(type(driver), method, None)
    # A subclass of the contract inherits methods that only raise.
    return callable(own) and own is not getattr(SwitchDriver, method)


def lacking(name: str, capabilities: Sequence[Capability]) -> str:
    """Return the sentence that the driver ``name`` lacks these capabilities."""
    noun = "capability" if len(capabilities) == 1 else "capabilities"
    return f"the driver {name} lacks the {noun} {', '.join(capabilities)}"
