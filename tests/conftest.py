"""What holds for every test."""

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from no_skips import pytest_runtest_makereport
from short_reports import pytest_runtest_protocol

import nornir_railweave  # noqa: F401  so that `import napalm` leaves out the drivers of other vendors
from railweave.masking import forget_resolved

__all__ = ["pytest_runtest_makereport", "pytest_runtest_protocol"]

# How many examples a property is tried on: few in `make test`, more in `make check`, many in `make properties`. The
# health checks left out measure the load of the machine, and how many intents the design refuses.
LEFT_OUT = [HealthCheck.too_slow, HealthCheck.filter_too_much]
for profile, examples in {"quick": 4, "usual": 24, "thorough": 250}.items():
    settings.register_profile(profile, max_examples=examples, deadline=None, suppress_health_check=LEFT_OUT)
settings.load_profile("quick")

# Hypothesis draws one value in twenty from the constants of the project's modules, and parses all that are imported for
# it: seconds before the first test, and other values wherever another module happens to be imported.
NO_CONSTANTS = Constants()
providers._get_local_constants = lambda: NO_CONSTANTS

# A run in the background inherits that Ctrl-C is ignored; what the tests start must not.
signal.signal(signal.SIGINT, signal.default_int_handler)

# What commands print has the width of a pipe, whatever terminal starts the tests.
os.environ.pop("COLUMNS", None)

# Tests start hundreds of processes of the project: each would compile all that it imports.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# What is imported stays. It is put aside when all is imported (`pytest_collection_finish`).
gc.disable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import nothing of the folder of a marker that the run leaves out."""
    left_out = f"not {collection_path.name}" in config.getoption("markexpr")
    return True if left_out and collection_path.parent == Path(__file__).parent else None


def pytest_collection_finish() -> None:
    """Let garbage be searched among what tests make, not again and again among all that was imported."""
    gc.freeze()
    gc.set_threshold(400_000, 50, 100)
    gc.enable()


def pytest_sessionfinish() -> None:
    """Search for garbage a last time: the end of the process would search all that is left twice more."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def no_secret_of_another_test() -> Iterator[None]:
    """Forget the secrets that a test resolved: a process masks them for as long as it lives."""
    yield
    forget_resolved()


@pytest.fixture(scope="session", autouse=True)
def no_wait_for_the_disk() -> Iterator[None]:
    """Spare tests the wait for the disk: none of them loses power. Those about durability watch the calls."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda handle: None)
        yield
