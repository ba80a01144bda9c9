"""The secrets that a project refers to, by name, each with the place that names it first."""

from collections.abc import Iterator
from pathlib import Path

from railweave.diagnostics import Where
from railweave.intent.model import Intent
from railweave.intent.paths import path_text
from railweave.secrets import references

_TEMPLATES = Path("templates")


def secret_places(intent: Intent) -> dict[str, Where]:
    """Return the secrets of the intent's overrides, and of the templates of the project in the working directory."""
    places: dict[str, Where] = {}
    for name, where in (*_of_overrides(intent), *_of_templates()):
        places.setdefault(name, where)
    return places


def _of_overrides(intent: Intent) -> Iterator[tuple[str, Where]]:
    for scope, tables in intent.policies.overrides.rows.items():
        for table, rows in tables.items():
            for key, fields in rows.items():
                for field, value in (("", key), *fields.items()):
                    for name in references(value) if isinstance(value, str) else ():
                        parts = ("overrides", scope, table, key, *([field] if field else []))
                        yield name, intent.where(path_text(parts))


def _of_templates() -> Iterator[tuple[str, Where]]:
    for path in sorted(path for path in _TEMPLATES.rglob("*") if path.is_file() and not path.is_symlink()):
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
            for name in references(line):
                yield name, Where(str(path), number, 1 + line.index("{secret:"))
