"""Whatever a file of the state holds, it is read as its value or refused by the codec's own error."""

import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nornir_railweave.journals.record import JournalRecord, RecordHeading, read_record
from nornir_railweave.rollout.claim import LockHolder
from nornir_railweave.rollout.node_log import left_drained
from nornir_railweave.target.endpoints import Endpoints, read_endpoints, write_endpoints
from railweave.codec import (
    CodecError,
    InvalidValueError,
    Place,
    Record,
    as_json,
    encode,
    load_text,
    position,
    read_text,
    read_value,
)
from railweave.lab.cables import LabTopology
from railweave.plan.lineage import generation_document, generation_of
from railweave.plan.model import DevicePlan, Generation
from railweave.plan.rollout import NAME
from railweave.plan.signed import Signed, parse_signed
from railweave.sonic.delta.change import Change

ODD_TEXT = st.text(st.characters(categories=None, exclude_categories=()), max_size=8)
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ODD_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD_TEXT, inner, max_size=3),
    max_leaves=6,
)
STORED = {"heading": RecordHeading, "lock": LockHolder, "endpoints": Endpoints, "topology": LabTopology}
"""Values that are written as they are."""
KINDS = {**STORED, "device": DevicePlan, "change": Change}
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "heading": st.from_type(RecordHeading),
    "lock": st.from_type(LockHolder),
    "endpoints": st.builds(Endpoints, options=st.dictionaries(st.text(), st.text() | st.integers(), max_size=2)),
    "topology": st.builds(
        LabTopology, nodes=st.dictionaries(st.text(), st.dictionaries(st.text(), st.text(), max_size=2), max_size=2)
    ),
}


@st.composite
def damaged(draw: st.DrawFn, kind: str) -> Any:
    """Return the document of a value in which some member is another value, or missing."""
    document = as_json(draw(VALUES[kind]))
    name = draw(st.sampled_from(sorted(document)))
    if draw(st.booleans()):
        document[name] = draw(ODD)
    else:
        del document[name]
    return document


def place_of_refusal(read: Callable[[Any, Any], Any], kind: Any, document: Any) -> Place:
    """Return the place that a refusal names; the whole document if it is read, or is no JSON to pydantic."""
    try:
        read(kind, document)
    except InvalidValueError as refused:
        return refused.place
    except CodecError:
        pass
    return ()


@pytest.mark.parametrize("kind", STORED)
@given(data=st.data())
def test_a_value_is_read_as_it_was_written(kind: str, data: st.DataObject) -> None:
    value = data.draw(VALUES[kind])
    assert read_text(STORED[kind], encode(value)) == value
    assert read_value(STORED[kind], load_text(encode(value))) == value


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_any_other_json_is_refused_with_a_place_in_it(kind: str, data: st.DataObject) -> None:
    document = data.draw(damaged(kind) if kind in VALUES else ODD)
    text = json.dumps(document, indent=1)
    for read, of in ((read_text, text), (read_value, document)):
        assert position(text, place_of_refusal(read, KINDS[kind], of)) >= (1, 1)


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.binary(max_size=20) | ODD_TEXT.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_refused(kind: str, text: bytes) -> None:
    with pytest.raises(CodecError):
        read_text(KINDS[kind], text)
    assert not Record.of_line(text).texts("nodes")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "1" * 5000, '{"token": ' + "1" * 5000 + "}"])
def test_depth_and_length_are_refused(text: str) -> None:
    with pytest.raises(CodecError):
        read_text(RecordHeading, text)
    assert not Record.of_line(text).values


@given(
    st.builds(RecordHeading, rollout=st.from_regex(NAME, fullmatch=True).filter(lambda name: "/" not in name)),
    st.binary(max_size=20),
)
def test_a_record_is_read_with_its_lines(heading: RecordHeading, lines: bytes) -> None:
    record = JournalRecord(heading, lines)
    assert read_record(record.encoded()) == record


@given(ODD | damaged("heading"), st.binary(max_size=20))
def test_another_record_is_none(document: Any, lines: bytes) -> None:
    record = read_record(json.dumps(document).encode() + b"\n" + lines)
    assert record is None or (NAME.match(record.heading.rollout) and record.lines == lines)


@given(VALUES["endpoints"], ODD | damaged("endpoints"))
def test_endpoints_are_read_as_they_were_written(endpoints: Endpoints, other: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "endpoints.json"
        write_endpoints(file, endpoints)
        if not endpoints.key_file or (endpoints.username and endpoints.known_hosts):
            assert read_endpoints(file) == endpoints
        file.write_text(json.dumps(other))
        with suppress(CodecError):
            assert isinstance(read_endpoints(file), Endpoints)


@given(st.binary(max_size=40), st.binary(max_size=40), ODD)
def test_what_was_signed_is_read_back(text: bytes, signature: bytes, other: Any) -> None:
    signed = Signed(text, signature)
    assert parse_signed(load_text(encode(signed.as_json()))) == signed
    assert parse_signed(other) is None
    for name in ("text", "signature"):
        assert parse_signed({**signed.as_json(), name: other}) is None or isinstance(other, str)


@given(st.builds(Generation, number=st.just(0), by=st.just("")), ODD)
def test_a_generation_is_read_leniently(generation: Generation, other: Any) -> None:
    assert generation_of(generation_document(generation)) == generation
    assert isinstance(generation_of({"number": other, "revision": other, "dirty": other}), Generation)


@given(st.lists(ODD | st.fixed_dictionaries({"step": st.just("draining"), "nodes": st.lists(ODD)}), max_size=4))
def test_a_log_of_nodes_is_read_leniently(documents: list[Any]) -> None:
    lines = b"\n".join(json.dumps(document).encode() for document in documents)
    assert all(isinstance(node, str) for node in left_drained(lines))
