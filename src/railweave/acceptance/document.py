"""The file form of an acceptance plan, ``plan.json``: written by ``acceptance plan``, read by everything after it.

Equal plans have equal bytes. Each test and each link has a line of its own, so that a plan can be searched and compared
as text. A plan of 4,096 nodes has a hundred thousand tests: it is written in blocks, and tests share their limits.
"""

import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from railweave.acceptance.model import (
    AcceptancePlan,
    AcceptanceRound,
    CoveredLink,
    JudgeSettings,
    Level,
    MetricLimit,
    NicPort,
    PlannedClass,
    PlannedDevice,
    PlannedNode,
    PlannedTest,
)
from railweave.codec import InvalidTextError, InvalidValueError, Place, as_json, load_text, position, read_text
from railweave.diagnostics import Where, error
from railweave.errors import RefusedError, UsageError
from railweave.wording import command_line

PLAN_FILE = "plan.json"
"""The name of the file within the directory of a plan and its results."""

DOCUMENT_VERSION = 1
"""The version of ``plan.json`` that this program writes and reads."""

_RENAMED = {
    "tests": {"from": "sender", "to": "receiver", "bytes": "message_bytes"},
    "links": {"a": "lower", "b": "upper"},
}
"""The keys of the contract and the fields of `PlannedTest` and `CoveredLink` that they stand for."""

_ROWS: Mapping[str, Any] = {
    "rounds": tuple[AcceptanceRound, ...],
    "links": tuple[CoveredLink, ...],
    "devices": tuple[PlannedDevice, ...],
    "nodes": tuple[PlannedNode, ...],
    "classes": tuple[PlannedClass, ...],
}
"""The types of the lists of the document, tests apart."""

# Rows that are read at once: enough to make the cost of a call small, few enough to keep memory small.
_BLOCK = 2000


class ReadPlan(NamedTuple):
    """A plan with the SHA-256 of its file, which the meta files of results state."""

    plan: AcceptancePlan
    sha256: str


@dataclass(frozen=True, slots=True)
class _Head:
    """The members of the document that are not lists."""

    version: int
    fabric: str
    intent_sha256: str
    level: Level
    seed: int
    duration_s: int
    settings: JudgeSettings


def plan_blocks(plan: AcceptancePlan) -> Iterator[bytes]:
    """Yield ``plan.json`` in blocks of many lines, which cost less to write; joined they are one JSON object."""
    head = {
        "version": DOCUMENT_VERSION,
        "fabric": plan.fabric,
        "intent_sha256": plan.intent_sha256,
        "level": plan.level.value,
        "seed": plan.seed,
        "duration_s": plan.duration_s,
        "settings": as_json(plan.settings),
    }
    # Without the brace that closes the object: the lists follow.
    yield orjson.dumps(head)[:-1]
    texts = _SharedTexts()
    yield from _list_blocks("rounds", (_round_text(planned, texts) for planned in plan.rounds))
    yield from _list_blocks("tests", (_test_text(test, texts) for test in plan.tests))
    yield from _list_blocks("links", (orjson.dumps(_link_json(link)) for link in plan.links))
    yield from _list_blocks("devices", (orjson.dumps(device._asdict()) for device in plan.devices))
    yield from _list_blocks("nodes", (orjson.dumps(node._asdict()) for node in plan.nodes))
    yield from _list_blocks("classes", (orjson.dumps(traffic._asdict()) for traffic in plan.classes))
    yield b"\n}\n"


def _list_blocks(key: str, rows: Iterator[bytes]) -> Iterator[bytes]:
    yield b',\n"%s": [' % key.encode()
    separator = b"\n"
    while block := b",\n".join(islice(rows, _BLOCK)):
        yield separator + block
        separator = b",\n"
    yield b"\n]"


