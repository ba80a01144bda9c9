"""What judges an intent by its JSON Schema, compiled once a process."""

from functools import cache

from json_schemas import Draft202012Validator

from railweave.intent.schema import json_schema


@cache
def validator() -> Draft202012Validator:
    """Return the validator of intents."""
    return Draft202012Validator(json_schema())
