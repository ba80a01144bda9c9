"""A run in workers of pytest-xdist shows what a run in one process shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[2]
ENDS = """
import pytest

@pytest.fixture
def broken_before():
    raise OSError("no set-up")

@pytest.fixture
def broken_after():
    yield
    raise OSError("no tear-down")

def test_passes(): pass
def test_fails(): raise AssertionError("wrong result")
def test_is_skipped(): pytest.skip("no Docker here")
def test_has_no_setup(broken_before): pass
def test_has_no_teardown(broken_after): pass
@pytest.mark.xfail(reason="known")
def test_known(): raise AssertionError
"""


@pytest.mark.slow
@pytest.mark.parametrize("durations", [(), ("--durations=1",)])
def test_a_worker_reports_every_end_of_a_test(tmp_path: Path, durations: tuple[str, ...]) -> None:
    (tmp_path / "test_ends.py").write_text(ENDS, encoding="utf-8")
    environ = {**os.environ, "CI": "", "PYTEST_ADDOPTS": "", "PYTHONPATH": f"{TESTS}:{TESTS / 'support'}"}
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "-p", "conftest", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-q", "-n1", *durations, str(tmp_path)],
        env=environ,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    counts = re.sub(r" in .*", "", done.stdout.splitlines()[-1])
    assert counts == "1 failed, 2 passed, 1 skipped, 1 xfailed, 2 errors", done.stdout
    for shown in ("AssertionError: wrong result", "OSError: no set-up", "OSError: no tear-down"):
        assert shown in done.stdout
    assert ("slowest" in done.stdout) == bool(durations)
