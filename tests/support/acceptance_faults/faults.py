"""Faults of twelve kinds, each at a place drawn at random, with the names that a judge must find."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from acceptance_faults.counters import OTHER_PRIORITY
from acceptance_faults.fabric import Plan, nic_key
from acceptance_faults.nature import Conditions, Loss


@dataclass(frozen=True)
class Truth:
    """What is wrong. A judge is right if it names each of ``required`` and nothing beyond ``allowed``.

    Elements are ``kind name``, as in ``elements`` of `judge --json`. Where several elements take part in the same
    tests and no counter tells them apart, they are all allowed, and one of a group of ``required`` is enough.
    """

    kind: str
    required: tuple[frozenset[str], ...]
    allowed: frozenset[str]
    # The tests that it touches, by the nodes and planes that they have in common with it; for disjoint pairs.
    nodes: frozenset[str] = frozenset()
    unexplained: bool = False
    # The port that misses a pause: where its queues never filled so far, no file shows the fault.
    port: tuple[str, str] | None = None


Fault = Callable[[Plan, Conditions, Random], Truth | None]
"""Changes the conditions and returns the truth; None where a fabric has no place for it."""


def lossy(plan: Plan, conditions: Conditions, rng: Random) -> Truth | None:
    """A cable that loses packets, which no port counts."""
    return _lossy(plan, conditions, rng, counted=False)


def lossy_counted(plan: Plan, conditions: Conditions, rng: Random) -> Truth | None:
    """A cable that loses packets, which the port at its end counts as FEC errors."""
    return _lossy(plan, conditions, rng, counted=True)


def _lossy(plan: Plan, conditions: Conditions, rng: Random, *, counted: bool) -> Truth:
    place = rng.randrange(len(plan.links))
    ratio = 10 ** rng.uniform(-3, -1)
    conditions.loss[place, rng.random() < 0.5] = Loss(ratio, counted)
    return _cable(plan, place, "lossy")


def bad_lane(plan: Plan, conditions: Conditions, rng: Random) -> Truth | None:
    """One lane of a cable with a bit error rate far above that of its peers."""
    place = rng.randrange(len(plan.links))
    conditions.bad_lane[place, rng.random() < 0.5] = (10 ** rng.uniform(-5.5, -4), rng.randrange(4))
    return _cable(plan, place, "ber")


def half_nic(plan: Plan, conditions: Conditions, rng: Random) -> Truth | None:
    """A NIC whose slot came up with half of its lanes."""
    return _half(plan, conditions, nic_key(rng.choice(_access(plan))["nic_port"]), "half-nic")


def _half(plan: Plan, conditions: Conditions, port: tuple[str, int, int], kind: str) -> Truth:
    node, nic, _ = port
    conditions.slow_nic[node, nic] = 0.5
    links = [link for link in _access(plan) if nic_key(link["nic_port"])[:2] == (node, nic)]
    names = {f"nic {link['a']['device']} {link['a']['port']}" for link in links}
    # From outside a NIC and its only cable took part in the same tests.
    cables = {f"cable {link['cable']}" for link in links}
    return Truth(kind, (frozenset(names),), frozenset(names | cables), frozenset({node}))


def wrong_dscp(plan: Plan, conditions: Conditions, rng: Random) -> Truth | None:
    """A node that sends RoCE in another class."""
    node = rng.choice(_nodes(plan))
    conditions.dscp[node] = rng.choice([0, 8, 10, 34])
    return Truth(
        "dscp",
        (frozenset({f"node {node}"}),),
        frozenset({f"node {node}", f"setting DSCP of {node}"}),
        frozenset({node}),
    )


def no_pfc(plan: Plan, conditions: Conditions, rng: Random) -> Truth | None:
    """A switch port that neither sends nor honors pauses: one by which an incast arrives."""
    return _deaf_port(plan, conditions, rng, "no-pfc")


def other_priority(plan: Plan, conditions: Conditions, rng: Random) -> Truth | None:
    """A switch port whose PFC is on for another priority than that of the lossless class."""
    truth = _deaf_port(plan, conditions, rng, "other-priority")
    if truth is not None:
        conditions.other_priority = dict.fromkeys(conditions.no_pfc, OTHER_PRIORITY)
    return truth


def _deaf_port(plan: Plan, conditions: Conditions, rng: Random, kind: str) -> Truth | None:
    access = {nic_key(link["nic_port"]): link for link in _access(plan)}
    incasts = [test for test in plan.document["tests"] if test["kind"] == "incast"]
    ends = [(access[nic_key(test["from"])], access[nic_key(test["to"])]) for test in incasts]
    if not ends:
        return None
    # At another leaf the port matters only if the uplinks there fill as well.
    near = [sender for sender, receiver in ends if sender["b"]["device"] == receiver["b"]["device"]]
    link = rng.choice(near or [sender for sender, _ in ends])
    end = link["b"]
    conditions.no_pfc.add((end["device"], end["port"]))
    # Deep buffers take all that comes before DCQCN acts: PFC is needed where they are shallower and it is slower.
    # They still pause later than they mark; faster switches have larger ones.
    for other in plan.links:
        for device in (other["a"]["device"], other["b"]["device"]):
            share = 0.3 * other["speed_gbps"] / 400
            conditions.buffer_share[device] = min(share, conditions.buffer_share.get(device, share))
    conditions.constants = conditions.constants.scaled("reaction_us", 4.0)
    name = f"{end['device']} {end['port']}"
    names = frozenset({f"port {name}", f"setting PFC of {name}"})
    return Truth(kind, (names,), names, port=(end["device"], end["port"]))


def small_buffer(plan: Plan, conditions: Conditions, rng: Random) -> Truth | None:
    """A switch whose lossless buffer is so small that it pauses before its queues mark."""
    receivers = {nic_key(test["to"]) for test in plan.document["tests"] if test["kind"] == "incast"}
    leaves = sorted({link["b"]["device"] for link in _access(plan) if nic_key(link["nic_port"]) in receivers})
    if not leaves:
        return None
    device = rng.choice(leaves)
    conditions.small_buffer[device] = rng.uniform(20e3, 60e3)
    return Truth(
        "small-buffer",
        (frozenset({f"device {device}"}),),
        frozenset({f"device {device}", f"setting buffer of {device}"}),
    )


def slow_rail(plan: Plan, conditions: Conditions, rng: Random) -> Truth | None:
    """A rail whose NICs all reach only a part of their rate, such as after an update of one slot's firmware."""
    rails = sorted({link["rail"] for link in _access(plan) if link["rail"] is not None})
    if len(rails) < 2:
        return None
    rail = rng.choice(rails)
    conditions.slow_rail[rail] = rng.choice([0.5, 0.8])
    devices = {f"device {link['b']['device']}" for link in _access(plan) if link["rail"] == rail}
    names = frozenset({f"setting rail {rail}", *devices})
    return Truth("slow-rail", (names,), names)