class _SharedTexts:
    """The JSON of values that many tests share: it is made once for each object."""

    def __init__(self) -> None:
        # By identity, which the plan keeps valid: hashing a limit would walk its inputs.
        self._limits: dict[int, bytes] = {}
        self._nic_ports: dict[int, bytes] = {}
        self._groups: dict[int, bytes] = {}

    def limits(self, limits: tuple[MetricLimit, ...]) -> bytes:
        """Return the JSON of a list of limits."""
        text = self._limits.get(id(limits))
        if text is None:
            text = self._limits[id(limits)] = orjson.dumps(as_json(limits))
        return text

    def nic_port(self, nic_port: NicPort) -> bytes:
        """Return the JSON of a NIC port."""
        text = self._nic_ports.get(id(nic_port))
        if text is None:
            # Formatted, because what orjson returns keeps a buffer of kilobytes.
            text = b'{"node":%s,"nic":%d,"port":%d}' % (orjson.dumps(nic_port.node), nic_port.nic, nic_port.port)
            self._nic_ports[id(nic_port)] = text
        return text

    def group(self, group: tuple[NicPort, ...]) -> bytes:
        """Return the JSON of the NIC ports of a group, which all operations of it share."""
        text = self._groups.get(id(group))
        if text is None:
            text = self._groups[id(group)] = b"[%s]" % b",".join(map(self.nic_port, group))
        return text


def _round_text(planned: AcceptanceRound, texts: _SharedTexts) -> bytes:
    document = {"id": planned.id, "kind": planned.kind, "seconds": planned.seconds, "tests": planned.tests}
    return orjson.dumps({**document, "limits": orjson.Fragment(texts.limits(planned.limits))})


def _test_text(test: PlannedTest, texts: _SharedTexts) -> bytes:
    """Return the line of a test, joined from texts that tests share: a dictionary for each takes twice the time."""
    if test.receiver is None:
        ends = b',"group":' + texts.group(test.group)
    else:
        ends = b',"to":' + texts.nic_port(test.receiver)
    # Ids and words of enumerations have nothing to escape.
    head = f'{{"id":"{test.id}","round":"{test.round}","kind":"{test.kind}","tool":"{test.tool}","from":'
    parts = (
        head.encode(),
        texts.nic_port(test.sender),
        ends,
        b',"queue_pairs":%d,"bytes":%d,"argv":' % (test.queue_pairs, test.message_bytes),
        orjson.dumps(test.argv),
        b',"limits":',
        texts.limits(test.limits),
        b"}",
    )
    return b"".join(parts)


def _link_json(link: CoveredLink) -> dict[str, Any]:
    """Return a link with the keys of the document (`_RENAMED`)."""
    nic_port = None
    if link.nic_port is not None:
        nic_port = _nic_port_json(link.nic_port)
    return {
        "cable": link.cable,
        # A literal takes a third of the time of _asdict, and there are a hundred thousand links.
        "a": {"device": link.lower.device, "port": link.lower.port},
        "b": {"device": link.upper.device, "port": link.upper.port},
        "probability": link.probability,
        "rounds": link.rounds,
        "kind": link.kind,
        "speed_gbps": link.speed_gbps,
        "plane": link.plane,
        "rail": link.rail,
        "nic_port": nic_port,
    }


def _nic_port_json(nic_port: NicPort) -> dict[str, Any]:
    return {"node": nic_port.node, "nic": nic_port.nic, "port": nic_port.port}


def read_plan(folder: Path) -> ReadPlan:
    """Return the plan in ``folder``.

    Raises UsageError if its file cannot be read, and RefusedError if it is not an acceptance plan of this version.
    """
    path = folder / PLAN_FILE
    try:
        content = path.read_bytes()
    except OSError as exc:
        plan_command = command_line("acceptance", "plan", "--out", str(folder))
        raise UsageError(f"{path}: {exc.strerror}; `{plan_command}` writes a plan there") from None
    return ReadPlan(parse_plan(content, str(path)), hashlib.sha256(content).hexdigest())


