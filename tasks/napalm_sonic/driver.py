"""NAPALM's driver for community SONiC; each method calls the module that implements it."""

from typing import Any

from napalm.base.base import NetworkDriver
from napalm.base.exceptions import CommitError, MergeConfigException, ReplaceConfigException

from napalm_sonic import (
    getters_config,
    getters_environment,
    getters_facts,
    getters_interfaces,
    getters_neighbors,
    getters_tables,
)
from napalm_sonic.calling import Caller
from napalm_sonic.candidate import Candidate, CandidateKind, read_candidate
from napalm_sonic.changes import Changes
from napalm_sonic.compare import difference
from napalm_sonic.drain import Drainer, Traffic, check_revert_in
from napalm_sonic.lock import Lock
from napalm_sonic.options import DOCKER, Options, parse_options
from napalm_sonic.ping import ping, ping_command
from napalm_sonic.program import SwitchProgram, new_id
from napalm_sonic.session import Session
from napalm_sonic.switch_driver import SonicSwitchDriver
from railweave.sonic.delta.change import Delta
from railweave.sonic.document import DocumentError


class SonicDriver(NetworkDriver):  # type: ignore[misc]
    """A SONiC switch. ``optional_args`` are described in docs/reference/napalm-sonic.md; unknown ones are refused."""

    platform = "sonic"

    def __init__(
        self,
        hostname: str,
        username: str,
        password: str,
        timeout: int = 60,
        optional_args: dict[str, Any] | None = None,
    ) -> None:
        """Store the parameters without connecting; ``timeout`` is in seconds.

        Raises ValueError for wrong ``optional_args``.
        """
        self.hostname = hostname
        self.username = username
        self.password = password
        self.timeout = timeout
        self._options = parse_options(optional_args, timeout)
        self.device = _new_session(hostname, username, password, float(timeout), self._options)
        self._lock = Lock(self.device, self._options.lock_wait_s)
        self.revert_timer = SwitchProgram(Caller(self.device, self._options, self.device.quotes), self._lock)
        self._candidate: Candidate | None = None
        self._compared: Delta | None = None
        # Ids of the last commit of this session, and of the last one that was sent, whose answer may be lost.
        self._own_commit_id = ""
        self._sent_commit_id = ""
        # The last commit had no changes, so a rollback must not undo an earlier one.
        self._last_was_empty = False
        # Attributes and not methods: NAPALM's contract has no methods beside its own.
        self.traffic = Traffic(Drainer(self.revert_timer))
        self.changes = Changes(self.revert_timer, self.traffic)
        self.switch_driver = SonicSwitchDriver(self.device, self.revert_timer, self.changes, self.traffic)

    # Session

    def open(self) -> None:
        """Connect; with the option ``config_lock`` hold the configuration lock for the whole session.

        Raises ConnectionException and its subclasses, and LockError.
        """
        self.device.open()
        if self._options.config_lock and not self._options.lock_disable:
            self._lock.acquire()

    def close(self) -> None:
        """Release the lock, end the session and drop the last reading: Python may keep a closed driver for long."""
        try:
            self._lock.release()
            self.device.close()
        finally:
            self.revert_timer.last_reading = None
            self.device.quotes.running = None

    def is_alive(self) -> dict[str, bool]:
        """Return whether the session can be used; after 15 s without an answer it is tested with a request."""
        return {"is_alive": self.device.answers()}

    # Configuration

    def load_replace_candidate(self, filename: str | None = None, config: str | None = None) -> None:
        """Load a whole configuration (tables and ``bgpraw`` as JSON) as the candidate; the switch is not contacted.

        Raises ReplaceConfigException if it is not a complete configuration.
        """
        self.discard_config()
        try:
            self._candidate = read_candidate(CandidateKind.REPLACE, filename, config)
        except DocumentError as error:
            raise ReplaceConfigException(str(error)) from error

    def load_merge_candidate(self, filename: str | None = None, config: str | None = None) -> None:
        """Load a part of a configuration as the candidate; the switch is not contacted.

        Null removes a field or row, and ``bgpraw`` has FRR lines to apply. Raises MergeConfigException if it is not a
        valid merge.
        """
        self.discard_config()
        try:
            self._candidate = read_candidate(CandidateKind.MERGE, filename, config)
        except DocumentError as error:
            raise MergeConfigException(str(error)) from error

    def compare_config(self) -> str:
        """Return the difference to the running configuration as text; ``""`` for no changes, or without a candidate."""
        if self._candidate is None:
            return ""
        running = self.revert_timer.read().running
        try:
            self._compared = self._candidate.delta(running)
        except DocumentError as error:
            raise self._load_error(error) from error
        return difference(self._compared)

    def commit_config(self, message: str = "", revert_in: int | None = None) -> None:
        """Apply the candidate; with ``revert_in`` (seconds) the switch reverts it unless it is confirmed in time.

        Raises CommitError, with the earlier configuration restored unless the message says otherwise.
        """
        if self._candidate is None:
            raise CommitError("no candidate is loaded")
        check_revert_in(revert_in)
        # Before the commit, so that a rollback finds it although its answer was lost.
        self._sent_commit_id = new_id()
        commit_id = self.changes.committer.commit(
            self._candidate, self._compared, message, revert_in, self._sent_commit_id
        )
        self._last_was_empty = not commit_id
        if commit_id:
            self._own_commit_id = commit_id
        self.discard_config()

    def has_pending_commit(self) -> bool:
        """Return whether a commit of any session is pending on the switch."""
        return self.revert_timer.status().pending

    def confirm_commit(self) -> None:
        """Confirm the pending commit and save it; after a commit of this session only that one is confirmed."""
        self.changes.committer.confirm_pending(self._own_commit_id, self._sent_commit_id)

    def discard_config(self) -> None:
        """Discard the candidate, if there is one."""
        self._candidate = None
        self._compared = None

    def rollback(self) -> None:
        """Revert the pending commit; if none is pending, roll back the last commit, of this or an earlier session.

        After a commit of this session only that commit is rolled back; CommitError is raised if another session's
        commit came since. After a commit without changes only a pending commit of this session is reverted.
        """
        self.changes.committer.rollback(self._own_commit_id, self._sent_commit_id, waiting_only=self._last_was_empty)
        self._own_commit_id = ""
        self._sent_commit_id = ""
        self.traffic.temporary = None

    # Getters

    def get_facts(self) -> dict[str, Any]:
        """Return NAPALM's facts."""
        return getters_facts.get_facts(self.device)

    def get_interfaces(self) -> dict[str, dict[str, Any]]:
        """Return state, MTU, speed (Mbit/s), description and MAC address of every interface."""
        return getters_interfaces.get_interfaces(self.device)

    def get_interfaces_ip(self) -> dict[str, dict[str, dict[str, dict[str, int]]]]:
        """Return the addresses that the kernel has in force."""
        return getters_interfaces.get_interfaces_ip(self.device)

    def get_interfaces_counters(self) -> dict[str, dict[str, int]]:
        """Return packet, octet, error and discard counters of the front-panel ports."""
        return getters_interfaces.get_interfaces_counters(self.device)

    def get_lldp_neighbors(self) -> dict[str, list[dict[str, str]]]:
        """Return the LLDP neighbor of each port."""
        return getters_neighbors.get_lldp_neighbors(self.device)

    def get_lldp_neighbors_detail(self, interface: str = "") -> dict[str, list[dict[str, Any]]]:
        """Return LLDP's values of each neighbor; ``interface`` limits it to one port."""
        return getters_neighbors.get_lldp_neighbors_detail(self.device, interface)

    def get_bgp_neighbors(self) -> dict[str, dict[str, Any]]:
        """Return the BGP neighbors of every VRF."""
        return getters_neighbors.get_bgp_neighbors(self.device)

    def get_arp_table(self, vrf: str = "") -> list[dict[str, Any]]:
        """Return the ARP entries of a VRF, ``""`` for the default one."""
        return getters_tables.get_arp_table(self.device, vrf)

    def get_mac_address_table(self) -> list[dict[str, Any]]:
        """Return the MAC addresses that the switch has learned."""
        return getters_tables.get_mac_address_table(self.device)

    def get_environment(self) -> dict[str, Any]:
        """Return fans, power, temperature, processor and memory."""
        return getters_environment.get_environment(self.device)

    def ping(
        self,
        destination: str,
        source: str = "",
        ttl: int = 255,
        timeout: int = 2,
        size: int = 100,
        count: int = 5,
        vrf: str | None = "",
        source_interface: str = "",
    ) -> dict[str, Any]:
        """Ping from the switch; ``timeout`` in seconds for each answer, ``size`` in bytes of data."""
        command = ping_command(destination, source or source_interface, ttl, timeout, size, count, vrf or "")
        return ping(self.device, command, float(count * (timeout + 1)))

    def get_config(
        self,
        retrieve: str = "all",
        full: bool = False,
        sanitized: bool = False,
        format: str = "text",  # noqa: A002
    ) -> dict[str, str]:
        """Return running, startup and candidate configuration as JSON text; ``sanitized`` hides secrets."""
        candidate = None
        if self._candidate is not None:
            candidate = self._candidate.document
        return getters_config.get_config(self.device, candidate, retrieve, sanitized)

    def cli(self, commands: list[str], encoding: str = "text") -> dict[str, str]:
        """Run commands in the switch's shell and return their outputs; raises CommandErrorException if one fails."""
        return getters_config.run_commands(self.device, commands, encoding)

    # Inside

    def _load_error(self, error: DocumentError) -> ReplaceConfigException | MergeConfigException:
        """Return NAPALM's error for a candidate that does not fit the running configuration."""
        if self._candidate is not None and self._candidate.kind is CandidateKind.REPLACE:
            return ReplaceConfigException(f"{self.hostname}: {error}")
        return MergeConfigException(f"{self.hostname}: {error}")


def _new_session(hostname: str, username: str, password: str, timeout_s: float, options: Options) -> Session:
    """Return a closed session. For the transport ``docker``, ``hostname`` is the container and no login is needed."""
    if options.transport == DOCKER:
        from napalm_sonic.container_session import ContainerSession

        return ContainerSession(hostname, username, password, timeout_s, command_timeout_s=options.command_timeout_s)
    return Session(
        hostname=hostname,
        username=username,
        password=password,
        timeout_s=timeout_s,
        netmiko_arguments=options.netmiko,
        command_timeout_s=options.command_timeout_s,
        sudo=options.sudo,
        jump=options.jump,
    )
