"""How a vendor's tools set the NICs of a node: the steps of the vendor's pack, filled in for the fabric's classes.

A pack is data of the catalog, a list of steps. A step reads settings (a command's output or a kernel file, a pattern,
the wanted value) and states what to run or write if one differs. ``$names`` are filled in here from the fabric's
classes, ``{interface}`` and ``{rdma}`` on the node, port by port.
"""

from collections.abc import Iterable, Mapping
from math import ceil
from typing import Any

from railweave.catalog.model import Step
from railweave.catalog.nics import VendorPack
from railweave.hosts.values import NicMarking, NicReceive

# A multiple of every size of a NIC's buffer cells (96 to 192 bytes), so that the driver rounds nothing off.
_BUFFER_UNIT_BYTES = 1152
_LOSSLESS_BUFFER = "1"
# AMD's guide limits a strict priority: notifications are few, and must not starve the others.
_STRICT_LIMIT_GBPS = 10
# Keys of a step: what runs if a setting differs, how a snapshot's values are set if that is another way, and how an
# entry of a map is removed.
_WRITES = frozenset({"writes", "restore", "removes"})


def filled_steps(pack: VendorPack, marking: NicMarking, receive: NicReceive | None = None) -> list[dict[str, Any]]:
    """Return the steps of ``pack`` with the values of a marking, as in the node's document.

    ``receive`` is what sizes the receive buffers, None for a node without a cable.
    """
    values = _marking_values(marking)
    # Receive buffers are for lossless classes: a fabric whose RDMA is lossy may have none.
    has_buffers = bool(marking.lossless) or not marking.is_lossy
    if receive is not None and has_buffers:
        values |= _receive_values(marking, receive)
    steps = []
    for step in pack.steps:
        if not _has_needed(step, values):
            continue
        if "for" in step:
            # Once for each of the priorities in that value.
            steps += [_filled_step(step, {**values, "priority": priority}) for priority in values[step["for"]]]
        else:
            steps.append(_filled_step(step, values))
    return steps


