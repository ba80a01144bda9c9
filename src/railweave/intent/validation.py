"""What pydantic found wrong, as diagnostics in our own words at the exact place.

The kinds of ``railweave.intent.kinds`` refuse in their own sentences; here are the errors of structure: unknown and
missing keys, mappings and lists in each other's place.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from railweave.diagnostics import Diagnostic, Where, error
from railweave.intent.kinds import REFUSED, shown
from railweave.intent.paths import parent, path_text
from railweave.intent.positions import Document
from railweave.intent.schema import IntentKeys
from railweave.secrets import HIDDEN, is_secret, shown_key
from railweave.wording import either, nearest

Part = str | int

_OVERRIDES = "overrides"
_ROW = 3
"""Where the key of a row stands in the path of an override: ``overrides.SCOPE.TABLE.KEY.FIELD``."""
_ALIKE = "keep the NICs of one speed here; those of another are for a fabric of their own, listed under `fabrics`"
_NO_TEXT = f"{HIDDEN} is not text, and CONFIG_DB fields are text"


def place_of(places: Mapping[str, Where], path: str, file: str) -> Where:
    """Return the place of ``path`` or of its nearest parent in the file, still naming ``path``."""
    at = path
    while at:
        if at in places:
            found = places[at]
            return found._replace(path=found.path + path.removeprefix(at))
        at = parent(at)
    return Where(file, 1, 1, path)


def diagnostics_of(invalid: ValidationError, document: Document, file: str) -> list[Diagnostic]:
    """Return one diagnostic for each of pydantic's errors; a mistyped key is not reported as missing as well."""
    errors: list[dict[str, Any]] = [dict(one) for one in invalid.errors(include_url=False)]
    meant = {(*one["loc"][:-1], _meant(one["loc"])) for one in errors if one["type"] == "extra_forbidden"}
    # A list whose only entry is wrong is as short as an empty one to pydantic.
    echoes = [
        (one["type"] == "missing" and one["loc"] in meant) or (one["type"] == "too_short" and one["input"])
        for one in errors
    ]
    return [_diagnostic(one, document, file) for one, echo in zip(errors, echoes, strict=True) if not echo]


def _meant(parts: Sequence[Part]) -> str | None:
    model = _model_at(parts[:-1])
    return nearest(str(parts[-1]), list(_keys_of(model))) if model else None


def _diagnostic(detail: dict[str, Any], document: Document, file: str) -> Diagnostic:
    parts: tuple[Part, ...] = detail["loc"]
    named, path = path_text(parts), _shown_path(parts)
    found = place_of(document.places, named, file)
    where = found if path == named else found._replace(path=path)
    kind = detail["type"]
    if kind == REFUSED:
        context = detail["ctx"]
        if _holds_secret(parts):
            return error(context["code"], f"{path}: {_NO_TEXT}", where, fix="write it in quotes")
        return error(context["code"], f"{path}: {context['message']}", where, fix=context["fix"])
    if kind == "extra_forbidden":
        return _unknown_key(parts, place_of(document.keys, path, file))
    if kind == "missing":
        return _missing_key(parts, where)
    if kind == "too_short":
        return error("RW012", f"{path}: the list is empty", where, fix="add an item that begins with `- `")
    expected = "list" if kind == "tuple_type" else "mapping"
    example = "begin each item with `- `" if expected == "list" else "write its keys below it, or in `{ }`"
    given = detail["input"]
    if parts[-1] == "nics" and isinstance(given, list):
        expected, example = "mapping, as the NICs of a node in one fabric are alike", _ALIKE
    # Whatever stands there instead of rows and fields may be what one of them should hold.
    found_there = HIDDEN if parts[0] == _OVERRIDES and isinstance(given, str | int | float) else shown(given)
    return error("RW012", f"{path}: expected a {expected}, got {found_there}", where, fix=example)


def _shown_path(parts: Sequence[Part]) -> str:
    """Return a path as it may be shown: some keys of CONFIG_DB rows are secrets."""
    if len(parts) > _ROW and parts[0] == _OVERRIDES:
        parts = (*parts[:_ROW], shown_key(str(parts[_ROW - 1]), str(parts[_ROW])), *parts[_ROW + 1 :])
    return path_text(parts)


def _holds_secret(parts: Sequence[Part]) -> bool:
    return len(parts) > _ROW + 1 and parts[0] == _OVERRIDES and is_secret(str(parts[_ROW - 1]), str(parts[_ROW + 1]))


def _unknown_key(parts: Sequence[Part], where: Where) -> Diagnostic:
    key, above = str(parts[-1]), path_text(parts[:-1])
    model = _model_at(parts[:-1])
    known = list(_keys_of(model)) if model else []
    guess = _meant(parts)
    homes = [home for home in _homes(IntentKeys, "", key) if home != above]
    message = f"unknown key `{key}`" + (f" in `{above}`" if above else "")
    if homes:
        fix = f"`{key}` belongs in {either([f'`{home}`' if home else 'the top level' for home in homes])}"
    elif guess:
        fix = f"did you mean `{guess}`?"
    else:
        fix = f"keys here are {', '.join(known)}"
    return error("RW010", message, where, fix=fix)


def _missing_key(parts: Sequence[Part], where: Where) -> Diagnostic:
    key, above = str(parts[-1]), path_text(parts[:-1])
    model = _model_at(parts[:-1])
    field = _keys_of(model).get(key) if model else None
    meaning = f": {field.description}" if field and field.description else ""
    message = f"key `{key}` is missing" + (f" in `{above}`" if above else "")
    return error("RW011", message, where, fix=f"add `{key}`{meaning}")


def _keys_of(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _model_at(parts: Sequence[Part]) -> type[BaseModel] | None:
    model: type[BaseModel] | None = IntentKeys
    for part in parts:
        if isinstance(part, int):
            continue
        field = _keys_of(model).get(part) if model else None
        model = _model_in(field.annotation) if field else None
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the mapping of keys within ``list[...]`` or ``... | None``."""
    if isinstance(annotation, type) and get_origin(annotation) is None and issubclass(annotation, BaseModel):
        return annotation
    for inner in get_args(annotation):
        found = _model_in(inner)
        if found is not None:
            return found
    return None


def _homes(model: type[BaseModel], path: str, key: str) -> Iterator[str]:
    """Yield the paths at which ``key`` is known, list items without their number."""
    if key in _keys_of(model):
        yield path
    for name, field in _keys_of(model).items():
        inner = _model_in(field.annotation)
        if inner is not None:
            yield from _homes(inner, f"{path}.{name}" if path else name, key)
