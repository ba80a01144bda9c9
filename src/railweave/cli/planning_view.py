"""A plan, shown in the form that was asked for."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from railweave.diagnostics import Diagnostic

if TYPE_CHECKING:
    from railweave.plan.model import Plan


def show_plan(plan: "Plan", *, as_json: bool, as_markdown: bool, problems: Sequence[Diagnostic] = ()) -> None:
    """Print ``plan`` as JSON, as markdown for a pull request, or for a person; then what keeps it from being done."""
    from railweave.cli.show import print_diagnostics, print_document, print_view
    from railweave.plan.document import plan_json
    from railweave.report.plan import plan_markdown, plan_view

    if as_json:
        print_document(plan_json(plan))
    elif as_markdown:
        print(plan_markdown(plan))
    else:
        print_view(plan_view(plan))
    print_diagnostics(problems)
