"""What a worker of pytest-xdist reports of a test: how its call ended, and what went wrong.

Start, set-up, tear-down and end are messages of their own, each with all keywords of the test and all that it prints:
1 ms of CPU for every test. Whoever asks for durations or for a JUnit file gets them all.
"""

import pytest
from _pytest.runner import runtestprotocol


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test of a worker, and report what a summary shows."""
    options = item.config.option
    if not hasattr(item.config, "workerinput") or options.durations or options.xmlpath:
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            if report.passed:
                report.keywords = {}
                report.sections.clear()
            item.ihook.pytest_runtest_logreport(report=report)
    return True
