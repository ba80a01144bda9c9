"""In CI (the environment's ``CI``) no test is skipped: what it needs is to be on that machine.

A person's machine may lack Docker, root or SONiC's models. NAPALM's own suite skips what a driver does not have, which
is no lack of the machine.
"""

import os
from collections.abc import Generator

import pytest

NAPALM_SUITE = "napalm/base/test/getters.py"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Make a failure of a skip."""
    report = yield
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail"):
        assert isinstance(report.longrepr, tuple)
        path, _, reason = report.longrepr
        if not path.replace(os.sep, "/").endswith(NAPALM_SUITE):
            report.outcome = "failed"
            report.longrepr = f"CI skips no test: {reason}"
    return report
