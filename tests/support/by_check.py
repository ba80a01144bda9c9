"""Cases of which `make test` tries a part, and `make check` all of them."""

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(values: Iterable[Any], every: int) -> list[Any]:
    """Return the values as parameters: every so-many-th for `make test`, the others marked ``slow``."""
    return [value if number % every == 0 else _slow(value) for number, value in enumerate(values)]


def _slow(value: Any) -> Any:
    # A tuple has the values of several parameters, as everywhere in pytest.
    values = value if isinstance(value, tuple) else (value,)
    return pytest.param(*values, marks=pytest.mark.slow)
