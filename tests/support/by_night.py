"""Cases of which `make e2e` tries a part, and `make e2e-nightly` the others."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def sampled(values: Iterable[Any], every: int) -> list[Any]:
    """Return the values as parameters: every so-many-th for `make e2e`, the others marked ``nightly``."""
    return [
        value if number % every == 0 else pytest.param(value, marks=pytest.mark.nightly)
        for number, value in enumerate(values)
    ]


def nightly_except(values: Iterable[Any], daily: Collection[Any]) -> list[Any]:
    """Return the values as parameters: ``daily`` for `make e2e`, the others marked ``nightly``."""
    parameters = []
    for value in values:
        if value in daily:
            parameters.append(value)
        else:
            # A tuple has the values of several parameters, as everywhere in pytest.
            parts = value if isinstance(value, tuple) else (value,)
            parameters.append(pytest.param(*parts, marks=pytest.mark.nightly))
    return parameters
