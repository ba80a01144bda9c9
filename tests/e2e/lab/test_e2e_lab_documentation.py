"""The pages that need a lab do what they show. Each starts and stops a lab of its own."""

from pathlib import Path

import pytest
from by_night import nightly_except
from shell_session import ROOT, run_page

pytestmark = pytest.mark.e2e


PAGES = ["docs/how-to/lab.md", "docs/how-to/rights.md", "docs/tutorial/lab.md", "tests/e2e/journeys/lab.md"]


@pytest.mark.parametrize("page", nightly_except(PAGES, daily=PAGES[1:3]))
def test_a_page_does_what_it_shows(page: str, tmp_path: Path) -> None:
    run_page(ROOT / page, tmp_path, Path, lab=True)