def parse_plan(content: bytes, file: str) -> AcceptancePlan:
    """Return the plan in ``content``, which was read from ``file``.

    Raises RefusedError with the place of the first value that is missing, of another type, or names a test, round or
    node that the plan does not have.
    """
    document = _object_of(content, file)
    try:
        plan = _plan_of(document)
        _check_references(plan)
    except InvalidValueError as exc:
        line, column = position(content.decode(), exc.place)
        raise _refused(f"this plan is incomplete: {exc}", file, line, column) from None
    return plan


def _object_of(content: bytes, file: str) -> dict[str, Any]:
    """Return the JSON object in ``content``; raises RefusedError if it is not a plan of this version."""
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError as exc:
        raise _not_json(content, file, str(exc)) from None
    if not isinstance(document, dict) or not {"version", "rounds"} <= document.keys():
        raise _refused("this is not an acceptance plan", file)
    version = document["version"]
    if version != DOCUMENT_VERSION:
        message = f"this plan has version {version!r}, and this program reads version {DOCUMENT_VERSION}"
        raise _refused(message, file)
    return document


def _not_json(content: bytes, file: str, reason: str) -> RefusedError:
    """Return why a file is not JSON; Python's error has the line and column that orjson's lacks."""
    try:
        load_text(content)
    except InvalidTextError as exc:
        return _refused(f"this is not JSON: {exc.reason}", file, exc.line, exc.column)
    return _refused(f"this is not JSON: {reason}", file)


def _refused(message: str, file: str, line: int = 1, column: int = 1) -> RefusedError:
    fix = f"make the plan again with `{command_line('acceptance', 'plan', '--out', 'DIR')}`"
    return RefusedError([error("RW901", message, Where(file, line, column), fix=fix)])


def _plan_of(document: Mapping[str, Any]) -> AcceptancePlan:
    """Return the plan in a document; raises InvalidValueError with the place of the first wrong value."""
    list_keys = (*_ROWS, "tests")
    head_members = {key: value for key, value in document.items() if key not in list_keys}
    head = _read(_Head, head_members, ())
    rows = {key: tuple(_read_rows(key, kind, document)) for key, kind in _ROWS.items()}
    return AcceptancePlan(
        fabric=head.fabric,
        intent_sha256=head.intent_sha256,
        level=head.level,
        seed=head.seed,
        duration_s=head.duration_s,
        settings=head.settings,
        tests=tuple(_read_tests(document)),
        **rows,
    )


def _read_tests(document: Mapping[str, Any]) -> Iterator[PlannedTest]:
    """Yield the tests of a document.

    Equal limits are one object, and so are equal words of commands, which would otherwise fill a gigabyte.
    """
    limits_of_text: dict[bytes, tuple[MetricLimit, ...]] = {}
    rows: Iterable[PlannedTest] = _read_rows("tests", tuple[PlannedTest, ...], document)
    for index, (row, value) in enumerate(zip(rows, document["tests"], strict=True)):
        limits = value.get("limits")
        limits_text = orjson.dumps(limits)
        if limits_text not in limits_of_text:
            limits_of_text[limits_text] = _read(tuple[MetricLimit, ...], limits, ("tests", index, "limits"))
        argv = _read_argv(value.get("argv"), ("tests", index, "argv"))
        yield row._replace(argv=argv, limits=limits_of_text[limits_text])


def _read_argv(value: object, value_place: Place) -> dict[str, tuple[str, ...]]:
    """Return the words of each node's command; raises InvalidValueError if ``value`` has another form.

    They are checked here, because millions of words take pydantic several seconds.
    """
    if not isinstance(value, dict):
        raise InvalidValueError(value_place, "expected an object with a list of words for each node")
    argv = {}
    for node, words in value.items():
        try:
            argv[node] = tuple(map(sys.intern, words))
        except TypeError:
            raise InvalidValueError((*value_place, node), "expected a list of words") from None
    return argv


