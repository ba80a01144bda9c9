"""What the pages tell a reader to type is typed, in order, and what they show is what appears; so are the journeys."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from shell_session import ROOT, deployed_clone, run_page

pytestmark = pytest.mark.e2e

PAGES = [
    path.relative_to(ROOT)
    for path in (
        ROOT / "README.md",
        *sorted((ROOT / "docs" / "tutorial").glob("*.md")),
        *sorted((ROOT / "docs" / "how-to").glob("*.md")),
        *sorted((ROOT / "tests" / "e2e" / "journeys").glob("*.md")),
    )
]


NIGHTLY = {
    "docs/how-to/check-live-settings.md",
    "docs/how-to/compare.md",
    "docs/how-to/hosts.md",
    "docs/how-to/ipv6.md",
    "docs/how-to/links.md",
    "docs/how-to/rehearse.md",
    "docs/how-to/replace.md",
    "docs/how-to/several-fabrics.md",
    "docs/how-to/sites.md",
    "docs/tutorial/acceptance.md",
    "tests/e2e/journeys/first-fabric.md",
    "tests/e2e/journeys/growth-pull-request.md",
    "tests/e2e/journeys/kill-and-resume.md",
    "tests/e2e/journeys/own-intent.md",
    "tests/e2e/journeys/rejected-change.md",
    "tests/e2e/journeys/replace-a-switch.md",
    "tests/e2e/journeys/wheel.md",
}
"""Pages whose commands take long, and have scenarios or pages of their own beside them."""


def marked(page: Path) -> object:
    """Return a page as a parameter."""
    marks = [pytest.mark.nightly] if str(page) in NIGHTLY else []
    return pytest.param(page, marks=marks, id=str(page))


@pytest.fixture(scope="session")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Return what deploys lab-4.yml once for all pages of a process."""
    return cache(lambda: deployed_clone(tmp_path_factory.mktemp("deployed")))


@pytest.mark.parametrize("page", [marked(page) for page in PAGES])
def test_a_page_does_what_it_shows(page: Path, tmp_path: Path, deployed: Callable[[], Path]) -> None:
    run_page(ROOT / page, tmp_path, deployed)
