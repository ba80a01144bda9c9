"""Whatever stands in a file, reading it gives an intent or a report; and places point at what they name."""

from collections.abc import Callable, Iterator
from typing import Any

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from railweave.checks.intent import check_intent
from railweave.diagnostics import Diagnostic, Where
from railweave.errors import RefusedError
from railweave.intent.load import load_intent_text
from railweave.intent.paths import child, path_text
from railweave.intent.positions import decode, plain_value, read_document
from railweave.intent.schema import DEFAULT_CLASSES

VOCABULARY = """
    fabric workload kind nodes name count gpus nics speed ports model pcie topology shape rails leaf spine reserve
    addressing loopbacks asn bgp hold traffic_classes dscp role priority share mtu cabling overrides auto true no ~ 400G
    4 0 -1 1:30 017 pretraining connectx-7 "4" 10.0.0.0/8 <<
"""
WORDS = st.sampled_from(VOCABULARY.split())
MARKS = st.sampled_from(
    [
        ": ",
        "\n",
        "\n  ",
        "\n    ",
        "- ",
        "{",
        "}",
        "[",
        "]",
        ", ",
        "&a ",
        "*a",
        "!!str ",
        "---\n",
        "# ",
        "? ",
        "|",
        "\t",
        "'",
    ]
)
LOOKING_LIKE_YAML = st.lists(WORDS | MARKS, max_size=60).map("".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
INTENT = {
    "fabric": "pod1",
    "workload": {"kind": "pretraining", "gpus": 256, "growth": {"gpus": 512, "months": 18}},
    "nodes": [
        {
            "name": "gpu",
            "count": 32,
            "gpus": 8,
            "nics": {"count": 4, "speed": "400G", "ports": 1, "model": "connectx-7", "pcie": "gen5x16"},
        }
    ],
    "topology": {
        "shape": "rail-optimized",
        "oversubscription": "1:1",
        "leaf": {"model": "nokia-ixr7220-h4-64d", "count": 4},
        "spine": {"model": "nvidia-sn4700", "count": 4},
        "reserve": {"leaves": 8},
    },
    "addressing": {"hosts": "10.32.0.0/11", "asn": {"leaf": 4210000000}},
    "bgp": {"keepalive": 3, "hold": 9},
    "traffic_classes": [dict(one) for one in DEFAULT_CLASSES],
    "mtu": {"fabric": 9100},
    "cabling": {"host": {"length_m": 20}},
    "overrides": {"leaf": {"SYSLOG_SERVER": {"10.9.9.9": {"port": "514"}}}},
}


Keys = tuple[str | int, ...]


def paths_of(value: object, path: Keys = ()) -> Iterator[Keys]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, below in items:
        yield from paths_of(below, (*path, part))


def with_value(value: Any, path: Keys, new: object) -> Any:
    if not path:
        return new
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = with_value(value[path[0]], path[1:], new)
    return copy


def reported(read: Callable[..., Any], *arguments: object) -> tuple[Any, tuple[Diagnostic, ...] | None]:
    """Return what ``read`` gives and the diagnostics of its refusal, one of them None; nothing else may be raised."""
    try:
        return read(*arguments), None
    except RefusedError as refused:
        return None, refused.diagnostics


def read_or_report(text: str) -> tuple[Diagnostic, ...]:
    """Return the findings of a text, each with a place."""
    intent, refused = reported(load_intent_text, text, "i.yml")
    if refused is None:
        return check_intent(intent)
    assert refused
    assert all(one.where.file == "i.yml" and one.where.line >= 1 for one in refused)
    assert all(one.message and one.fix for one in refused)
    return refused


@given(LOOKING_LIKE_YAML)
@example("a: &a {<<: *a}")
@example("fabric: \ud800")
@example("{? [a] : b}")
def test_text_that_looks_like_yaml_is_read_or_reported(text: str) -> None:
    read_or_report(text)


@given(st.text(max_size=80))
def test_any_text_is_read_or_reported(text: str) -> None:
    read_or_report(text)


@given(st.binary(max_size=60))
def test_any_bytes_are_text_or_reported(data: bytes) -> None:
    text, refused = reported(decode, data, "i.yml")
    if refused is None:
        read_or_report(text)
    else:
        (fault,) = refused
        assert fault.code == "RW002"
        before = data.split(b"\n")[: fault.where.line - 1]
        assert b"\n".join(before).decode("utf-8-sig") is not None


@given(st.sampled_from(sorted(paths_of(INTENT), key=str)), VALUES, st.booleans())
def test_a_changed_value_is_read_or_reported(path: Keys, value: Any, flow: bool) -> None:
    text = yaml.safe_dump(with_value(INTENT, path, value), default_flow_style=flow, allow_unicode=True)
    read_or_report(text)


@given(st.sampled_from(sorted(filter(None, paths_of(INTENT)), key=str)), st.booleans())
def test_a_value_that_nothing_takes_is_reported_at_its_path(path: Keys, flow: bool) -> None:
    text = yaml.safe_dump(with_value(INTENT, path, {"x": ["y", ["z"]]}), default_flow_style=flow)
    assert any(one.where.path.startswith(path_text(path)) for one in read_or_report(text) if one.severity == "error")


@given(
    st.recursive(
        st.integers(-99, 99) | st.booleans() | st.from_regex(r"[a-z][a-z0-9-]{0,6}", fullmatch=True),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.from_regex(r"[a-z][a-z0-9_.]{0,5}", fullmatch=True), inner, max_size=4)
        ),
        max_leaves=15,
    ),
    st.booleans(),
    st.integers(2, 6),
)
def test_every_place_points_at_the_token_that_it_names(value: Any, flow: bool, indent: int) -> None:
    text = yaml.safe_dump({"top": value}, default_flow_style=flow, indent=indent)
    document = read_document(text, "i.yml")
    assert document.value == {"top": value}
    lines = text.splitlines()

    def token(where: Where) -> str:
        return lines[where.line - 1][where.column - 1 :]

    def look(value: Any, path: str, key: str | None) -> None:
        if isinstance(value, dict | list):
            if key is not None and path in document.keys:
                assert token(document.places[path]).lstrip("'\"").startswith(key)
            items = value.items() if isinstance(value, dict) else enumerate(value)
            for part, below in items:
                look(below, child(path, part), part if isinstance(part, str) else None)
        else:
            found = token(document.places[path]).split(",")[0].rstrip("]}").strip()
            assert plain_value(found) == value or found.strip("'\"") == value
        if key is not None:
            assert token(document.keys[path]).lstrip("'\"").startswith(key)

    look(value, "top", "top")


@given(st.sets(st.sampled_from(["addressing", "bgp", "traffic_classes", "mtu", "cabling"])))
def test_stating_defaults_changes_nothing(stated: set[str]) -> None:
    defaults = {
        "addressing": {"loopbacks": "10.255.0.0/16", "asn": {"leaf": 4210000000, "spine": 4200001000}},
        "bgp": {"keepalive": 3, "hold": 9},
        "traffic_classes": [dict(one) for one in DEFAULT_CLASSES],
        "mtu": {"fabric": 9100, "hosts": 9000},
        "cabling": {"host": {"length_m": 20, "media": "auto"}, "leaf_spine": {"length_m": 30}},
    }
    required = {key: INTENT[key] for key in ("fabric", "workload", "nodes", "topology")}
    bare = load_intent_text(yaml.safe_dump(required), "i.yml")
    full = load_intent_text(yaml.safe_dump({**required, **{key: defaults[key] for key in stated}}), "i.yml")
    assert (full.policies, full.cabling, full.topology) == (bare.policies, bare.cabling, bare.topology)
    assert (full.nodes, full.workload) == (bare.nodes, bare.workload)
