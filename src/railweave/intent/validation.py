"""Errors of pydantic as diagnostics in railweave's words, each at its exact place.

The kinds of ``railweave.intent.kinds`` refuse in their own sentences; here are the errors of structure: unknown and
missing keys, a mapping for a list and the reverse.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from railweave.diagnostics import Diagnostic, Where, error
from railweave.intent.kinds import REFUSED, shown
from railweave.intent.paths import child, parent, path_text
from railweave.intent.positions import Document
from railweave.intent.schema import IntentKeys
from railweave.secrets import HIDDEN, is_secret, shown_key
from railweave.wording import either, nearest

Part = str | int

_OVERRIDES = "overrides"
# The index of a row's key in the path of an override: overrides.SCOPE.TABLE.KEY.FIELD.
_ROW = 3
_ALIKE = "keep the NICs of one speed here; those of another are for a fabric of their own, listed under `fabrics`"
_NO_TEXT = f"{HIDDEN} is not text, and CONFIG_DB fields are text"


def place_of(places: Mapping[str, Where], path: str, file: str) -> Where:
    """Return the place of ``path`` or of its nearest parent in the file, still naming ``path``."""
    nearest_path = path
    while nearest_path:
        if nearest_path in places:
            where = places[nearest_path]
            return where._replace(path=where.path + path.removeprefix(nearest_path))
        nearest_path = parent(nearest_path)
    return Where(file, 1, 1, path)


def diagnostics_of(invalid: ValidationError, document: Document, file: str) -> list[Diagnostic]:
    """Return one diagnostic for each of pydantic's errors; a mistyped key is not reported as missing as well."""
    details: list[dict[str, Any]] = list(map(dict, invalid.errors(include_url=False)))
    mistyped = {
        (*detail["loc"][:-1], _likely_key(detail["loc"])) for detail in details if detail["type"] == "extra_forbidden"
    }
    diagnostics = []
    for detail in details:
        if detail["type"] == "missing" and detail["loc"] in mistyped:
            continue
        # pydantic also calls a list too short if its only item is wrong.
        if detail["type"] == "too_short" and detail["input"]:
            continue
        diagnostics.append(_diagnostic(detail, document, file))
    return diagnostics


def _likely_key(parts: Sequence[Part]) -> str | None:
    """Return the key that was most probably meant by an unknown one."""
    model = _model_at(parts[:-1])
    if model is None:
        return None
    return nearest(str(parts[-1]), list(_keys_of(model)))


def _diagnostic(detail: dict[str, Any], document: Document, file: str) -> Diagnostic:
    parts: tuple[Part, ...] = detail["loc"]
    full_path = path_text(parts)
    path = _shown_path(parts)
    where = place_of(document.places, full_path, file)
    if path != full_path:
        # A secret is hidden in the place, too.
        where = where._replace(path=path)
    kind = detail["type"]
    if kind == REFUSED:
        context = detail["ctx"]
        # The kind's own message shows the value.
        if _holds_secret(parts):
            return error(context["code"], f"{path}: {_NO_TEXT}", where, fix="write it in quotes")
        return error(context["code"], f"{path}: {context['message']}", where, fix=context["fix"])
    if kind == "extra_forbidden":
        return _unknown_key(parts, place_of(document.keys, path, file))
    if kind == "missing":
        return _missing_key(parts, where)
    if kind == "too_short":
        return error("RW012", f"{path}: the list is empty", where, fix="add an item that begins with `- `")
    value = detail["input"]
    expected, fix = _expected(kind, parts, value)
    shown_value = shown(value)
    if parts[0] == _OVERRIDES and isinstance(value, str | int | float):
        # It may be the secret of a field that is missing around it.
        shown_value = HIDDEN
    return error("RW012", f"{path}: expected a {expected}, got {shown_value}", where, fix=fix)


def _expected(kind: str, parts: Sequence[Part], value: object) -> tuple[str, str]:
    """Return the collection that belongs in the place of a value, and how to write it."""
    if kind == "tuple_type":
        return "list", "begin each item with `- `"
    if parts[-1] == "nics" and isinstance(value, list):
        return "mapping, as the NICs of a node in one fabric are alike", _ALIKE
    return "mapping", "write its keys below it, or in `{ }`"


def _shown_path(parts: Sequence[Part]) -> str:
    """Return the text of a path with secrets hidden: some keys of CONFIG_DB rows are secrets."""
    if len(parts) > _ROW and parts[0] == _OVERRIDES:
        parts = (*parts[:_ROW], shown_key(str(parts[_ROW - 1]), str(parts[_ROW])), *parts[_ROW + 1 :])
    return path_text(parts)


def _holds_secret(parts: Sequence[Part]) -> bool:
    return len(parts) > _ROW + 1 and parts[0] == _OVERRIDES and is_secret(str(parts[_ROW - 1]), str(parts[_ROW + 1]))


def _unknown_key(parts: Sequence[Part], where: Where) -> Diagnostic:
    key = str(parts[-1])
    section = path_text(parts[:-1])
    model = _model_at(parts[:-1])
    guess = _likely_key(parts)
    sections = [other for other in _sections_with(key, IntentKeys, "") if other != section]
    if sections:
        fix = f"`{key}` belongs in {either(map(_section_name, sections))}"
    elif guess:
        fix = f"did you mean `{guess}`?"
    else:
        keys = _keys_of(model) if model else ()
        fix = f"keys here are {', '.join(keys)}"
    return error("RW010", f"unknown key `{key}`{_in_section(section)}", where, fix=fix)


def _missing_key(parts: Sequence[Part], where: Where) -> Diagnostic:
    key = str(parts[-1])
    model = _model_at(parts[:-1])
    field = _keys_of(model).get(key) if model else None
    fix = f"add `{key}`"
    if field and field.description:
        fix += f": {field.description}"
    return error("RW011", f"key `{key}` is missing{_in_section(path_text(parts[:-1]))}", where, fix=fix)


def _in_section(path: str) -> str:
    return f" in `{path}`" if path else ""


def _section_name(path: str) -> str:
    return f"`{path}`" if path else "the top level"


def _keys_of(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a section by the names of their keys in the file."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _model_at(parts: Sequence[Part]) -> type[BaseModel] | None:
    model: type[BaseModel] | None = IntentKeys
    for part in parts:
        if isinstance(part, int):
            # `_model_in` has gone from a list to its items.
            continue
        field = _keys_of(model).get(part) if model else None
        model = _model_in(field.annotation) if field else None
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the mapping of keys within ``list[...]`` or ``... | None``."""
    if isinstance(annotation, type) and get_origin(annotation) is None and issubclass(annotation, BaseModel):
        return annotation
    for inner in get_args(annotation):
        model = _model_in(inner)
        if model is not None:
            return model
    return None


def _sections_with(key: str, model: type[BaseModel], path: str) -> Iterator[str]:
    """Yield the paths of all sections that have a key, list items without their number."""
    keys = _keys_of(model)
    if key in keys:
        yield path
    for name, field in keys.items():
        section = _model_in(field.annotation)
        if section is not None:
            yield from _sections_with(key, section, child(path, name))
