"""What a validation by YANG came to, in one line."""

from collections.abc import Iterable, Sequence

from rich.text import Text

from railweave.diagnostics import Diagnostic, has_errors
from railweave.wording import counted


def yang_summary(diagnostics: Iterable[Diagnostic], switches: int, releases: Sequence[str]) -> Text:
    """Return how many switches were valid by the models of ``releases``; with ``switches`` 0, that none was asked."""
    models = f"the YANG models of {', '.join(releases)}"
    if not switches:
        return Text.assemble(("! ", "yellow"), f"no switch was validated by {models}: the intent has no fabric yet")
    if has_errors(diagnostics):
        return Text.assemble(("✗ ", "red"), f"validated by {models}; see the errors above")
    return Text.assemble(("✓ ", "green"), f"CONFIG_DB of {counted(switches, 'switch')}: valid by {models}")