def _filled_step(step: Step, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a step with its ``$names`` filled in; reads that need a name without a value are left out."""
    filled = {key: value for key, value in step.items() if key not in {"needs", "for", "source"}}
    filled["reads"] = [_filled_read(read, values) for read in step["reads"] if _has_needed(read, values)]
    for key in _WRITES & step.keys():
        filled[key] = [_filled_write(write, values) for write in step[key]]
    return filled


def _receive_values(marking: NicMarking, receive: NicReceive) -> dict[str, Any]:
    """Return the values of the ``$names`` for the receive buffers of a NIC; all lossless priorities share one."""
    units = ceil(receive.lossless_bytes / _BUFFER_UNIT_BYTES)
    return {
        "cable_m": str(receive.cable_m),
        "buffer_map": _by_priority(marking, _LOSSLESS_BUFFER, "0"),
        "receive_buffers": {_LOSSLESS_BUFFER: str(units * _BUFFER_UNIT_BYTES)},
    }


def filled_firmware(pack: VendorPack, marking: NicMarking) -> list[str]:
    """Return the firmware settings of ``pack`` as ``NAME=value``.

    Those of notifications are left out if no class carries notifications.
    """
    values = _marking_values(marking)
    has_cnp = marking.cnp_dscp is not None
    texts = [text for text in pack.firmware if has_cnp or "$cnp" not in text]
    return [_filled_text(text, values) for text in texts]


def filled_counter(pack: VendorPack, marking: NicMarking) -> Mapping[str, Any]:
    """Return the read of the bytes that a NIC sent in the priority of RDMA; empty if it does not count them."""
    if not pack.sent_bytes:
        return {}
    pattern = _filled_text(pack.sent_bytes["pattern"], _marking_values(marking))
    return {**pack.sent_bytes, "pattern": pattern}


def _by_priority(marking: NicMarking, lossless: str, lossy: str) -> dict[str, str]:
    """Return a word for each of the eight priorities: ``lossless`` or ``lossy``."""
    words = {}
    for priority, is_paused in enumerate(marking.pfc):
        words[str(priority)] = lossless if is_paused else lossy
    return words


def _marking_values(marking: NicMarking) -> dict[str, Any]:
    """Return the values of the ``$names`` in a pack."""
    class_map = {str(dscp): str(priority) for dscp, priority in marking.class_dscp}
    # A NIC that maps DSCP n to priority n // 8 by default would make DSCPs of other classes lossless, too.
    class_map_of_eighths: dict[str, str] = {}
    for priority in marking.lossless:
        for dscp in range(8 * priority, 8 * priority + 8):
            class_map_of_eighths[str(dscp)] = str(marking.rest_priority)
    class_map_of_eighths |= class_map
    values: dict[str, Any] = {
        "dscp": str(marking.dscp),
        "priority": str(marking.priority),
        "tos": str(marking.tos),
        "tos_without_ecn": str(marking.dscp * 4),
        # bnxt_setupcc.sh accepts less than the whole port only.
        "share": str(min(max(marking.share_percent, 1), 99)),
        "marked_mask": str(sum(1 << priority for priority in marking.marked)),
        "pfc_words": " ".join(_by_priority(marking, "1", "0").values()),
        "pfc_map": _by_priority(marking, "on", "off"),
        "no_drop_map": _by_priority(marking, "enable", "disable"),
        **_schedule(marking.shares),
        "lossless": [str(priority) for priority in marking.lossless],
        "marked": [str(priority) for priority in marking.marked],
        # bnxt_setupcc.sh: 2 is congestion control alone, 3 is PFC too.
        "bnxt_mode": "3" if marking.lossless else "2",
        "rest": str(marking.rest_priority),
        "class_map": class_map,
        "class_map_of_eighths": class_map_of_eighths,
        "cnp_words": [],
    }
    return values | _optional_values(marking)


def _optional_values(marking: NicMarking) -> dict[str, Any]:
    """Return the values of the ``$names`` that only some markings have."""
    values: dict[str, Any] = {}
    if marking.is_lossy:
        values["lossy_rdma"] = "1"
    if marking.cnp_dscp is not None:
        values |= {
            "cnp_dscp": str(marking.cnp_dscp),
            "cnp_priority": str(marking.cnp_priority),
            "cnp_words": ["-c", str(marking.cnp_priority), "-p", str(marking.cnp_dscp)],
        }
    return values


def _schedule(shares: Iterable[tuple[int, int | None]]) -> dict[str, Any]:
    """Return the values of the ``$names`` for the schedule of the priorities, which are in a tool's words.

    ``schedule_map`` has percents of the port, which add up to 100, and ``N/A`` for strict priorities;
    ``schedule_limits`` has limits of strict ones in Gb/s.
    """
    share_of = dict(shares)
    weights = {priority: share for priority, share in share_of.items() if share is not None}
    # If all shares are 0, nothing is divided by 0.
    total = sum(weights.values()) or 1
    percents = {priority: weight * 100 // total for priority, weight in weights.items()}
    # What rounding down leaves goes to the largest.
    largest = max(percents, key=lambda priority: percents[priority])
    percents[largest] += 100 - sum(percents.values())
    schedule = {}
    limits = {}
    for priority in share_of:
        if priority in percents:
            schedule[str(priority)] = str(percents[priority])
            limits[str(priority)] = "N/A"
        else:
            schedule[str(priority)] = "N/A"
            limits[str(priority)] = str(_STRICT_LIMIT_GBPS)
    return {"schedule_map": schedule, "schedule_limits": limits}


def _has_needed(step_or_read: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    """Tell whether the name that a step or a read needs has a value, or it needs none."""
    return "needs" not in step_or_read or step_or_read["needs"] in values


def _filled_read(read: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a read with its ``$names`` filled in, and without the name that it needs."""
    filled = {key: value for key, value in read.items() if key != "needs"}
    for key in {"want", "clear", "rest"} & read.keys():
        if read[key].startswith("$"):
            # It may stand for a map, and `_filled_text` fills in words only.
            filled[key] = values[read[key][1:]]
    for key in {"file", "what"} & read.keys():
        filled[key] = _filled_text(read[key], values)
    return filled


def _filled_write(write: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a command, or a file and its text, with the ``$names`` filled in."""
    if "command" not in write:
        return {**write, "file": _filled_text(write["file"], values), "text": _filled_text(write["text"], values)}
    command: list[str] = []
    for text in write["command"]:
        command += _filled_words(text, values)
    return {"command": command}


def _filled_words(text: str, values: Mapping[str, Any]) -> list[str]:
    """Return ``text`` with its ``$names`` filled in as words: several if it is a name that stands for several."""
    if text.startswith("$") and isinstance(values[text[1:]], list):
        return list(values[text[1:]])
    return [_filled_text(text, values)]


def _filled_text(text: str, values: Mapping[str, Any]) -> str:
    """Return ``text`` with its ``$names`` filled in, each of which stands for one word."""
    if "$" not in text:
        return text
    # Longer names first: $cnp_dscp begins with the name $cnp.
    for name in sorted(values, key=len, reverse=True):
        if isinstance(values[name], str):
            text = text.replace(f"${name}", values[name])
    return text
