"""The YAML reader: what values mean, where they stand, and what is refused while reading."""

import pytest
import yaml

from railweave.diagnostics import Diagnostic
from railweave.errors import RefusedError
from railweave.intent import positions
from railweave.intent.positions import MAX_BYTES, MAX_DEPTH, Document, decode, read_document


def place(document: Document, path: str) -> tuple[int, int]:
    where = document.places[path]
    return where.line, where.column


def refusal(text: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(RefusedError) as refused:
        read_document(text, "i.yml")
    return refused.value.diagnostics


@pytest.fixture(params=["C loader", "pure loader"], autouse=True)
def _loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "pure loader":
        monkeypatch.setattr(positions, "_LOADER", yaml.SafeLoader)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("true", True),
        ("false", False),
        ("True", "True"),
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("12", 12),
        ("-3", -3),
        ("0", 0),
        ("017", "017"),
        ("0x1f", "0x1f"),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("22:22", "22:22"),
        ("2:1", "2:1"),
        ("1.5", "1.5"),
        ("1e3", "1e3"),
        (".inf", ".inf"),
        ("2026-11-21", "2026-11-21"),
        ("null", "null"),
        ("~", "~"),
        ("00:11:22:33:44:55", "00:11:22:33:44:55"),
        ('"12"', "12"),
        ("'true'", "true"),
        ("", None),
        ('""', ""),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_only_true_false_and_decimal_integers_are_more_than_text(written: str, meant: object) -> None:
    value = read_document(f"a: {written}\n", "i.yml").value["a"]
    assert (value, type(value)) == (meant, type(meant))


def test_keys_are_text_whatever_they_look_like() -> None:
    assert read_document("1: a\ntrue: b\n10.9.9.9: c\n", "i.yml").value == {"1": "a", "true": "b", "10.9.9.9": "c"}


def test_a_scalar_stands_at_itself_and_a_collection_at_its_key() -> None:
    document = read_document("a:\n  b: {c: 1, d: [x, y]}\ne:\n  - f: 2\n", "i.yml")
    assert place(document, "a") == (1, 1)
    assert place(document, "a.b") == (2, 3)
    assert place(document, "a.b.c") == (2, 10)
    assert place(document, "a.b.d[1]") == (2, 20)
    assert place(document, "e[0]") == (4, 5)
    assert place(document, "e[0].f") == (4, 8)
    assert (document.keys["e[0].f"].line, document.keys["e[0].f"].column) == (4, 5)


def test_a_missing_value_stands_at_its_key() -> None:
    assert place(read_document("a:\n  b:\n", "i.yml"), "a.b") == (2, 3)


def test_columns_count_characters_not_bytes() -> None:
    assert place(read_document("ä: {ö: ü}\n", "i.yml"), '["ä"]["ö"]') == (1, 8)


def test_a_byte_order_mark_moves_no_column() -> None:
    text = decode("\ufefffabric: pod1\n".encode(), "i.yml")
    assert place(read_document(text, "i.yml"), "fabric") == (1, 9)


def test_windows_line_ends_count_as_one() -> None:
    assert place(read_document("a: 1\r\nb: 2\r\n", "i.yml"), "b") == (2, 4)


def test_an_alias_has_the_value_of_its_anchor_and_a_place_of_its_own() -> None:
    document = read_document("a: &x 7\nb: *x\nc: &m {k: 1}\nd: *m\n", "i.yml")
    assert document.value == {"a": 7, "b": 7, "c": {"k": 1}, "d": {"k": 1}}
    assert place(document, "b") == (2, 4)
    assert place(document, "d") == (4, 1)
    assert place(document, "d.k") == (3, 11)


def test_a_merge_key_adds_what_is_not_written_out() -> None:
    document = read_document("a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\nc: {<<: [*a, *b], x: 9}\n", "i.yml")
    assert document.value["c"] == {"x": 9, "y": 2, "z": 4}
    assert not document.diagnostics


def test_a_quoted_merge_key_is_a_key() -> None:
    assert read_document('a: {"<<": 1}\n', "i.yml").value == {"a": {"<<": 1}}


def test_merging_anything_but_a_mapping_is_a_fault() -> None:
    assert [one.code for one in read_document("a: &a 1\nb: {<<: *a}\n", "i.yml").diagnostics] == ["RW012"]


def test_all_duplicate_keys_and_tags_are_reported_at_once() -> None:
    faults = read_document("a: 1\nb: !x 2\na: 3\nc: {d: 1, d: !!binary aa==}\n", "i.yml").diagnostics
    assert [(one.code, one.where.line, one.where.column) for one in faults] == [
        ("RW005", 2, 4),
        ("RW004", 3, 1),
        ("RW004", 4, 11),
        ("RW005", 4, 14),
    ]


def test_keys_that_are_only_written_differently_are_duplicates() -> None:
    assert [one.code for one in read_document("a: 1\n\"a\": 2\n'a': 3\n", "i.yml").diagnostics] == ["RW004", "RW004"]


def test_the_first_of_two_keys_counts() -> None:
    assert read_document("a: 1\na: {b: 2}\nc: 3\n", "i.yml").value == {"a": 1, "c": 3}


@pytest.mark.parametrize("text", ["? [a]\n: 1\nb: 2\n", "{[a]: 1, b: 2}", "{{x: y}: 1, b: 2}", '{"": 1, b: 2}'])
def test_a_key_that_is_no_text_is_a_fault_and_the_rest_is_read(text: str) -> None:
    document = read_document(text, "i.yml")
    assert document.value == {"b": 2}
    assert [one.code for one in document.diagnostics] == ["RW012"]


def test_exploding_aliases_are_refused_before_they_explode() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 60)]
    assert [one.code for one in refusal("\n".join(lines))] == ["RW006"]


