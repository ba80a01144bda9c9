"""The faults that no configuration shows, each at a place drawn at random, with the names that a judge must find."""

import os
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from acceptance_fabrics import FABRICS
from acceptance_faults.fabric import Plan, nic_key
from acceptance_faults.faults import Truth


def shapes() -> tuple[str, ...]:
    """Return the fabrics that are tried: the smallest, those of ``RAILWEAVE_FAULT_FABRICS``, or ``all``."""
    chosen = os.environ.get("RAILWEAVE_FAULT_FABRICS", "rail-only")
    if chosen == "all":
        return tuple(FABRICS)
    return tuple(chosen.split(","))


class FlowFault(NamedTuple):
    """A fault as `railweave sim fault NAME KIND` arms it, and what is wrong then."""

    name: str
    kind: str
    details: dict[str, Any]
    truth: Truth

    @property
    def words(self) -> list[str]:
        """Return the words of `railweave sim fault`."""
        words = [self.name, self.kind]
        for name, value in self.details.items():
            words.append(f"--{name}")
            if value is not True:
                words.append(f"{value:g}" if isinstance(value, float) else str(value))
        return words


def draw(kind: str, plan: Plan, rng: Random) -> FlowFault | None:
    """Return a fault of a kind; None where a plan has no place for it."""
    return _KINDS[kind](plan, rng)


def _lossy(plan: Plan, rng: Random) -> FlowFault:
    return _of_cable(plan, rng, "lossy", ratio=10 ** rng.uniform(-3, -1.5))


def _lossy_counted(plan: Plan, rng: Random) -> FlowFault:
    return _of_cable(plan, rng, "lossy", ratio=10 ** rng.uniform(-3, -1.5), counted=True)


def _ber(plan: Plan, rng: Random) -> FlowFault:
    # Above a hundredth of what FEC corrects (2.4e-4) also as the mean of the eight lanes of 800G.
    return _of_cable(plan, rng, "ber", ber=10 ** rng.uniform(-3.9, -3.5), lane=rng.randrange(4))


def _of_cable(plan: Plan, rng: Random, kind: str, **details: Any) -> FlowFault:
    link = rng.choice(plan.links)
    end = link["b"]
    names = frozenset({f"cable {link['cable']}"})
    return FlowFault(end["device"], kind, {"port": end["port"], **details}, Truth(kind, (names,), names))


def _slow_nic(plan: Plan, rng: Random) -> FlowFault:
    link = rng.choice(_access(plan))
    node, nic, _ = nic_key(link["nic_port"])
    own = [other for other in _access(plan) if nic_key(other["nic_port"])[:2] == (node, nic)]
    nics = frozenset(f"nic {node} {other['a']['port']}" for other in own)
    # From outside a NIC and its only cable took part in the same tests.
    cables = frozenset(f"cable {other['cable']}" for other in own)
    gbps = 0.5 * sum(other["speed_gbps"] for other in own)
    return FlowFault(node, "slow-nic", {"nic": nic, "gbps": gbps}, Truth("slow-nic", (nics,), nics | cables))


def _wrong_dscp(plan: Plan, rng: Random) -> FlowFault:
    node = rng.choice(_nodes(plan))
    required = frozenset({f"node {node}"})
    truth = Truth("wrong-dscp", (required,), required | {f"setting DSCP of {node}"})
    return FlowFault(node, "wrong-dscp", {"dscp": rng.choice([0, 8, 10, 34])}, truth)


def _small_buffer(plan: Plan, rng: Random) -> FlowFault | None:
    leaves = sorted({receiver["b"]["device"] for _, receiver in _incasts(plan)})
    if not leaves:
        return None
    device = rng.choice(leaves)
    required = frozenset({f"device {device}"})
    truth = Truth("small-buffer", (required,), required | {f"setting buffer of {device}"})
    return FlowFault(device, "small-buffer", {"bytes": rng.randrange(20_000, 60_000)}, truth)


def _no_pfc(plan: Plan, rng: Random) -> FlowFault:
    end = rng.choice(_access(plan))["b"]
    name = f"{end['device']} {end['port']}"
    names = frozenset({f"port {name}", f"setting PFC of {name}"})
    return FlowFault(end["device"], "no-pfc", {"port": end["port"]}, Truth("no-pfc", (names,), names))


def _pfc_storm(plan: Plan, rng: Random) -> FlowFault:
    link = rng.choice(_access(plan))
    node, nic, _ = nic_key(link["nic_port"])
    own = [other for other in _access(plan) if nic_key(other["nic_port"])[:2] == (node, nic)]
    nics = frozenset(f"nic {node} {other['a']['port']}" for other in own)
    cables = frozenset(f"cable {other['cable']}" for other in own)
    return FlowFault(node, "pfc-storm", {"nic": nic}, Truth("pfc-storm", (nics,), nics | cables))


def _slow_gpu(plan: Plan, rng: Random) -> FlowFault | None:
    members = sorted({member["node"] for test in plan.document["tests"] for member in test.get("group", ())})
    if not members:
        return None
    return FlowFault(rng.choice(members), "slow-gpu", {}, Truth("slow-gpu", (), frozenset(), unexplained=True))


_KINDS: dict[str, Callable[[Plan, Random], FlowFault | None]] = {
    "lossy": _lossy,
    "lossy-counted": _lossy_counted,
    "ber": _ber,
    "slow-nic": _slow_nic,
    "wrong-dscp": _wrong_dscp,
    "small-buffer": _small_buffer,
    "no-pfc": _no_pfc,
    "pfc-storm": _pfc_storm,
    "slow-gpu": _slow_gpu,
}
KINDS = tuple(_KINDS)


def _access(plan: Plan) -> list[dict[str, Any]]:
    return [link for link in plan.links if link.get("nic_port")]


def _nodes(plan: Plan) -> list[str]:
    return [node["name"] for node in plan.document["nodes"]]


def _incasts(plan: Plan) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the links of sender and receiver of the incasts."""
    access = {nic_key(link["nic_port"]): link for link in _access(plan)}
    tests = [test for test in plan.document["tests"] if test["kind"] == "incast"]
    return [(access[nic_key(test["from"])], access[nic_key(test["to"])]) for test in tests]
