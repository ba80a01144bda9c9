"""What a vendor's tools do to a node's NICs: the steps of its pack, filled in for the fabric's classes.

A pack is data of the catalog, a list of steps. A step reads settings (a command's output or a kernel file, a pattern,
the wanted value) and says what to run or write where one differs. ``$names`` are filled in here from the fabric's
classes, ``{interface}`` and ``{rdma}`` on the node, port by port.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from railweave.catalog.model import Step, VendorPack
from railweave.hosts.values import NicMarking, NicReceive

_BUFFER_UNIT_BYTES = 1152
"""Every cell of a NIC's receive buffer (96 to 192 bytes) divides it, so that the driver rounds nothing off."""
_LOSSLESS_BUFFER = "1"


def filled_steps(pack: VendorPack, mark: NicMarking, receive: NicReceive | None = None) -> list[dict[str, Any]]:
    """Return the steps of ``pack`` for the marking ``mark`` and the cable of ``receive``, as the node's document holds
    them; those that need a cable are left out without it."""
    known = _known(mark) | (_receiving(mark, receive) if receive else {})
    return [
        _filled_step(step, meant) for step in pack.steps if _is_needed(step, known) for meant in _each_of(step, known)
    ]


def _each_of(step: Step, known: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield what is known once, or once a lossless priority where the step is for each of them."""
    if step.get("for") == "lossless":
        yield from ({**known, "priority": priority} for priority in known["lossless"])
    else:
        yield known


def _filled_step(step: Step, known: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{key: value for key, value in step.items() if key not in {"needs", "for"}},
        "reads": [_filled_read(read, known) for read in step["reads"] if _is_needed(read, known)],
        **{key: [_filled_write(write, known) for write in step[key]] for key in _WRITES & step.keys()},
    }


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
    known = _known(mark)
    return [_words(text, known)[0] for text in pack.firmware if mark.cnp_dscp is not None or "$cnp" not in text]


def filled_counter(pack: VendorPack, mark: NicMarking) -> Mapping[str, Any]:
    """Return the read of the bytes sent in the RDMA class's priority, empty where the NIC does not tell."""
    return (
        {**pack.sent_bytes, "pattern": _words(pack.sent_bytes["pattern"], _known(mark))[0]} if pack.sent_bytes else {}
    )


def _known(mark: NicMarking) -> dict[str, Any]:
    bits = ["1" if on else "0" for on in mark.pfc]
    classes = {str(dscp): str(priority) for dscp, priority in mark.class_dscp}
    known: dict[str, Any] = {
        "dscp": str(mark.dscp),
        "priority": str(mark.priority),
        "tos": str(mark.tos),
        "tos_without_ecn": str(mark.dscp * 4),
        # bnxt_setupcc.sh takes less than the whole port only.
        "share": str(min(max(mark.share_percent, 1), 99)),
        "lossless_mask": str(sum(1 << priority for priority in mark.lossless)),
        "pfc_words": " ".join(bits),
        "pfc_map": {str(priority): "on" if on else "off" for priority, on in enumerate(mark.pfc)},
        "no_drop_map": {str(priority): "enable" if on else "disable" for priority, on in enumerate(mark.pfc)},
        **_schedule(mark.shares),
        "lossless": [str(priority) for priority in mark.lossless],
        "rest": str(mark.rest_priority),
        "class_map": classes,
        # A NIC that maps every DSCP to its eighth where nobody says otherwise would make others lossless too.
        "class_map_of_eighths": {
            **{str(dscp): str(mark.rest_priority) for one in mark.lossless for dscp in range(8 * one, 8 * one + 8)},
            **classes,
        },
        "cnp_words": [],
    }
    if mark.cnp_dscp is not None:
        known |= {
            "cnp_dscp": str(mark.cnp_dscp),
            "cnp_priority": str(mark.cnp_priority),
            "cnp_words": ["-c", str(mark.cnp_priority), "-p", str(mark.cnp_dscp)],
        }
    return known


_STRICT_LIMIT_GBPS = 10
"""What AMD's guide grants a strict priority: notifications are few, and must not starve the others."""


def _schedule(shares: Iterable[tuple[int, int | None]]) -> dict[str, Any]:
    """Return the shares of all priorities as words of a tool; those that are not strict make up the whole port."""
    parts = dict(shares)
    stated = sum(part or 0 for part in parts.values())
    spread = {priority: None if part is None else part * 100 // (stated or 1) for priority, part in parts.items()}
    largest = max((priority for priority, part in spread.items() if part is not None), key=lambda one: spread[one] or 0)
    spread[largest] = (spread[largest] or 0) + 100 - sum(part or 0 for part in spread.values())
    return {
        "schedule_map": {str(priority): "N/A" if part is None else str(part) for priority, part in spread.items()},
        "schedule_limits": {
            str(priority): str(_STRICT_LIMIT_GBPS) if part is None else "N/A" for priority, part in spread.items()
        },
    }


def _is_needed(part: Mapping[str, Any], known: Mapping[str, Any]) -> bool:
    return "needs" not in part or part["needs"] in known


def _filled_read(read: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    filled = {key: value for key, value in read.items() if key != "needs"}
    for key in {"want", "clear", "rest"} & read.keys():
        filled[key] = known[read[key][1:]] if read[key].startswith("$") else read[key]
    for key in {"file", "what"} & read.keys():
        filled[key] = _words(read[key], known)[0]
    return filled


def _filled_write(write: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    if "command" in write:
        return {"command": [word for text in write["command"] for word in _words(text, known)]}
    return {**write, "file": _words(write["file"], known)[0], "text": _words(write["text"], known)[0]}


def _words(text: str, known: Mapping[str, Any]) -> list[str]:
    """Return ``text`` with its ``$name`` filled in; a name that stands for several words becomes several."""
    if text.startswith("$") and isinstance(known[text[1:]], list):
        return list(known[text[1:]])
    # Longer names first: $cnp_dscp is not $cnp and the rest.
    for name in _names(text, known):
        text = text.replace(f"${name}", known[name])
    return [text]


def _names(text: str, known: Mapping[str, Any]) -> Iterator[str]:
    if "$" in text:
        yield from sorted((name for name in known if isinstance(known[name], str)), key=len, reverse=True)