def test_exploding_merges_are_refused_too() -> None:
    lines = ["a0: &a0 {" + ", ".join(f"k{n}: [x, x, x, x]" for n in range(50)) + "}"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 20)}]" for n in range(1, 4)]
    lines += ["b: {<<: *a3}"]
    assert [one.code for one in refusal("\n".join(lines))] == ["RW006"]


@pytest.mark.parametrize("text", ["a: &a [*a]", "a: &a {b: *a}", "a: &a {<<: *a}", "a: *b", "a: *b\nb: &b 1"])
def test_an_alias_without_a_finished_anchor_above_is_a_fault(text: str) -> None:
    assert [one.code for one in read_document(text, "i.yml").diagnostics][:1] == ["RW006"]


@pytest.mark.parametrize("opening", ["[", "{a: "])
def test_depth_is_bounded_without_recursion(opening: str) -> None:
    assert [one.code for one in refusal("a: " + opening * 100_000)] == ["RW007"]


def test_depth_through_aliases_is_bounded_too() -> None:
    half = MAX_DEPTH // 2 + 2
    text = f"a: &a {'[' * half}{']' * half}\nb: {'[' * half}*a{']' * half}\n"
    assert [one.code for one in refusal(text)] == ["RW007"]


def test_a_file_beyond_the_limit_is_refused() -> None:
    with pytest.raises(RefusedError) as refused:
        decode(b" " * (MAX_BYTES + 1), "i.yml")
    assert [one.code for one in refused.value.diagnostics] == ["RW007"]


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("a:\n\tb: 1\n", 2, 1, "tab"),
        ("a: [1, 2\nb: 3\n", 1, 4, "`[` is not closed"),
        ("a: {b: 1\nc: 2\n", 1, 4, "`{` is not closed"),
        ("a: 'x\nb: 3\n", 1, 4, "never closed"),
        ("a: b: c\n", 1, 5, "no key can be"),
        ("a: @x\n", 1, 4, "begin with `@`"),
        ("a: %x\n", 1, 4, "begin with `%`"),
        ("- a\nb: 1\n", 2, 1, "item of the list"),
        ("a: ]\n", 1, 4, "value is missing"),
        ("a: 1\n...\nb\n", 3, 1, "after the end"),
        ("%YAML 3.0\n---\na: 1\n", 1, 1, "version"),
        ("a:\n  - 1\n  -2\n", 3, 3, "no `:`"),
        ("a:\n  - 1\n - 2\n", 3, 2, "does not fit"),
    ],
)
def test_syntax_faults_are_told_in_our_words_at_their_place(text: str, line: int, column: int, words: str) -> None:
    (fault,) = refusal(text)
    assert fault.code == "RW003"
    assert (fault.where.line, fault.where.column) == (line, column)
    assert words in fault.message
    assert fault.fix


def test_a_control_character_is_named_with_its_place() -> None:
    (fault,) = refusal("a: 1\r\nb: x\x00y\n")
    assert (fault.code, fault.where.line, fault.where.column) == ("RW002", 2, 5)
    assert "U+0000" in fault.message
