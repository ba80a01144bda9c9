"""What programs and editors look up: JSON Schemas, and the codes of diagnostics."""

from collections.abc import Mapping
from typing import Any

from railweave.checks.codes import CATALOG, TITLES
from railweave.intent.schema import json_schema
from railweave.report import documents


def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of ``intent``, or of what a command prints with ``--json``, such as ``rollout list``.

    Raises UsageError that names the nearest command for an unknown one.
    """
    return json_schema() if name == "intent" else documents.named_schema(name)


def schemas() -> Mapping[str, str]:
    """Return what each schema describes, by its name."""
    return documents.titles()


def codes() -> Mapping[str, str]:
    """Return the rule of every code of a diagnostic."""
    return {**CATALOG, **TITLES}
