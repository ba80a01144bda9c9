"""The record of a watched fabric: every moment at which cables began or ceased to carry BGP, and how busy a switch was.

A switch is looked at after every command that it ran. What happens and ends within one command is not seen.
"""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sonic_sim.bgp.sessions import sessions_of
from sonic_sim.device import Device, Fabric
from sonic_sim.traffic import used_ports

_AGAIN_S = 0.02


class _LastLook(NamedTuple):
    """What decides which cables of a switch carry BGP, by versions, and how busy it was, when it was looked at."""

    rows: int
    frr: int
    faults: int
    network: int
    busy_s: float


@dataclass(slots=True)
class Watch:
    """What was seen since `Watch.begin`. A cable is named by its two ends ``DEVICE:PORT`` in the order of text.

    A moment is ``{"at": seconds of this machine's steady clock, "device": name, "up": [[a, b]…], "down": [[a, b]…],
    "busy_s": seconds of its own clock that the switch's commands took so far}``.
    """

    network: Fabric
    moments: list[dict[str, Any]] = field(default_factory=list)
    active: bool = False
    _carrying: dict[tuple[str, str], bool] = field(default_factory=dict)
    _cables_of: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    _last_looks: dict[str, _LastLook] = field(default_factory=dict)
    # Switches that are looked at again without a command.
    _waiting: set[str] = field(default_factory=set)

    def begin(self) -> list[tuple[str, str]]:
        """Begin the record once routes have converged; return the cables that carry BGP now."""
        # In a large fabric that takes minutes, for which no command of a switch waits.
        used_ports(self.network)
        self.active = True
        self.moments.clear()
        self._carrying.clear()
        self._cables_of.clear()
        self._last_looks.clear()
        for device in self.network.devices.values():
            self.look(device)
        self.moments.clear()
        return [cable for cable, up in self._carrying.items() if up]

    def look(self, device: Device) -> None:
        """Record the changes at a switch since it was looked at last."""
        if not self.active:
            return
        present = _LastLook(
            rows=device.db.version,
            frr=device.frr.version,
            faults=device.faults.version,
            network=self.network.version,
            busy_s=device.busy_s,
        )
        last = self._last_looks.get(device.name)
        if present == last and device.name not in self._waiting:
            return
        self._last_looks[device.name] = present
        self._waiting.discard(device.name)
        changed = self._changed_cables(device)
        was_busy = last is None or last.busy_s != present.busy_s
        if was_busy or any(changed.values()):
            moment = {"at": time.monotonic(), "device": device.name, "busy_s": round(device.busy_s, 3)}
            self.moments.append({**moment, **changed})

    def _changed_cables(self, device: Device) -> dict[str, list[tuple[str, str]]]:
        """Return the cables of a switch that began to carry BGP (``up``) and that ceased to (``down``)."""
        carrying = self._cables_now(device)
        self._cables_of[device.name] = set(carrying)
        changed: dict[str, list[tuple[str, str]]] = {"up": [], "down": []}
        for cable, up in carrying.items():
            if self._carrying.get(cable, False) != up:
                changed["up" if up else "down"].append(cable)
            self._carrying[cable] = up
        return changed

    def _cables_now(self, device: Device) -> dict[tuple[str, str], bool]:
        """Return whether a session of BGP is up on each cable from a switch to another.

        Cables that carried BGP before are among them, because a switch that lost the configuration of a neighbor has no
        session there any more.
        """
        carrying = dict.fromkeys(self._cables_of.get(device.name, ()), False)
        for session in sessions_of(device).values():
            far = self.network.far_end(device, session.port) if session.port else None
            if far is None or far.node not in self.network.devices:
                continue
            first, second = sorted((f"{device.name}:{session.port}", f"{far.node}:{far.port}"))
            # A cable carries BGP while any of its sessions is up.
            is_carrying = carrying.get((first, second), False)
            carrying[first, second] = is_carrying or session.established
            if session.state == "Connect":
                # It will come up without a command that would make the simulator look.
                self._look_again(device)
        return carrying

    def _look_again(self, device: Device) -> None:
        """Let a switch be looked at again soon, once however often this is called until then."""
        if device.name not in self._waiting:
            self._waiting.add(device.name)
            asyncio.get_running_loop().call_later(_AGAIN_S, self.look, device)
