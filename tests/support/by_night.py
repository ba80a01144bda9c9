"""Cases of which `make e2e` tries a part, and `make e2e-nightly` the others."""

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(values: Iterable[Any], every: int) -> list[Any]:
    """Return the values as parameters: every so-many-th for `make e2e`, the others marked ``nightly``."""
    return [
        value if number % every == 0 else pytest.param(value, marks=pytest.mark.nightly)
        for number, value in enumerate(values)
    ]
