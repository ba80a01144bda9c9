"""Faults of the seeded rollouts: what strikes, where and when, chosen by the seed."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

_OFTEN = ("none", "lost", "refused", "unverified", "cut", "killed", "power")
_RARE = ("killed and cut", "replayed", "lying", "late daemon", "daemon dies", "foreign commit", "frozen")
KINDS = (*_OFTEN, *_RARE, *_OFTEN)
"""Every kind of fault; ``killed`` and ``frozen`` is the deploying process, the others strike a switch.

``replayed``: it gives an answer of its past in the place of a new one; ``lying``: a command of SONiC says that it did
what it did not, or that it failed although it did it; ``late daemon``: after a reload one of FRR's daemons starts after
the others; ``daemon dies``: one exits, and its container starts again with what it boots; ``foreign commit``: another
client commits in between; ``frozen``: the process sleeps longer than the timers, and others commit meanwhile.
"""

REFUSABLE = ("config load", "config apply-patch", "vtysh -f", "config save")
CUTTABLE = (*REFUSABLE, "railweave-switch apply", "railweave-switch confirm", "railweave-switch read",
            "railweave-switch status", "show bgp", "show running-config")  # fmt: skip
DAEMONS = ("bgpd", "bgpd", "staticd", "mgmtd")
LATE_S = (5.0, 300.0, 3000.0)
"""How much later a daemon starts, in seconds of the switch; the simulator lets a thousand pass in one."""
MOMENTS = ("before", "during", "after")
MOST_COMMANDS = 14
"""A switch gets so few in a rollout that a fault at a later one would hardly ever strike."""
MOST_TALKED = 8
"""A switch gets about so many commands from one deployment."""
MOST_LINES = 60


@dataclass(frozen=True, slots=True)
class Strike:
    """One fault on one switch: armed at once where ``after`` is 0, else at the switch's n-th command from now."""

    device: str
    kind: str
    after: int = 0
    details: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        return " ".join((self.kind, "of", self.device, *(f"{name}={value}" for name, value in self.details),
                         *((f"at command {self.after}",) if self.after else ())))  # fmt: skip

    def arm(self, fabric: Any) -> None:
        """Arm it on a watched fabric."""
        fault = {"kind": self.kind, **dict(self.details)}
        if self.after:
            fabric.ask("trigger", device=self.device, after=self.after, fault=fault)
        else:
            details = dict(self.details)
            fabric.ask("fault", device=self.device, kind=self.kind, details=details)


@dataclass(frozen=True, slots=True)
class Faults:
    """What happens to one rollout; ``killed_at`` is the line of the journal after which its process dies, 0 never;
    ``torn``: in the middle of that line."""

    kind: str
    strikes: tuple[Strike, ...] = ()
    killed_at: int = 0
    torn: bool = False
    frozen_at: tuple[str, int] = ("", 0)

    def __str__(self) -> str:
        told = [*map(str, self.strikes)]
        if self.killed_at:
            told.append(f"SIGKILL {'within' if self.torn else 'after'} journal line {self.killed_at}")
        if self.frozen_at[0]:
            told.append(f"frozen at command {self.frozen_at[1]} of {self.frozen_at[0]}")
        return ", ".join(told) or "none"

    @property
    def by_others(self) -> dict[str, dict[str, Any]]:
        """Return the rows that other clients commit, by switch."""
        return {one.device: dict(one.details)["rows"] for one in self.strikes if one.kind == "commit"}


def chosen_faults(kind: str, devices: Sequence[str], rng: random.Random, reloading: Sequence[str] = ()) -> Faults:
    """Return faults of ``kind`` on some of ``devices``, of which those ``reloading`` start their daemons anew."""
    strikes = [*_strikes(kind, devices, rng, reloading or devices)]
    killed_at = rng.randint(1, MOST_LINES) if kind.startswith("killed") else 0
    torn, frozen_at = rng.random() < 0.25, ("", 0)
    if kind == "frozen":
        frozen_at = (_one(devices, rng), rng.randint(1, MOST_TALKED))
    return Faults(kind, tuple(strikes), killed_at, torn, frozen_at)


def _strikes(kind: str, devices: Sequence[str], rng: random.Random, reloading: Sequence[str]) -> Iterator[Strike]:
    if kind in _AT_A_COMMAND:
        yield Strike(_one(devices, rng), _AT_A_COMMAND[kind], rng.randint(1, MOST_COMMANDS))
    elif kind == "refused":
        yield Strike(_one(devices, rng), "refuse-commit", 0, (("command", rng.choice(REFUSABLE)),))
    elif kind in ("cut", "killed and cut"):
        for _ in range(rng.choice((1, 1, 2))):
            yield _cut(devices, rng)
    elif kind == "lying":
        yield lie(_one(devices, rng), rng)
    elif kind == "late daemon":
        yield late_daemon(_one(reloading, rng), rng)
    elif kind in ("foreign commit", "frozen"):
        for device in rng.sample(devices, rng.choice((1, 2))):
            yield foreign_commit(device, rng)


_AT_A_COMMAND = {
    "lost": "unreachable",
    "unverified": "bgp-down",
    "replayed": "replay",
    "power": "power-cycle",
    "daemon dies": "daemon-dies",
}
"""Kinds that strike one switch at one of its commands, by the fault that it then has."""


def lie(device: str, rng: random.Random) -> Strike:
    """Return a command of SONiC that is not what it says, some of the next times."""
    details = (("command", rng.choice(REFUSABLE)), ("done", rng.random() < 0.5), ("times", rng.choice((1, 1, 2))))
    return Strike(device, "lie", 1, details)


def late_daemon(device: str, rng: random.Random) -> Strike:
    """Return a daemon of FRR that starts late when the others start next."""
    return Strike(device, "late-daemon", 0, (("daemon", rng.choice(DAEMONS)), ("seconds", rng.choice(LATE_S))))


def foreign_commit(device: str, rng: random.Random) -> Strike:
    """Return a commit of another client."""
    rows = {f"NTP_SERVER|203.0.113.{rng.randrange(250)}": {"iburst": "on"}}
    return Strike(device, "commit", rng.randint(1, MOST_COMMANDS), (("rows", rows),))


def _cut(devices: Sequence[str], rng: random.Random) -> Strike:
    details = (("command", rng.choice(CUTTABLE)), ("moment", rng.choice(MOMENTS)), ("after", rng.choice((0, 0, 1, 2))))
    return Strike(_one(devices, rng), "drop-session", 0, details)


def _one(devices: Sequence[str], rng: random.Random) -> str:
    return devices[rng.randrange(len(devices))]
