"""The page that shows the plan of a real change on 1,024 switches is what the program writes; several seconds long.

``RAILWEAVE_UPDATE_GOLDEN=1`` writes it anew.
"""

import os
import re
from pathlib import Path

import pytest

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.plan.offline import plan_offline
from railweave.report.layout import LIMIT_CHARS
from railweave.report.plan import plan_markdown
from railweave.templates import find_templates

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "plan-of-1000-switches.md"
MARK = "<!-- from here on as produced -->\n\n"


def designed(text: str) -> Fabric:
    outcome = design(load_intent_text(text, "intent/pod1.yml"), load_catalog())
    assert outcome.fabric is not None, outcome.diagnostics
    return outcome.fabric


@pytest.mark.e2e
def test_the_page_is_what_the_program_writes() -> None:
    above, _, shown = PAGE.read_text(encoding="utf-8").partition(MARK)
    found = re.search("```yaml\n(.*?)```", above, re.DOTALL)
    assert found
    head = found[1]
    base = head.replace("count: 480", "count: 464").replace("count: 240", "count: 232")
    assert "`count: 464` nodes and 232 leaves" in above
    grown = designed(head)
    assert len(grown.switches) == 1024
    text = plan_markdown(plan_offline(designed(base), grown, find_templates()))
    assert len(text) < LIMIT_CHARS
    if os.environ.get("RAILWEAVE_UPDATE_GOLDEN"):
        PAGE.write_text(above + MARK + text, encoding="utf-8")
    else:
        assert text == shown
