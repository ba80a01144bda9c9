"""Faults that a simulated switch or node shows on demand, each once or until it is cleared."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class FaultKind(StrEnum):
    """The closed set of faults."""

    UNREACHABLE = "unreachable"
    SLOW = "slow"
    REFUSE_COMMIT = "refuse-commit"
    DROP_SESSION = "drop-session"
    LOSE_CONFIG = "lose-config"
    BGP_DOWN = "bgp-down"
    SILENT = "silent"
    WRONG_HOST_KEY = "wrong-host-key"
    POWER_CYCLE = "power-cycle"
    ERRORS = "errors"
    LINK_DOWN = "link-down"
    NO_RETURN = "no-return"
    LATE_DAEMON = "late-daemon"
    DAEMON_DIES = "daemon-dies"
    IN_FORCE = "in-force"
    LOSSY = "lossy"
    BER = "ber"
    NO_PFC = "no-pfc"
    SMALL_BUFFER = "small-buffer"
    SLOW_NIC = "slow-nic"
    WRONG_DSCP = "wrong-dscp"
    SLOW_GPU = "slow-gpu"
    DIRTY_FIBER = "dirty-fiber"
    DYING_LASER = "dying-laser"
    BAD_COPPER = "bad-copper"
    HOT_CAGE = "hot-cage"
    PFC_STORM = "pfc-storm"
    QUEUE_DROPS = "queue-drops"


# Faults that happen when they are asked for and leave nothing armed.
AT_ONCE = frozenset({FaultKind.LOSE_CONFIG, FaultKind.POWER_CYCLE, FaultKind.DAEMON_DIES})
OF_TRAFFIC = frozenset({FaultKind.LOSSY, FaultKind.BER, FaultKind.NO_PFC, FaultKind.SMALL_BUFFER, FaultKind.SLOW_NIC,
                        FaultKind.WRONG_DSCP, FaultKind.SLOW_GPU, FaultKind.DIRTY_FIBER, FaultKind.DYING_LASER,
                        FaultKind.BAD_COPPER, FaultKind.HOT_CAGE, FaultKind.PFC_STORM,
                        FaultKind.QUEUE_DROPS})  # fmt: skip
"""Faults that no configuration shows: tests of bandwidth and counters do."""
OF_A_NIC = frozenset({FaultKind.LOSSY, FaultKind.BER, FaultKind.NO_PFC, FaultKind.SLOW_NIC, FaultKind.WRONG_DSCP,
                      FaultKind.DIRTY_FIBER, FaultKind.DYING_LASER, FaultKind.BAD_COPPER,
                      FaultKind.PFC_STORM})  # fmt: skip
"""Faults of nodes that can be of one NIC."""
OF_A_NODE = OF_A_NIC | {FaultKind.SLOW_GPU}
OF_A_PORT = frozenset({FaultKind.ERRORS, FaultKind.LINK_DOWN, FaultKind.IN_FORCE, FaultKind.LOSSY, FaultKind.BER,
                       FaultKind.NO_PFC, FaultKind.DIRTY_FIBER, FaultKind.DYING_LASER, FaultKind.BAD_COPPER,
                       FaultKind.HOT_CAGE, FaultKind.QUEUE_DROPS})  # fmt: skip
"""Faults that can be of one port."""
OF_A_SWITCH = frozenset(FaultKind) - OF_A_PORT - {FaultKind.SLOW_NIC, FaultKind.WRONG_DSCP, FaultKind.SLOW_GPU,
                                                  FaultKind.PFC_STORM}  # fmt: skip
"""Faults of a whole switch alone."""
# Faults that show only once the switch does something; all others are there as soon as they are armed.
AT_A_COMMAND = frozenset({FaultKind.SLOW, FaultKind.REFUSE_COMMIT, FaultKind.DROP_SESSION, FaultKind.NO_RETURN,
                          FaultKind.LATE_DAEMON})  # fmt: skip


@dataclass(slots=True)
class Fault:
    """One armed fault."""

    kind: FaultKind
    # Only commands that contain this text (refuse-commit, drop-session, slow).
    command: str = ""
    # How many such commands pass first.
    after: int = 0
    # How often it strikes, 0 = until cleared.
    times: int = 0
    # Delay of ``slow``; of late-daemon by how much the daemon listens later, on the switch's clock.
    seconds: float = 1.0
    # Of drop-session: ``before`` the command runs, ``during`` it (half of a patch) or ``after`` it.
    moment: str = "after"
    # Of a fault of a port, the port (empty: all).
    port: str = ""
    # Of errors, how many errors and discards a port counts a second; of queue-drops, how many packets a queue drops.
    rate: float = 100.0
    # Of in-force, Mbit/s that the port runs with (0: as configured).
    speed: int = 0
    # Of in-force, the FEC that the port runs with (empty: as configured, ``N/A``: not reported).
    fec: str = ""
    # Of in-force, the interval of the switch's BFD in milliseconds (0: as configured).
    interval_ms: int = 0
    # Of a fault of a NIC, its number from 0 (None: all of the node).
    nic: int | None = None
    # Of lossy, the share of packets that arrive here and are lost, and whether they count as FEC errors.
    ratio: float = 0.01
    counted: bool = False
    # Of ber and of poor links, the bit error rate of a lane before FEC; of a dying laser, when it is armed.
    ber: float = 1e-5
    lane: int = 0
    # Of dirty-fiber, the light that it takes from the lane.
    db: float = 8.0
    # Of dying-laser, the seconds in which its error rate rises by a decade.
    decade_s: float = 21_600.0
    # Of bad-copper, how often it flaps in an hour.
    flaps: float = 30.0
    # Of hot-cage, the temperature of the module.
    celsius: float = 78.0
    # Of small-buffer, the bytes at which a lossless priority group pauses.
    bytes: int = 40_000
    # Of slow-nic, what its PCIe bus carries, in Gb/s.
    gbps: float = 100.0
    # Of wrong-dscp, the DSCP of the packets that the node sends.
    dscp: int = 0
    # Of pfc-storm, the priority that the NIC pauses; of queue-drops, the queue.
    priority: int = 3
    # Of late-daemon, the daemon that listens once the boot configuration was loaded without it.
    daemon: str = ""
    # When it was armed, in seconds since 1970.
    since: float = 0.0
    # How often it struck so far.
    struck: int = 0


# How often a fault strikes unless that is stated; all others strike until they are cleared (0).
_DEFAULT_TIMES = {
    FaultKind.REFUSE_COMMIT: 1,
    FaultKind.DROP_SESSION: 1,
    FaultKind.NO_RETURN: 1,
    FaultKind.LATE_DAEMON: 1,
}
_MOMENTS = ("before", "during", "after")
_RANGES: Mapping[str, tuple[float, float]] = {
    "ratio": (0, 1),
    "ber": (0, 0.5),
    "lane": (0, 7),
    "bytes": (0, 2**32),
    "gbps": (0, 10_000),
    "dscp": (0, 63),
    "priority": (0, 7),
    "db": (0, 40),
    "decade_s": (1, 1e9),
    "flaps": (0, 36_000),
    "celsius": (-40, 150),
}
"""The least and the largest value of a detail."""


@dataclass(slots=True)
class Faults:
    """The armed faults of one switch."""

    armed: list[Fault] = field(default_factory=list)
    version: int = 0
    halfway: bool = False

    def add(self, kind: str, **details: Any) -> Fault:
        """Arm a fault. Raises ValueError for an unknown kind or detail."""
        try:
            fault_kind = FaultKind(kind)
            details.setdefault("times", _DEFAULT_TIMES.get(fault_kind, 0))
            fault = Fault(fault_kind, **details)
        except TypeError as error:
            raise ValueError(f"fault {kind}: {error}") from error
        except ValueError as error:
            raise ValueError(f"no fault '{kind}'; there are: {', '.join(FaultKind)}; clear ends them") from error
        if fault.moment not in _MOMENTS:
            raise ValueError(f"moment '{fault.moment}' is not one of {', '.join(_MOMENTS)}")
        for name, (least, most) in _RANGES.items():
            value = getattr(fault, name)
            if not least <= value <= most:
                raise ValueError(f"{name} {value} is not between {least} and {most}")
        # A fault of the same command, port or daemon is replaced.
        self.armed = [armed for armed in self.armed if _target(armed) != _target(fault)]
        self.armed.append(fault)
        self.version += 1
        return fault

    def clear(self, kind: str | None = None) -> int:
        """Clear all faults, or those of a kind; return how many."""
        remaining = [fault for fault in self.armed if kind is not None and fault.kind != kind]
        count = len(self.armed) - len(remaining)
        self.armed = remaining
        self.version += 1
        return count

    def has(self, kind: FaultKind) -> bool:
        """Tell whether a fault of this kind is armed."""
        return any(fault.kind is kind for fault in self.armed)

    def since(self, kind: FaultKind) -> float | None:
        """Return when a fault of this kind was armed, None if none is."""
        for fault in self.armed:
            if fault.kind is kind:
                return fault.since
        return None

    def cuts(self, port: str) -> bool:
        """Tell whether a fault keeps the link of a port down."""
        return any(fault.kind is FaultKind.LINK_DOWN and fault.port in ("", port) for fault in self.armed)

    def of_port(self, kind: FaultKind, port: str) -> Fault | None:
        """Return the fault of a kind that a port has, of several the one that was armed last; None if it has none."""
        for fault in reversed(self.armed):
            if fault.kind is kind and fault.port in ("", port):
                return fault
        return None

    def of_nic(self, kind: FaultKind, nic: int) -> Fault | None:
        """Return the fault of a kind that a NIC of a node has, of several the one that was armed last; else None."""
        for fault in reversed(self.armed):
            if fault.kind is kind and fault.nic in (None, nic):
                return fault
        return None

    def in_force(self, port: str) -> Fault | None:
        """Return the fault that makes a port run with other values than configured, None if there is none."""
        for fault in self.armed:
            if fault.kind is FaultKind.IN_FORCE and fault.port in ("", port):
                return fault
        return None

    def strike(self, kind: FaultKind, command: str = "") -> Fault | None:
        """Return the fault of a kind that hits this command or daemon, and count it; None if none does.

        A fault that has struck as often as it may is no longer armed.
        """
        for fault in self.armed:
            # A fault without a command or daemon hits every one.
            hits_command = fault.command in command and fault.daemon in ("", command)
            if fault.kind is not kind or not hits_command:
                continue
            self.version += 1
            if fault.after > 0:
                fault.after -= 1
                continue
            fault.struck += 1
            # A fault with ``times`` 0 strikes until it is cleared.
            if fault.times == 1:
                self.armed.remove(fault)
            elif fault.times > 1:
                fault.times -= 1
            return fault
        return None

    def to_json(self) -> list[dict[str, Any]]:
        """Return the armed faults as plain values."""
        return [asdict(fault) for fault in self.armed]


def _target(fault: Fault) -> tuple[FaultKind, str, str, int | None]:
    """Return what a fault concerns; a new fault replaces one of the same target."""
    return fault.kind, fault.command, fault.port or fault.daemon, fault.nic


def faults_from_json(values: list[Mapping[str, Any]]) -> Faults:
    """Read what `Faults.to_json` returned."""
    return Faults([Fault(**{**value, "kind": FaultKind(value["kind"])}) for value in values])
