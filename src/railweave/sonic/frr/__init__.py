"""FRR's configuration: parsed, compared, changed and written. One door to the modules that do it.

``lines`` knows single lines, ``document`` what FRR adds, omits and rewrites, ``delta`` the safe order of a
change and ``apply`` what vtysh makes of it.
"""

from railweave.sonic.frr.apply import apply_delta
from railweave.sonic.frr.delta import delta_text, frr_delta, frr_difference
from railweave.sonic.frr.document import FrrDocument, parse_frr, with_lines
from railweave.sonic.frr.lines import FrrEntry
from railweave.sonic.frr.writing import render_frr

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
