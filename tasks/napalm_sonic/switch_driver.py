"""railweave's contract of a driver (``railweave.switch_driver``) for SONiC, by the program on the switch."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from napalm_sonic import getters_config, getters_facts, getters_interfaces
from napalm_sonic.lock import HeldError
from napalm_sonic.observed import Observed
from napalm_sonic.reading import Reading
from railweave.sonic.delta.change import Delta
from railweave.sonic.delta.rejected import ModelsVerdict
from railweave.switch_driver import (
    STATE,
    AppliedChange,
    Capability,
    CommitStatus,
    ConfigReading,
    HeldByOther,
    ObserveRequest,
    RecoveredState,
    SwitchDriver,
)

if TYPE_CHECKING:
    from napalm_sonic.changes import Changes
    from napalm_sonic.drain import Traffic
    from napalm_sonic.program import SwitchProgram
    from napalm_sonic.session import Session


class SonicSwitchDriver(SwitchDriver):
    """A SONiC switch as railweave's tasks work on it; it has every capability."""

    capabilities = frozenset(Capability)

    def __init__(self, session: "Session", program: "SwitchProgram", changes: "Changes", traffic: "Traffic") -> None:
        """Work over ``session`` by the switch's ``program``."""
        self._session = session
        self._program = program
        self._changes = changes
        self._traffic = traffic

    @property
    def last_reading(self) -> ConfigReading | None:
        """Return the running configuration by the program's last answer."""
        return self._program.last_reading

    def read(self, request: ObserveRequest | None = None) -> ConfigReading:
        """Read configuration and status with one command; unchanged parts are not sent again."""
        return self._program.read(request=request)

    def status(self) -> CommitStatus:
        """Ask the program for the status of its last transaction."""
        return self._program.status()

    def printed(self, which: str) -> str:
        """Return the ``running`` or ``startup`` configuration as SONiC prints it."""
        return getters_config.get_config(self._session, None, which, sanitized=False)[which]

    def serial_number(self) -> str:
        """Return the serial number of the chassis."""
        return str(getters_facts.get_facts(self._session)["serial_number"])

    def observe(self, request: ObserveRequest = STATE) -> Observed:
        """Return observations, with one command."""
        return self._program.observe(request)

    def interfaces(self) -> Mapping[str, Mapping[str, Any]]:
        """Return NAPALM's ``get_interfaces``."""
        return getters_interfaces.get_interfaces(self._session)

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
        """Apply the delta as one transaction of the program, under its timer."""
        return self._changes.apply(
            delta,
            message=message,
            revert_in=revert_in,
            request=request,
            generation=generation,
            restores=restores,
            commit_id=commit_id,
        )

    def confirm(self, commit_id: str, *, only: ConfigReading | None = None) -> bool:
        """Confirm the transaction; with ``only`` the program compares digests first."""
        if only is not None and not isinstance(only, Reading):
            raise TypeError("the reading is of another driver")
        return self._changes.confirm(commit_id, only=only)

    def revert(self, commit_id: str, *, pending: bool) -> None:
        """Revert the transaction, or roll it back by the document that the switch keeps."""
        self._changes.revert(commit_id, pending=pending)

    def check(self, changes: Mapping[str, Any]) -> ModelsVerdict:
        """Validate the rows of a merge by the switch's YANG models."""
        return self._program.rejected_when_written(changes)

    def check_reload(self, config_db: Mapping[str, Any]) -> ModelsVerdict:
        """Validate tables for ``config reload`` by the switch's YANG models."""
        return self._program.rejected_by_reload(config_db)

    def save(self) -> None:
        """Save CONFIG_DB and FRR's file, both or neither."""
        self._changes.save()

    def drain(
        self,
        peers: Sequence[str] | None,
        *,
        revert_in: int | None,
        message: str,
        request: ObserveRequest | None = None,
        hold: str = "",
    ) -> Observed | None:
        """Drain by FRR's graceful shutdown, under the program's timer."""
        return self._traffic.drain(peers, revert_in=revert_in, message=message, request=request, hold=hold)

    def undrain(self, request: ObserveRequest | None = None) -> Observed | None:
        """End this session's drain, or without one remove all drains."""
        return self._traffic.undrain(request=request)

    def drained(self) -> tuple[str, ...]:
        """Return the drained BGP peers."""
        return self._traffic.drained()

    def hold(self, name: str, peers: Sequence[str], *, seconds: float, message: str, over: str) -> HeldByOther | None:
        """Write the hold to the program's state on the switch."""
        try:
            self._traffic.hold(name, peers, seconds=seconds, message=message, over=over)
        except HeldError as error:
            return HeldByOther(str(error), error.hold, error.message, error.remaining_s)
        return None

    def ports_towards(self, prefix: str) -> frozenset[str]:
        """Return the ports of the route in force to a prefix, by FRR."""
        return self._program.ports_towards(prefix)

    def all_counters(self) -> Mapping[str, Any]:
        """Return the counters by name, with one command."""
        return self._program.all_counters()

    def link_state(self) -> Mapping[str, Any]:
        """Return flaps and modules, with one command."""
        return self._program.link_state()

    def rollback_document(self, commit_id: str) -> Mapping[str, Any]:
        """Read the rollback document from the switch."""
        return self._changes.rollback_document(commit_id)

    def recover(self, *, accept_running: bool) -> RecoveredState:
        """Repair the program's state."""
        return self._program.recover(accept_running=accept_running)

    def log_in_again(self) -> None:
        """Log in a second time, beside the open session."""
        self._session.log_in_again()
