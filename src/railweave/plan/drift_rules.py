"""The file of agreed drift, ``drift-ignore.yml``: read strictly, with every error at its place.

ignore:
  - table: PORT
    key: Ethernet0
    field: description
    device: "pod1-leaf*"
    reason: label of the cable test, ticket 4711
    until: 2026-12-31
"""

from datetime import date
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from railweave.diagnostics import Diagnostic, Where, error
from railweave.errors import RefusedError
from railweave.intent.paths import path_text
from railweave.intent.positions import Document, decode, read_document
from railweave.plan.drift import IgnoreRule

Pattern = Annotated[str, Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Rule(_Strict):
    table: Pattern
    key: Pattern = "*"
    field: Pattern = "*"
    device: Pattern = "*"
    reason: Annotated[str, Field(min_length=3)]
    until: date

    @field_validator("key", "field", mode="before")
    @classmethod
    def _numbers_are_names_here(cls, value: Any) -> Any:
        # Keys and fields of maps are often numbers: DSCP_TO_TC_MAP has a field 24.
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value

    @field_validator("until", mode="before")
    @classmethod
    def _a_day(cls, value: Any) -> Any:
        if not isinstance(value, str):
            raise ValueError("a day, such as 2026-12-31")
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise ValueError(f"{value!r} is no day; write it as 2026-12-31") from None


class _Rules(_Strict):
    ignore: list[_Rule] = []


def load_rules(path: Path) -> tuple[IgnoreRule, ...]:
    """Return the rules in ``path``, none where there is no such file. Raises RefusedError with every error."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ()
    except OSError as exc:
        message = f"{path} cannot be read: {exc.strerror}"
        raise RefusedError([error("RW510", message, fix="name a file of ignore rules")]) from None
    return parse_rules(decode(data, str(path)), str(path))


def parse_rules(text: str, file: str) -> tuple[IgnoreRule, ...]:
    """Return the rules that ``text`` of ``file`` holds. Raises RefusedError with every error."""
    if not any(line.split("#")[0].strip() for line in text.splitlines()):
        return ()
    document = read_document(text, file)
    try:
        parsed = _Rules.model_validate(document.value)
    except ValidationError as exc:
        found = [_diagnostic(document, file, each) for each in exc.errors(include_url=False, include_input=False)]
        raise RefusedError([*document.diagnostics, *found]) from None
    if document.diagnostics:
        raise RefusedError(document.diagnostics)
    return tuple(
        IgnoreRule(
            rule.table, rule.reason, rule.until, rule.key, rule.field, rule.device, _place(document, file, index)
        )
        for index, rule in enumerate(parsed.ignore)
    )


def _place(document: Document, file: str, index: int) -> Where:
    return document.places.get(path_text(("ignore", index)), Where(file, 1, 1))


def _diagnostic(document: Document, file: str, detail: Any) -> Diagnostic:
    parts = tuple(detail["loc"])
    places = document.keys if detail["type"] == "extra_forbidden" else document.places
    paths = (path_text(parts[:end]) for end in range(len(parts), 0, -1))
    where = next((places[path] for path in paths if path in places), Where(file, 1, 1))
    key = parts[-1] if parts else "the file"
    if detail["type"] == "missing":
        message, fix = (
            f"`{key}` is missing in a rule",
            f"add `{key}:`; every rule has a reason and an end",
        )
    elif detail["type"] == "extra_forbidden":
        message, fix = f"unknown key `{key}`", f"known here: {', '.join(_Rule.model_fields)}, in a list `ignore:`"
    else:
        message = f"{key}: {str(detail['msg']).removeprefix('Value error, ')}"
        fix = "see docs/how-to/drift.md"
    return error("RW510", message, where, fix=fix)
