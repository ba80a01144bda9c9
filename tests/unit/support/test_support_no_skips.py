"""A test that is skipped on a person's machine fails in CI."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[2]
SKIPPED = """
import pytest

def test_nothing_here():
    pytest.skip("no Docker here")

@pytest.mark.skipif(True, reason="no root")
def test_not_allowed():
    pass

@pytest.mark.xfail(reason="known")
def test_known():
    raise AssertionError
"""


@pytest.mark.slow
@pytest.mark.parametrize(("ci", "counts"), [("", "2 skipped, 1 xfailed"), ("true", "1 failed, 1 xfailed, 1 error")])
def test_a_skip_is_a_failure_in_ci(tmp_path: Path, ci: str, counts: str) -> None:
    (tmp_path / "test_skipped.py").write_text(SKIPPED, encoding="utf-8")
    environ = {**os.environ, "CI": ci, "PYTHONPATH": f"{TESTS}:{TESTS / 'support'}"}
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "-p", "conftest", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-q", str(tmp_path)], env=environ, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1].startswith(counts), done.stdout
    assert ("CI skips no test: Skipped: no Docker here" in done.stdout) == bool(ci)
    assert ("CI skips no test: Skipped: no root" in done.stdout) == bool(ci)