def slow_node(plan: Plan, conditions: Conditions, rng: Random) -> Truth | None:
    """A node that sends slowly by all of its NICs."""
    node = rng.choice(_nodes(plan))
    conditions.slow_node[node] = rng.uniform(0.5, 0.75)
    return Truth("slow-node", (frozenset({f"node {node}"}),), frozenset({f"node {node}"}), frozenset({node}))


def swapped(plan: Plan, conditions: Conditions, rng: Random) -> Truth | None:
    """Two cables of one node in each other's place, or two uplinks of one leaf."""
    by_lower: dict[str, list[int]] = {}
    for place, link in enumerate(plan.links):
        by_lower.setdefault(link["a"]["device"], []).append(place)
    choices = [
        places for _, places in sorted(by_lower.items()) if len({plan.links[p]["b"]["device"] for p in places}) > 1
    ]
    if not choices:
        return None
    places = rng.choice(choices)
    first = rng.choice(places)
    second = rng.choice([p for p in places if plan.links[p]["b"]["device"] != plan.links[first]["b"]["device"]])
    conditions.swapped.append((first, second))
    names = [f"cable {plan.links[place]['cable']}" for place in (first, second)]
    nodes = frozenset({plan.links[first]["a"]["device"]} & set(_nodes(plan)))
    return Truth("swapped", tuple(frozenset({name}) for name in names), frozenset(names), nodes)


def missing_plane(plan: Plan, conditions: Conditions, rng: Random) -> Truth | None:
    """A plane that carries nothing."""
    planes = sorted({link["plane"] for link in plan.links})
    if len(planes) < 2:
        return None
    plane = rng.choice(planes)
    conditions.missing_planes.add(plane)
    devices = {f"device {device['name']}" for device in plan.document["devices"] if device["plane"] == plane}
    names = frozenset({f"setting plane {plane}", *devices})
    return Truth("missing-plane", (names,), names)


def lying_counter(plan: Plan, conditions: Conditions, rng: Random) -> Truth | None:
    """A port that counts only a part of the bytes it receives."""
    place = rng.randrange(len(plan.links))
    end = plan.links[place]["b"]
    conditions.lying[end["device"], end["port"], "SAI_PORT_STAT_IF_IN_OCTETS"] = rng.uniform(0.5, 0.9)
    name = f"port {end['device']} {end['port']}"
    return Truth("lying-counter", (frozenset({name}),), frozenset({name}))


