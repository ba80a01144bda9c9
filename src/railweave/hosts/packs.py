"""What a vendor's tools do to a node's NICs: the steps of its pack, filled in for the fabric's classes.

A pack is data of the catalog, a list of steps. A step reads settings (a command's output or a kernel file, a pattern,
the wanted value) and says what to run or write where one differs. ``$names`` are filled in here from the fabric's
classes, ``{interface}`` and ``{rdma}`` on the node, port by port.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from railweave.catalog.model import Step as PackStep
from railweave.catalog.model import VendorPack
from railweave.hosts.values import NicMarking, NicReceive

_BUFFER_UNIT_BYTES = 1152
"""Every cell of a NIC's receive buffer (96 to 192 bytes) divides it, so that the driver rounds nothing off."""
_LOSSLESS_BUFFER = "1"


def filled_steps(pack: VendorPack, mark: NicMarking, receive: NicReceive | None = None) -> list[dict[str, Any]]:
    """Return the steps of ``pack`` for the marking ``mark`` and the cable of ``receive``, as the node's document holds
    them; those that need a cable are left out without it."""
    values = _values(mark)
    if receive is not None:
        values |= _receiving(mark, receive)
    steps = [step for step in pack.steps if _is_needed(step, values)]
    return [_filled_step(step, own_values) for step in steps for own_values in _each_of(step, values)]


def _each_of(step: PackStep, values: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the values once, or once a lossless priority if the step is for each of them."""
    if step.get("for") == "lossless":
        yield from ({**values, "priority": priority} for priority in values["lossless"])
    else:
        yield values


def _filled_step(step: PackStep, values: Mapping[str, Any]) -> dict[str, Any]:
    filled: dict[str, Any] = {key: value for key, value in step.items() if key not in {"needs", "for"}}
    filled["reads"] = [_filled_read(read, values) for read in step["reads"] if _is_needed(read, values)]
    for key in _WRITES & step.keys():
        filled[key] = [_filled_write(write, values) for write in step[key]]
    return filled


def _receiving(mark: NicMarking, receive: NicReceive) -> dict[str, Any]:
    """Return the buffers of a NIC; lossless priorities share one."""
    size_bytes = -(-receive.lossless_bytes // _BUFFER_UNIT_BYTES) * _BUFFER_UNIT_BYTES
    return {
        "cable_m": str(receive.cable_m),
        "buffer_map": {str(priority): _LOSSLESS_BUFFER if on else "0" for priority, on in enumerate(mark.pfc)},
        "receive_buffers": {_LOSSLESS_BUFFER: str(size_bytes)},
    }


_WRITES = frozenset({"writes", "restore", "removes"})
"""What runs where a setting differs, how a snapshot's values are set where that is another way, and how an entry of a
map is removed."""


def filled_firmware(pack: VendorPack, mark: NicMarking) -> list[str]:
    """Return the firmware settings of ``pack`` as ``NAME=value``."""
    values = _values(mark)
    return [_words(text, values)[0] for text in pack.firmware if mark.cnp_dscp is not None or "$cnp" not in text]


def filled_counter(pack: VendorPack, mark: NicMarking) -> Mapping[str, Any]:
    """Return the read of the bytes sent in the RDMA class's priority, empty if the NIC does not count them."""
    if not pack.sent_bytes:
        return {}
    return {**pack.sent_bytes, "pattern": _words(pack.sent_bytes["pattern"], _values(mark))[0]}


def _values(mark: NicMarking) -> dict[str, Any]:
    """Return the values that ``$names`` of a pack stand for."""
    classes = {str(dscp): str(priority) for dscp, priority in mark.class_dscp}
    values: dict[str, Any] = {
        "dscp": str(mark.dscp),
        "priority": str(mark.priority),
        "tos": str(mark.tos),
        "tos_without_ecn": str(mark.dscp * 4),
        # bnxt_setupcc.sh takes less than the whole port only.
        "share": str(min(max(mark.share_percent, 1), 99)),
        "lossless_mask": str(sum(1 << priority for priority in mark.lossless)),
        "pfc_words": " ".join(_switched(mark, "1", "0").values()),
        "pfc_map": _switched(mark, "on", "off"),
        "no_drop_map": _switched(mark, "enable", "disable"),
        **_schedule(mark.shares),
        "lossless": [str(priority) for priority in mark.lossless],
        "rest": str(mark.rest_priority),
        "class_map": classes,
        "class_map_of_eighths": {**_eighths(mark), **classes},
        "cnp_words": [],
    }
    if mark.cnp_dscp is not None:
        values |= {
            "cnp_dscp": str(mark.cnp_dscp),
            "cnp_priority": str(mark.cnp_priority),
            "cnp_words": ["-c", str(mark.cnp_priority), "-p", str(mark.cnp_dscp)],
        }
    return values


def _switched(mark: NicMarking, on: str, off: str) -> dict[str, str]:
    """Return the word of each priority: ``on`` for a lossless one."""
    return {str(priority): on if is_lossless else off for priority, is_lossless in enumerate(mark.pfc)}


def _eighths(mark: NicMarking) -> dict[str, str]:
    """Return a map that takes the code points of lossless eighths away from these priorities."""
    # A NIC that maps every DSCP to its eighth by default would make others lossless too.
    return {
        str(dscp): str(mark.rest_priority)
        for priority in mark.lossless
        for dscp in range(8 * priority, 8 * priority + 8)
    }


_STRICT_LIMIT_GBPS = 10
"""What AMD's guide grants a strict priority: notifications are few, and must not starve the others."""


def _schedule(shares: Iterable[tuple[int, int | None]]) -> dict[str, Any]:
    """Return the shares of all priorities as words of a tool; those that are not strict make up the whole port."""
    parts = dict(shares)
    weighted = {priority: part for priority, part in parts.items() if part is not None}
    stated = sum(weighted.values()) or 1
    percents = {priority: part * 100 // stated for priority, part in weighted.items()}
    # Rounding down leaves some percent, which the largest share takes.
    largest = max(percents, key=lambda priority: percents[priority])
    percents[largest] += 100 - sum(percents.values())
    return {
        "schedule_map": {str(priority): str(percents.get(priority, "N/A")) for priority in parts},
        "schedule_limits": {
            str(priority): "N/A" if priority in percents else str(_STRICT_LIMIT_GBPS) for priority in parts
        },
    }


def _is_needed(part: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    return "needs" not in part or part["needs"] in values


def _filled_read(read: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    filled = {key: value for key, value in read.items() if key != "needs"}
    for key in {"want", "clear", "rest"} & read.keys():
        if read[key].startswith("$"):
            filled[key] = values[read[key][1:]]
    for key in {"file", "what"} & read.keys():
        filled[key] = _words(read[key], values)[0]
    return filled


def _filled_write(write: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    if "command" in write:
        return {"command": [word for text in write["command"] for word in _words(text, values)]}
    return {**write, "file": _words(write["file"], values)[0], "text": _words(write["text"], values)[0]}


def _words(text: str, values: Mapping[str, Any]) -> list[str]:
    """Return ``text`` with its ``$name`` filled in; a name that stands for several words becomes several."""
    if text.startswith("$") and isinstance(values[text[1:]], list):
        return list(values[text[1:]])
    for name in _names(text, values):
        text = text.replace(f"${name}", values[name])
    return [text]


def _names(text: str, values: Mapping[str, Any]) -> Iterator[str]:
    # Longer names first: $cnp_dscp is not $cnp and the rest.
    if "$" in text:
        yield from sorted((name for name in values if isinstance(values[name], str)), key=len, reverse=True)
