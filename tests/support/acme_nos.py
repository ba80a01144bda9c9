"""A network operating system that does not exist, and its driver: the second implementation of the driver contract.

A switch holds texts in a language of its own, and reverts a commit by itself once its time is over::

    object PORT Ethernet0
      admin_status = up
      members = [ a b ]
    routing
      | router bgp 4210000000
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from napalm.base.base import NetworkDriver
from napalm.base.exceptions import CommitConfirmException, CommitError

from railweave.sonic.delta.change import Delta
from railweave.sonic.delta.delta import applied
from railweave.sonic.document import RunningConfig
from railweave.sonic.rows import Value
from railweave.switch_driver import (
    STATE,
    AppliedChange,
    Capability,
    CommitStatus,
    ConfigReading,
    ObserveRequest,
    SwitchDriver,
    SwitchView,
)


def written(running: RunningConfig) -> str:
    """Return a configuration in the language of the switch."""
    lines: list[str] = []
    for table, rows in sorted(running.config_db.items()):
        for key, fields in sorted(rows.items()):
            lines.append(f"object {table} {key}")
            lines += [f"  {name} = {_word(value)}" for name, value in sorted(fields.items())]
    lines.append("routing")
    lines += [f"  | {line}" for line in (running.frr or "").splitlines()]
    return "\n".join(lines) + "\n"


def _word(value: Value) -> str:
    return value if isinstance(value, str) else f"[ {' '.join(value)} ]"


# A deployment asks for every row of every port again, while the text is the same.
@lru_cache(maxsize=64)
def parsed(text: str) -> RunningConfig:
    """Return the configuration that a text of the switch says."""
    tables: dict[str, dict[str, dict[str, Value]]] = {}
    routing: list[str] = []
    row: dict[str, Value] = {}
    for line in text.splitlines():
        if line.startswith("object "):
            _, table, key = line.split(" ", 2)
            row = tables.setdefault(table, {}).setdefault(key, {})
        elif line.startswith("  | "):
            routing.append(line.removeprefix("  | "))
        elif line.startswith("  "):
            name, _, word = line.strip().partition(" = ")
            row[name] = tuple(word[2:-2].split()) if word.startswith("[ ") else word
    return RunningConfig(tables, "\n".join(routing) + "\n")


@dataclass
class AcmeSwitch:
    """A switch in memory; ``now`` is its clock, in seconds."""

    text: str
    now: Callable[[], float]
    startup: str = ""
    # What it goes back to, and when.
    earlier: str = ""
    reverts_at_s: float | None = None
    commit_id: str = ""
    message: str = ""
    kept: str = ""

    def tick(self) -> None:
        """Revert a commit whose time is over."""
        if self.reverts_at_s is not None and self.now() >= self.reverts_at_s:
            self.restore()

    def restore(self) -> None:
        self.text = self.earlier
        self.reverts_at_s = None

    @property
    def running(self) -> RunningConfig:
        self.tick()
        return parsed(self.text)


class AcmeView(SwitchView):
    """What the switch shows, through a fabric of such switches."""

    def __init__(self, name: str, world: Any) -> None:
        self._name = name
        self._world = world
        self._ends = list(world.ends(name))

    def get_interfaces(self) -> dict[str, dict[str, Any]]:
        far_ends = {port: (far, far_port) for _, port, far, far_port, _ in self._ends}
        return {
            port: {
                "is_enabled": self._world.enabled(self._name, port),
                "is_up": port in far_ends and self._world.up(self._name, port, *far_ends[port]),
                "mtu": int(str(fields.get("mtu", "9100"))),
            }
            for port, fields in self._world.switches[self._name].running.config_db.get("PORT", {}).items()
        }

    def get_interfaces_ip(self) -> dict[str, Any]:
        addresses: dict[str, Any] = {}
        tables = self._world.switches[self._name].running.config_db
        for key in [*tables.get("INTERFACE", {}), *tables.get("LOOPBACK_INTERFACE", {})]:
            port, _, prefix = key.partition("|")
            if prefix:
                address, _, length = prefix.partition("/")
                addresses.setdefault(port, {"ipv4": {}})["ipv4"][address] = {"prefix_length": int(length)}
        return addresses

    def get_lldp_neighbors_detail(self) -> dict[str, Any]:
        def system(device: str) -> str:
            return str(self._world.hostname(device)) if device in self._world.switches else device

        return {
            port: [{"remote_system_name": system(far), "remote_port": far_port}]
            for _, port, far, far_port, _ in self._ends
            if self._world.up(self._name, port, far, far_port)
        }

    def get_bgp_neighbors(self) -> dict[str, Any]:
        return {"global": {"peers": dict(self._peers())}}

    def _peers(self) -> Iterator[tuple[str, Any]]:
        for link, port, far, far_port, side in self._ends:
            if link.is_access:
                continue
            own, other = (link.network, link.network + 1) if side == "upper" else (link.network + 1, link.network)
            remote_as = self._world.remote_as(self._name, _dotted(other))
            if remote_as is not None:
                both = self._world.remote_as(far, _dotted(own)) is not None
                family = {"ipv4": {"accepted_prefixes": 10, "sent_prefixes": 10}}
                is_up = both and self._world.up(self._name, port, far, far_port)
                yield _dotted(other), {"remote_as": remote_as, "is_up": is_up, "address_family": family}


def _dotted(address: int) -> str:
    return ".".join(str(address >> shift & 255) for shift in (24, 16, 8, 0))


class AcmeSwitchDriver(SwitchDriver):
    """The driver: reading, observing, and commits under the switch's own timer."""

    capabilities = frozenset({Capability.READ, Capability.OBSERVE, Capability.APPLY_WITH_TIMER, Capability.SAVE})

    def __init__(self, name: str, switch: AcmeSwitch, world: Any) -> None:
        self.name = name
        self.switch = switch
        self.world = world

    def read(self, request: ObserveRequest | None = None) -> ConfigReading:
        return ConfigReading(self.switch.running, self.status())

    def status(self) -> CommitStatus:
        switch = self.switch
        switch.tick()
        pending = switch.reverts_at_s is not None
        return CommitStatus(pending, switch.commit_id, switch.message, switch.kept)

    def printed(self, which: str) -> str:
        config = self.switch.running if which == "running" else parsed(self.switch.startup)
        return json.dumps({**config.config_db, "bgpraw": config.frr}, default=dict)

    def serial_number(self) -> str:
        return f"ACME-{self.name}"

    def observe(self, request: ObserveRequest = STATE) -> SwitchView:
        return AcmeView(self.name, self.world)

    def interfaces(self) -> Mapping[str, Mapping[str, Any]]:
        return AcmeView(self.name, self.world).get_interfaces()

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
        switch = self.switch
        if self.status().pending:
            raise CommitError(f"{self.name}: {switch.commit_id} waits for its confirmation")
        switch.earlier = switch.text
        switch.text = written(applied(delta, switch.running))
        switch.commit_id = commit_id
        switch.message = message
        if revert_in is None:
            switch.kept = commit_id
            switch.startup = switch.text
        else:
            switch.reverts_at_s = switch.now() + revert_in
        return AppliedChange(commit_id)

    def confirm(self, commit_id: str, *, only: ConfigReading | None = None) -> bool:
        if not self.status().pending or commit_id not in ("", self.switch.commit_id):
            raise CommitConfirmException(f"{self.name}: {commit_id} does not wait")
        self.switch.reverts_at_s = None
        self.switch.kept = self.switch.commit_id
        self.switch.startup = self.switch.text
        return True

    def revert(self, commit_id: str, *, pending: bool) -> None:
        if commit_id != self.switch.commit_id or pending != self.status().pending:
            raise CommitError(f"{self.name}: another commit came since {commit_id}")
        self.switch.restore()
        if not pending:
            self.switch.startup = self.switch.text

    def save(self) -> None:
        self.switch.startup = self.switch.text


@dataclass
class AcmeFleet:
    """What the drivers of a test reach: a world of Acme switches, and the driver class that they use."""

    world: Any
    driver_class: type[AcmeSwitchDriver] = AcmeSwitchDriver
    switches: dict[str, AcmeSwitch] = field(default_factory=dict)


def napalm_driver(fleet: AcmeFleet) -> type[Any]:
    """Return NAPALM's side of the driver: it connects, which takes nothing in memory."""

    class AcmenosDriver(NetworkDriver):  # type: ignore[misc]
        """The connection to an Acme switch."""

        def __init__(
            self,
            hostname: str,
            username: str,
            password: str,
            timeout: int = 60,
            optional_args: dict[str, Any] | None = None,
        ) -> None:
            self.switch_driver = fleet.driver_class(hostname, fleet.switches[hostname], fleet.world)

        def open(self) -> None:
            """Connect."""

        def close(self) -> None:
            """Disconnect."""

        def is_alive(self) -> dict[str, bool]:
            return {"is_alive": True}

    return AcmenosDriver