def _read_rows(key: str, kind: Any, document: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the rows of the list ``key`` of a document; ``kind`` is the type of the list, which is read in blocks.

    Raises InvalidValueError if there is no such list, or if a row is not of its type.
    """
    values = document.get(key)
    if not isinstance(values, list):
        raise InvalidValueError((key,), "expected a list")
    for start in range(0, len(values), _BLOCK):
        block = []
        for index, value in enumerate(values[start : start + _BLOCK], start):
            block.append(_renamed(key, value, index))
        yield from _read(kind, block, (key,), start)


def _renamed(key: str, value: object, index: int) -> dict[str, Any]:
    """Return a row with the names of its type's fields as keys; a test has an empty `argv` and no `limits`.

    Raises InvalidValueError if the row is not an object, or if a test has both or neither of `to` and `group`.
    """
    if not isinstance(value, dict):
        raise InvalidValueError((key, index), "expected an object")
    row: dict[str, Any] = dict(value)
    if key == "tests":
        if ("to" in row) == ("group" in row):
            raise InvalidValueError((key, index), "expected either `to` or `group`")
        row.setdefault("to", None)
        row.setdefault("group", [])
        # `_read_tests` reads these.
        row |= {"argv": {}, "limits": []}
    for name, field in _RENAMED.get(key, {}).items():
        if name in row:
            row[field] = row.pop(name)
    return row


def _read(kind: Any, value: Any, value_place: Place, start: int = 0) -> Any:
    """Return ``value`` as type ``kind``; ``value_place`` is where it is in the document.

    For a block of rows ``value_place`` is the key of their list, and ``start`` the index of the first one. Raises
    InvalidValueError with the place in the document.
    """
    try:
        return read_text(kind, orjson.dumps(value))
    except InvalidValueError as exc:
        place = (*value_place, *_place_in_document(value_place, exc.place, start))
        raise InvalidValueError(place, exc.parts[0].message) from None


def _place_in_document(value_place: Place, place: Place, start: int) -> Iterator[str | int]:
    """Yield the parts of a place within a value of `_read`, with the index and the keys that the document has there."""
    # Only the place of a list of rows is a single key.
    is_block = len(value_place) == 1
    if not is_block or not place:
        yield from place
        return
    (key,) = value_place
    index, *fields = place
    yield start + int(index)
    name_of = {field: name for name, field in _RENAMED.get(str(key), {}).items()}
    for field in fields:
        yield name_of.get(str(field), field)


def _check_references(plan: AcceptancePlan) -> None:
    """Check that rounds, tests, links and nodes name each other; raises InvalidValueError with the first that fails."""
    round_ids: set[str] = set()
    round_of_test: dict[str, str] = {}
    for index, planned in enumerate(plan.rounds):
        if planned.id in round_ids:
            raise InvalidValueError(("rounds", index, "id"), f"round {planned.id!r} is in the plan twice")
        round_ids.add(planned.id)
        round_of_test.update(dict.fromkeys(planned.tests, planned.id))
    _check_tests(plan, round_of_test)
    for index, link in enumerate(plan.links):
        if not round_ids.issuperset(link.rounds):
            raise InvalidValueError(("links", index, "rounds"), f"cable {link.cable!r} names an unknown round")


def _check_tests(plan: AcceptancePlan, round_of_test: dict[str, str]) -> None:
    """Check that each test is once in its round and has known nodes, and that rounds have no other tests.

    Empties ``round_of_test``.
    """
    nodes = {node.name for node in plan.nodes}
    for index, test in enumerate(plan.tests):
        if round_of_test.pop(test.id, None) != test.round:
            raise InvalidValueError(("tests", index, "round"), f"round {test.round!r} does not have test {test.id!r}")
        receivers = test.group or (test.receiver,)
        for nic_port in (test.sender, *receivers):
            if nic_port is None or nic_port.node not in nodes:
                raise InvalidValueError(("tests", index), f"test {test.id!r} names a node that the plan does not have")
    if round_of_test:
        test_id, round_id = next(iter(round_of_test.items()))
        raise InvalidValueError(("rounds",), f"round {round_id!r} has test {test_id!r}, which the plan does not have")
