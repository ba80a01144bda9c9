"""FRR's configuration: parsed, compared, changed and written. One door to the modules that do it.

``frr_lines`` knows single lines, ``frr_document`` what FRR adds, omits and rewrites, ``frr_delta`` the safe order of a
change and ``frr_apply`` what vtysh makes of it.
"""

from railweave.sonic.frr_apply import apply_delta
from railweave.sonic.frr_delta import delta_text, frr_delta, frr_difference
from railweave.sonic.frr_document import FrrDocument, parse_frr, render_frr, with_lines
from railweave.sonic.frr_lines import FrrEntry

__all__ = [
    "FrrDocument",
    "FrrEntry",
    "apply_delta",
    "delta_text",
    "frr_delta",
    "frr_difference",
    "parse_frr",
    "render_frr",
    "with_lines",
]
