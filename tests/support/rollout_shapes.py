"""Small fabrics of several shapes, and what may be wished of them: the intents of the seeded rollouts."""

import random
from dataclasses import dataclass, replace

NODES_OF_A_STRIPE = 2
ALIKE = ("stripe: 2", "links_per_pair: 1", 'oversubscription: "2:1"', "reserve: {leaves: 4, spines: 4}")
_NIC = "speed: 100G, model: connectx-6, pcie: gen4x16"


@dataclass(frozen=True, slots=True)
class Wish:
    """What a fabric should be: every part of it is something that a rollout can change."""

    stripes: int
    spines: int
    timers: tuple[int, int] = (3, 9)
    mtu: tuple[int, int] = (9100, 9000)
    dscp: int = 26
    syslog: str = ""


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of fabric: ``leaves`` are those of one stripe in a plane; ``node``, ``topology`` and ``more`` are YAML.

    ``weight``: how often it is taken, beside the others.
    """

    name: str
    leaves: int
    node: str
    topology: tuple[str, ...]
    base: Wish
    weight: int
    more: str = ""

    def intent(self, wish: Wish) -> str:
        """Return the intent of a wish."""
        keepalive, hold = wish.timers
        return (
            f"fabric: {self.name}\n"
            "workload: {kind: inference}\n"
            "nodes:\n"
            f"  - {{name: gpu, count: {NODES_OF_A_STRIPE * wish.stripes}, {self.node}}}\n"
            "topology:\n"
            + "".join(f"  {line}\n" for line in (*self.topology, *ALIKE))
            + f"  spine: {{model: sonic-vs, count: {wish.spines}}}\n"
            f"  leaf: {{model: sonic-vs, count: {self.leaves * wish.stripes}, downlink_speed: 100G, "
            "uplink_speed: 100G}\n"
            f"bgp: {{keepalive: {keepalive}, hold: {hold}}}\n"
            f"mtu: {{fabric: {wish.mtu[0]}, hosts: {wish.mtu[1]}}}\n"
            "traffic_classes:\n"
            f"  - {{name: roce, role: rdma, dscp: [{wish.dscp}], lossless: true, priority: 3, share: 90}}\n"
            "  - {name: cnp, role: cnp, dscp: [48], priority: 6, strict: true}\n"
            "  - {name: best-effort, role: bulk, dscp: default, priority: 0, share: 10}\n"
            + (f'overrides: {{leaf: {{SYSLOG_SERVER: {{"{wish.syslog}": {{}}}}}}}}\n' if wish.syslog else "")
            + self.more
        )


SHAPES = (
    Shape(
        name="rails",
        leaves=2,
        node=f"gpus: 2, nics: {{count: 2, ports: 1, {_NIC}}}",
        topology=("shape: rail-optimized", "rails: 2"),
        base=Wish(stripes=1, spines=3),
        weight=3,
    ),
    Shape(
        name="racks",
        leaves=1,
        node=f"gpus: 2, nics: {{count: 2, ports: 1, {_NIC}}}",
        topology=("shape: rack-aligned",),
        base=Wish(stripes=2, spines=2),
        weight=3,
    ),
    Shape(
        name="planes",
        leaves=1,
        node=f"gpus: 1, nics: {{count: 1, ports: 2, {_NIC}}}",
        topology=("planes: 2", "rails: 1"),
        base=Wish(stripes=2, spines=2),
        weight=1,
    ),
    Shape(
        name="bare",
        leaves=1,
        node=f"gpus: 1, nics: {{count: 1, ports: 1, {_NIC}}}",
        topology=("rails: 1",),
        base=Wish(stripes=2, spines=2),
        weight=3,
        more="addressing: {underlay: unnumbered}\n",
    ),
)


def changed(wish: Wish, rng: random.Random) -> tuple[Wish, tuple[str, ...]]:
    """Return another wish, and in words what of it is another."""
    kinds = list(dict.fromkeys(rng.choices(tuple(_CHANGES), weights=_OFTEN, k=rng.choice((1, 1, 1, 2)))))
    for kind in kinds:
        wish = _CHANGES[kind](wish)
    return wish, tuple(kinds)


def changed_in_place(wish: Wish, rng: random.Random) -> tuple[Wish, tuple[str, ...]]:
    """Return another wish of the same size."""
    while True:
        found, kinds = changed(wish, rng)
        if (found.stripes, found.spines) == (wish.stripes, wish.spines):
            return found, kinds


_CHANGES = {
    "policy": lambda wish: replace(wish, dscp=24),
    "timers": lambda wish: replace(wish, timers=(2, 8)),
    "mtu": lambda wish: replace(wish, mtu=(9216, 9000)),
    "override": lambda wish: replace(wish, syslog="10.9.9.9"),
    "stripe": lambda wish: replace(wish, stripes=wish.stripes + 1),
    "spine": lambda wish: replace(wish, spines=wish.spines + 1),
}
_OFTEN = (2, 2, 2, 2, 1, 1)
"""How often each is chosen: growth provisions switches, which takes longest."""