def unknown(plan: Plan, conditions: Conditions, rng: Random) -> Truth | None:
    """Two nodes that are slow with each other and with nobody else."""
    pairs = set()
    for test in plan.document["tests"]:
        # Among pairs that share links a slow one is nothing unusual.
        tight = [limit for limit in test["limits"] if limit["unit"] == "Gb/s" and limit["fail"] > 0.8 * limit["expect"]]
        if test.get("to") and test["kind"] in ("isolated", "loaded") and tight:
            pairs.add((test["from"]["node"], test["to"]["node"]))
    # Each of both must do well in its role with somebody else.
    senders = [sender for sender, _ in pairs]
    receivers = [receiver for _, receiver in pairs]
    choices = sorted(pair for pair in pairs if senders.count(pair[0]) > 1 and receivers.count(pair[1]) > 1)
    if not choices:
        return None
    pair = rng.choice(choices)
    conditions.slow_pair[pair] = 0.4
    return Truth("unknown", (), frozenset(), frozenset(pair), unexplained=True)


def long_tail(plan: Plan, conditions: Conditions, rng: Random) -> Truth | None:
    """A node whose slowest packets take milliseconds."""
    senders = sorted({test["from"]["node"] for test in plan.document["tests"] if test["kind"] == "latency"})
    if not senders:
        return None
    conditions.long_tail[rng.choice(senders)] = 3000.0
    return Truth("tail", (), frozenset(f"node {node}" for node in _nodes(plan)))


def slow_gpu(plan: Plan, conditions: Conditions, rng: Random) -> Truth | None:
    """A node whose GPUs are slow in collectives, which no pair of NICs shows."""
    members = sorted({member["node"] for test in plan.document["tests"] for member in test.get("group", ())})
    if not members:
        return None
    conditions.slow_gpu[rng.choice(members)] = 0.15
    return Truth("slow-gpu", (), frozenset(), unexplained=True)


def storms(plan: Plan, conditions: Conditions, rng: Random) -> Truth | None:
    """A NIC whose pauses the watchdog has to end."""
    link = rng.choice(_access(plan))
    nic = nic_key(link["nic_port"])[:2]
    conditions.storms[nic] = 2
    ports = [other["a"]["port"] for other in _access(plan) if nic_key(other["nic_port"])[:2] == nic]
    names = frozenset(f"nic {nic[0]} {port}" for port in ports)
    return Truth("storms", (names,), names)


def slow_host(plan: Plan, conditions: Conditions, rng: Random) -> Truth | None:
    """A node that is slow from the memory of its host (NUMA, IOMMU), which no collective of GPUs shows."""
    node = rng.choice(_nodes(plan))
    conditions.slow_host[node] = rng.uniform(0.5, 0.8)
    return Truth("slow-host", (frozenset({f"node {node}"}),), frozenset({f"node {node}"}), frozenset({node}))


def unused_uplink(plan: Plan, conditions: Conditions, rng: Random) -> Truth | None:
    """An uplink that its leaf never chooses, although what comes down uses it."""
    ups: dict[str, list[int]] = {}
    for place, link in enumerate(plan.links):
        if not link.get("nic_port") and link["kind"].startswith("leaf"):
            ups.setdefault(link["a"]["device"], []).append(place)
    choices = [places for leaf, places in sorted(ups.items()) if _shows_an_unused(plan, leaf, len(places))]
    if not choices:
        return None
    place = rng.choice(rng.choice(choices))
    conditions.unpopular[place, True] = 0.0
    return _cable(plan, place, "unused-uplink")


def _shows_an_unused(plan: Plan, leaf: str, uplinks: int) -> bool:
    """Tell whether a leaf sends so many flows that an unused uplink is no chance: in one fabric of a million."""
    leaf_of = {nic_key(link["nic_port"]): link["b"]["device"] for link in _access(plan)}
    flows = 0
    for test in plan.document["tests"]:
        if test.get("to") and test["kind"] in ("isolated", "loaded", "incast", "soak"):
            source, target = leaf_of[nic_key(test["from"])], leaf_of[nic_key(test["to"])]
            flows += test["queue_pairs"] if source == leaf != target else 0
    directions = 2 * sum(not link.get("nic_port") for link in plan.links)
    return uplinks > 1 and directions * (1 - 1 / uplinks) ** flows < 1e-6


def slower_rail(plan: Plan, conditions: Conditions, rng: Random) -> Truth | None:
    """A rail that is slower than its peers, within the bounds of every pair."""
    truth = slow_rail(plan, conditions, rng)
    # A collective, which waits for its slowest rail, still reaches 90 % with all noise of the model.
    conditions.slow_rail = dict.fromkeys(conditions.slow_rail, 0.94)
    return truth


