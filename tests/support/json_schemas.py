"""JSON Schema without the checks of formats: the grammar of one that no schema here names takes a second to compile."""

import sys

sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]  # an import of it fails, as where it is not installed

from jsonschema import Draft202012Validator as Draft202012Validator  # noqa: E402, PLC0414
from jsonschema.validators import validator_for as validator_for  # noqa: E402, PLC0414

del sys.modules["rfc3987_syntax"]
