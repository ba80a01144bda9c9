"""Faults of the seeded rollouts: what strikes, where and when, chosen by the seed."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_OFTEN = ("none", "lost", "refused", "unverified", "cut", "killed", "power")
KINDS = (*_OFTEN, "killed and cut", *_OFTEN, "replayed")
"""Every kind of fault; ``killed`` is the deploying process, the others strike a switch. ``replayed``: it gives an
answer of its past in the place of a new one."""

REFUSABLE = ("config load", "config apply-patch", "vtysh -f", "config save")
CUTTABLE = (*REFUSABLE, "railweave-switch apply", "railweave-switch confirm", "railweave-switch read",
            "railweave-switch status", "show bgp", "show running-config")  # fmt: skip
MOMENTS = ("before", "during", "after")
MOST_COMMANDS = 14
"""A switch gets so few in a rollout that a fault at a later one would hardly ever strike."""
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

    def __str__(self) -> str:
        where = f"SIGKILL {'within' if self.torn else 'after'} journal line {self.killed_at}"
        return ", ".join([*map(str, self.strikes), *((where,) if self.killed_at else ())]) or "none"


def chosen_faults(kind: str, devices: Sequence[str], rng: random.Random) -> Faults:
    """Return faults of ``kind`` on some of ``devices``."""
    strikes = []
    if kind == "lost":
        strikes = [Strike(_one(devices, rng), "unreachable", rng.randint(1, MOST_COMMANDS))]
    elif kind == "refused":
        strikes = [Strike(_one(devices, rng), "refuse-commit", 0, (("command", rng.choice(REFUSABLE)),))]
    elif kind == "unverified":
        strikes = [Strike(_one(devices, rng), "bgp-down", rng.randint(1, MOST_COMMANDS))]
    elif kind in ("cut", "killed and cut"):
        strikes = [_cut(devices, rng) for _ in range(rng.choice((1, 1, 2)))]
    elif kind == "replayed":
        strikes = [Strike(_one(devices, rng), "replay", rng.randint(1, MOST_COMMANDS))]
    elif kind == "power":
        strikes = [Strike(_one(devices, rng), "power-cycle", rng.randint(1, MOST_COMMANDS))]
    killed_at = rng.randint(1, MOST_LINES) if kind.startswith("killed") else 0
    return Faults(kind, tuple(strikes), killed_at, torn=rng.random() < 0.25)


def _cut(devices: Sequence[str], rng: random.Random) -> Strike:
    details = (("command", rng.choice(CUTTABLE)), ("moment", rng.choice(MOMENTS)), ("after", rng.choice((0, 0, 1, 2))))
    return Strike(_one(devices, rng), "drop-session", 0, details)


def _one(devices: Sequence[str], rng: random.Random) -> str:
    return devices[rng.randrange(len(devices))]
