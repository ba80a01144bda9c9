"""The examples of docs/reference/api.md; those marked ``+LAB`` need Containerlab."""

import doctest
import functools
import io
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "api.md"
LAB = doctest.register_optionflag("LAB")
_OPENING = 5
"""Examples at the top of the page, which all others build on."""


@functools.cache
def page_examples() -> list[doctest.Example]:
    """Return all examples in order."""
    return doctest.DocTestParser().get_examples(PAGE.read_text(encoding="utf-8"), str(PAGE))


def failed_examples(*, lab: bool) -> str:
    """Run the examples that need a lab, or all others; return what went wrong."""
    found = page_examples()
    chosen = [*found[:_OPENING], *(one for one in found[_OPENING:] if (LAB in one.options) is lab)]
    said = io.StringIO()
    doctest.DocTestRunner().run(doctest.DocTest(chosen, {}, PAGE.name, str(PAGE), 0, None), out=said.write)
    return said.getvalue()