def aging_optics(plan: Plan, conditions: Conditions, rng: Random) -> Truth | None:
    """A cable whose errors FEC still corrects, a decade above what is sound."""
    place = rng.randrange(len(plan.links))
    conditions.aging[place, rng.random() < 0.5] = 10 ** rng.uniform(-4.4, -4.0)
    return _cable(plan, place, "aging")


def slow_job(plan: Plan, conditions: Conditions, rng: Random) -> Truth | None:
    """A job below the number that its user expects."""
    conditions.job = rng.uniform(0.7, 0.95)
    names = frozenset({"setting job pretraining"})
    return Truth("job", (names,), names)


def leaky_switch(plan: Plan, conditions: Conditions, rng: Random) -> Truth | None:
    """A switch that loses packets inside, which nothing counts."""
    device = rng.choice(plan.document["devices"])["name"]
    conditions.leaky[device] = 10 ** rng.uniform(-3, -1.5)
    names = frozenset({f"device {device}"})
    return Truth("leaky-switch", (names,), names)


def small_receiver(plan: Plan, conditions: Conditions, rng: Random) -> Truth | None:
    """The receiver of an incast whose buffer is so small that it pauses its leaf all the time."""
    incasts = [test for test in plan.document["tests"] if test["kind"] == "incast"]
    if not incasts:
        return None
    node, nic, _ = nic_key(rng.choice(incasts)["to"])
    conditions.small_receiver[node, nic] = rng.uniform(2000, 20000)
    links = [link for link in _access(plan) if nic_key(link["nic_port"])[:2] == (node, nic)]
    names = frozenset(f"nic {node} {link['a']['port']}" for link in links)
    return Truth("small-receiver", (names,), names)


def two_on_a_cable(plan: Plan, conditions: Conditions, rng: Random) -> Truth | None:
    """A cable that loses packets in one direction and has a bad lane in the other."""
    place = rng.randrange(len(plan.links))
    conditions.loss[place, False] = Loss(10 ** rng.uniform(-3, -1), counted=rng.random() < 0.5)
    conditions.bad_lane[place, True] = (10 ** rng.uniform(-5.5, -4), rng.randrange(4))
    return _cable(plan, place, "two-on-a-cable")


def storage_node(plan: Plan, conditions: Conditions, rng: Random) -> Truth | None:
    """A NIC at half width in a node of the smallest entry, such as storage."""
    kinds = [node["kind"] for node in plan.document["nodes"]]
    fewest = min(sorted(set(kinds)), key=kinds.count)
    if len(set(kinds)) < 2:
        return None
    names = {node["name"] for node in plan.document["nodes"] if node["kind"] == fewest}
    links = [link for link in _access(plan) if nic_key(link["nic_port"])[0] in names]
    return _half(plan, conditions, nic_key(rng.choice(links)["nic_port"]), "storage-node")


RULE_FAULTS: dict[str, Fault] = {
    "slow-host": slow_host,
    "tail": long_tail,
    "storms": storms,
    "unused-uplink": unused_uplink,
    "slower-rail": slower_rail,
    "aging": aging_optics,
    "slow-gpu": slow_gpu,
    "job": slow_job,
}
"""Faults beside the twelve, each of which one rule alone sees."""

OTHER_FAULTS: dict[str, Fault] = {
    "other-priority": other_priority,
    "leaky-switch": leaky_switch,
    "small-receiver": small_receiver,
    "two-on-a-cable": two_on_a_cable,
    "storage-node": storage_node,
}
"""Faults that the judge was not made for."""

FAULTS: dict[str, Fault] = {
    "lossy": lossy,
    "lossy-counted": lossy_counted,
    "ber": bad_lane,
    "half-nic": half_nic,
    "dscp": wrong_dscp,
    "no-pfc": no_pfc,
    "small-buffer": small_buffer,
    "slow-rail": slow_rail,
    "slow-node": slow_node,
    "swapped": swapped,
    "missing-plane": missing_plane,
    "lying-counter": lying_counter,
    "unknown": unknown,
}


def _cable(plan: Plan, place: int, kind: str) -> Truth:
    link = plan.links[place]
    # Links of one cable share its name, and its plug at each end is a part of it.
    name = f"cable {link['cable']}"
    nodes = frozenset({link["a"]["device"]} & set(_nodes(plan)))
    return Truth(kind, (frozenset({name}),), frozenset({name}), nodes)


def _access(plan: Plan) -> list[dict[str, Any]]:
    return [link for link in plan.links if link.get("nic_port")]


def _nodes(plan: Plan) -> list[str]:
    return [node["name"] for node in plan.document["nodes"]]
