"""Makes ``src/railweave/sonic/delta/leaf_words.txt`` of SONiC's YANG models: what every release refuses of a field.

    .venv/bin/python tests/support/leaf_words.py FOLDER…    # one folder of models for each release, with libyang

A word that one release takes is none that can be refused without knowing the switch, so types are joined.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from railweave.yang.models import YangModels

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "src" / "railweave" / "sonic" / "delta" / "leaf_words.txt"
HEADER = """\
# What SONiC's YANG models say of the fields of CONFIG_DB, releases {releases} joined; leaf_words.py reads it. Made by
# tests/support/leaf_words.py of sonic-net/sonic-buildimage, src/sonic-yang-models (Apache-2.0).
#
# A line without indentation is a table, the ones below it are its fields, and after a field stand the words that it
# takes, joined by `|`; `a..b` is a range of numbers. Nothing after it: any text. Of a map `*` is what its fields are
# named, and `*=` what they hold.
"""
_WORDS = re.compile(r"\(?[\w. +-]+(\|[\w. +-]+)*\)?")
_SPREAD = {"int8": 7, "int16": 15, "int32": 31, "int64": 63, "uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}

Words = frozenset[str] | None
"""The words and ranges that a field takes, None for any text."""


def text_of(folders: Sequence[Path]) -> str:
    """Return the file of some releases."""
    tables: dict[str, dict[str, Words]] = {}
    for folder in folders:
        models = YangModels(folder)
        for table in models.index:
            tables.setdefault(table, {})  # the rows of some have keys alone
        for table, name, words in leaves(models):
            fields = tables.setdefault(table, {})
            known = fields.get(name, frozenset())
            fields[name] = None if words is None or known is None else known | words
    lines = [HEADER.format(releases=", ".join(folder.name for folder in folders))]
    for table in sorted(tables):
        lines.append(table)
        for name, words in sorted(tables[table].items()):
            lines.append(f" {name} {'|'.join(sorted(words))}" if words else f" {name}")
    return "\n".join(lines) + "\n"


def leaves(models: YangModels) -> Iterator[tuple[str, str, Words]]:
    """Yield table, field and words of a release."""
    import libyang

    containers = (libyang.schema.SNode.CONTAINER,)
    for module in models._context:
        tops = [top for top in module.children(types=containers) if top.name() == module.name()]
        for table in (one for top in tops for one in top.children(types=containers)):
            for form in table:
                if isinstance(form, libyang.schema.SList | libyang.schema.SContainer):
                    yield from _of_form(table.name(), form)


def _of_form(table: str, form: Any) -> Iterator[tuple[str, str, Words]]:
    import libyang

    keys = [key.name() for key in _keys(form)] if isinstance(form, libyang.schema.SList) else []
    children = _children(form)
    inner = next((one for one in children if isinstance(one, libyang.schema.SList) and one.name() == table), None)
    if inner is not None:
        (key,) = _keys(inner)
        (value,) = (one for one in _children(inner) if one.name() != key.name())
        yield table, "*", _words(key.type())
        yield table, "*=", _words(value.type())
        return
    for one in children:
        if isinstance(one, libyang.schema.SLeaf | libyang.schema.SLeafList) and one.name() not in keys:
            yield table, one.name(), _words(one.type())


def _children(form: Any) -> list[Any]:
    """Return the nodes below a node."""
    return list(form)


def _keys(form: Any) -> list[Any]:
    """Return the key leaves of a list; going through it gives all of its children."""
    return list(form.keys())


def _words(kind: Any) -> Words:
    base = kind.basename()
    if base == "union":
        parts = [_words(one) for one in kind.union_types()]
        return None if not parts or None in parts else frozenset(word for part in parts for word in part or ())
    if base == "enumeration":
        return frozenset(one.name() for one in kind.enums())
    if base == "boolean":
        return frozenset({"true", "false"})
    if base in _SPREAD:
        return frozenset(_ranges(kind.range(), base))
    if base == "string":
        patterns = [pattern for pattern, inverted in kind.all_patterns() if not inverted]
        if len(patterns) == 1 and _WORDS.fullmatch(patterns[0]) and "." not in patterns[0]:
            return frozenset(patterns[0].strip("()").split("|"))
    return None


def _ranges(text: str | None, base: str) -> Iterator[str]:
    bits = _SPREAD[base]
    least, most = (0 if base.startswith("u") else -(2**bits)), 2**bits - 1
    for part in (text or "min..max").split("|"):
        first, _, last = part.strip().partition("..")
        low, high = first.strip(), (last or first).strip()
        yield f"{least if low == 'min' else int(low)}..{most if high == 'max' else int(high)}"


if __name__ == "__main__":
    FILE.write_text(text_of([Path(one) for one in sys.argv[1:]]), encoding="utf-8")
