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
# The indices of the parts in the path of an override: overrides.SCOPE.TABLE.KEY.FIELD.
_TABLE = 2
_KEY = 3
_FIELD = 4
_ALIKE = "keep the NICs of one speed here; those of another are for a fabric of their own, listed under `fabrics`"
_NO_TEXT = f"{HIDDEN} is not text, and CONFIG_DB fields are text"


def place_of(places: Mapping[str, Where], path: str, file: str) -> Where:
    """Return the place of ``path``, or of its nearest parent in the file; the place names ``path`` in any case."""
    nearest_path = path
    while nearest_path:
        if nearest_path in places:
            where = places[nearest_path]
            return where._replace(path=where.path + path.removeprefix(nearest_path))
        nearest_path = parent(nearest_path)
    return Where(file, 1, 1, path)


def diagnostics_of(invalid: ValidationError, document: Document, file: str) -> list[Diagnostic]:
    """Return one diagnostic for each of pydantic's errors.

    A key that was probably mistyped is reported as unknown, and not as missing as well.
    """
    details: list[dict[str, Any]] = list(map(dict, invalid.errors(include_url=False)))
    # The paths of the keys that were probably meant by unknown ones.
    mistyped_paths = set()
    for detail in details:
        if detail["type"] == "extra_forbidden":
            *section, _ = detail["loc"]
            mistyped_paths.add((*section, _likely_key(detail["loc"])))
    diagnostics = []
    for detail in details:
        if detail["type"] == "missing" and detail["loc"] in mistyped_paths:
            continue
        # pydantic also calls a list too short if its only item is wrong.
        if detail["type"] == "too_short" and detail["input"]:
            continue
        diagnostics.append(_diagnostic(detail, document, file))
    return diagnostics


def _likely_key(parts: Sequence[Part]) -> str | None:
    """Return the key that was most probably meant by the unknown one at the path ``parts``; None if none is like it."""
    model = _model_at(parts[:-1])
    if model is None:
        return None
    return nearest(str(parts[-1]), list(_keys_of(model)))


def _diagnostic(detail: dict[str, Any], document: Document, file: str) -> Diagnostic:
    """Return the diagnostic for an error of pydantic, as ``ValidationError.errors`` has it, with secrets hidden."""
    parts: tuple[Part, ...] = detail["loc"]
    full_path = path_text(parts)
    path = _shown_path(parts)
    where = place_of(document.places, full_path, file)
    if path != full_path:
        # A secret is hidden in the place, too.
        where = where._replace(path=path)
    error_type = detail["type"]
    if error_type == REFUSED:
        context = detail["ctx"]
        # The kind's own message would show the value.
        if _holds_secret(parts):
            return error(context["code"], f"{path}: {_NO_TEXT}", where, fix="write it in quotes")
        return error(context["code"], f"{path}: {context['message']}", where, fix=context["fix"])
    if error_type == "extra_forbidden":
        return _unknown_key(parts, place_of(document.keys, path, file))
    if error_type == "missing":
        return _missing_key(parts, where)
    if error_type == "too_short":
        return error("RW012", f"{path}: the list is empty", where, fix="add an item that begins with `- `")
    value = detail["input"]
    expected, fix = _expected(error_type, parts, value)
    shown_value = shown(value)
    if parts[0] == _OVERRIDES and isinstance(value, str | int | float):
        # Where a mapping is expected, the value may be a secret whose key was left out.
        shown_value = HIDDEN
    return error("RW012", f"{path}: expected a {expected}, got {shown_value}", where, fix=fix)


def _expected(error_type: str, parts: Sequence[Part], value: object) -> tuple[str, str]:
    """Return the collection that belongs in the place of ``value``, and the fix that says how to write it."""
    if error_type == "tuple_type":
        return "list", "begin each item with `- `"
    if parts[-1] == "nics" and isinstance(value, list):
        return "mapping, as the NICs of a node in one fabric are alike", _ALIKE
    return "mapping", "write its keys below it, or in `{ }`"


def _shown_path(parts: Sequence[Part]) -> str:
    """Return the text of a path with secrets hidden, since some keys of CONFIG_DB rows are secrets."""
    if len(parts) <= _KEY or parts[0] != _OVERRIDES:
        return path_text(parts)
    table = str(parts[_TABLE])
    key = str(parts[_KEY])
    return path_text((*parts[:_KEY], shown_key(table, key), *parts[_FIELD:]))


def _holds_secret(parts: Sequence[Part]) -> bool:
    """Tell whether the value at a path is a field of an override that is a secret, by its table and its name."""
    if len(parts) <= _FIELD or parts[0] != _OVERRIDES:
        return False
    return is_secret(str(parts[_TABLE]), str(parts[_FIELD]))


def _unknown_key(parts: Sequence[Part], where: Where) -> Diagnostic:
    """Return the error for an unknown key; the fix names the sections that have it, or the keys of its own section."""
    key = str(parts[-1])
    section = path_text(parts[:-1])
    model = _model_at(parts[:-1])
    guess = _likely_key(parts)
    other_sections = [path for path in _sections_with(key, IntentKeys, "") if path != section]
    if other_sections:
        fix = f"`{key}` belongs in {either(map(_section_name, other_sections))}"
    elif guess:
        fix = f"did you mean `{guess}`?"
    else:
        keys = _keys_of(model) if model else ()
        fix = f"keys here are {', '.join(keys)}"
    return error("RW010", f"unknown key `{key}`{_in_section(section)}", where, fix=fix)


def _missing_key(parts: Sequence[Part], where: Where) -> Diagnostic:
    """Return the error for a missing key; the fix has its description."""
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
    """Return the section of keys at the path ``parts``; None if there is no section."""
    model: type[BaseModel] = IntentKeys
    for part in parts:
        # The model of a list is that of its items already.
        if isinstance(part, int):
            continue
        field = _keys_of(model).get(part)
        if field is None:
            return None
        section = _model_in(field.annotation)
        if section is None:
            return None
        model = section
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the section of keys that a type is or has in it, as in ``list[...]`` or ``... | None``; else None."""
    if isinstance(annotation, type) and get_origin(annotation) is None and issubclass(annotation, BaseModel):
        return annotation
    for inner in get_args(annotation):
        model = _model_in(inner)
        if model is not None:
            return model
    return None


def _sections_with(key: str, model: type[BaseModel], path: str) -> Iterator[str]:
    """Yield the paths of all sections in ``model`` that have the key ``key``; ``path`` is that of ``model`` itself.

    The paths of list items are without their numbers.
    """
    keys = _keys_of(model)
    if key in keys:
        yield path
    for name, field in keys.items():
        section = _model_in(field.annotation)
        if section is not None:
            yield from _sections_with(key, section, child(path, name))
