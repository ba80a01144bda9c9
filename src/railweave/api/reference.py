"""What programs and editors look up: JSON Schemas, and the codes of diagnostics."""

from collections.abc import Mapping
from typing import Any

from railweave.catalog.load import use_own_models
from railweave.checks.registry import Rule, all_rules
from railweave.errors import UsageError
from railweave.intent.schema import json_schema
from railweave.report import documents


def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of ``intent``, or of what a command prints with ``--json``, such as ``rollout list``.

    Raises UsageError that names the nearest command for an unknown one.
    """
    use_own_models()
    return json_schema() if name == "intent" else documents.named_schema(name)


def schemas() -> Mapping[str, str]:
    """Return what each schema describes, by its name."""
    return documents.titles()


def codes() -> Mapping[str, str]:
    """Return the rule of every code of a diagnostic."""
    return {code: one.title for code, one in all_rules().items()}


def explain_rule(code: str) -> Rule:
    """Return the rule of a code: what holds, why, and an example of what breaks it; raises UsageError for no code."""
    if code not in all_rules():
        raise UsageError(f"no rule has the code {code!r}; `railweave codes` lists them")
    return all_rules()[code]
