"""Labels of cables: a page of label sheets to print, and CSV for label printers."""

from collections.abc import Iterable, Iterator
from html import escape
from itertools import groupby
from pathlib import Path

from railweave.bom.labels import CableLabel, LabelEnd
from railweave.csv_text import csv_text
from railweave.errors import RailweaveError, UsageError
from railweave.files import cannot_write, write_private
from railweave.wording import counted

_READABLE = 0o644
_COLUMNS = (
    "cable",
    "rack",
    "unit",
    "device",
    "ports",
    "front_panel",
    "far_rack",
    "far_unit",
    "far_device",
    "far_ports",
    "far_front_panel",
    "part",
    "length_m",
)

# In millimeters, as label sheets are; #767676 is the lightest gray with a contrast of 4.5:1 on white (WCAG 2.2).
_STYLE = """
:root { --width: 60mm; --height: 21mm; --gap: 2mm; }
@page { size: A4; margin: 10mm; }
* { box-sizing: border-box; }
body { font: 7.5pt/1.3 "Liberation Sans", Arial, sans-serif; margin: 10mm; color: #000; background: #fff; }
h1 { font-size: 12pt; } h2 { font-size: 10pt; margin: 4mm 0 2mm; break-after: avoid; }
section { break-after: page; } section:last-of-type { break-after: auto; }
ol { display: grid; grid-template-columns: repeat(auto-fill, var(--width)); gap: var(--gap); margin: 0; padding: 0; }
li { list-style: none; width: var(--width); min-height: var(--height); padding: 1.2mm 1.6mm;
  border: 0.2mm dashed #767676; border-radius: 1mm; break-inside: avoid; }
b { font-size: 8.5pt; } small { font-size: 6.5pt; } span, b, small { display: block; overflow-wrap: anywhere; }
@media print { body { margin: 0; } header { display: none; } }
"""


def write_labels(labels: Iterable[CableLabel], fabric: str, path: Path) -> None:
    """Write labels into ``path``, a page for ``.html``, a table for ``.csv``.

    Raises UsageError for another ending and RailweaveError if the file cannot be written.
    """
    if path.suffix not in {".html", ".csv"}:
        raise UsageError(f"labels are written as .html or .csv, not as `{path.name}`: name a file like labels.html")
    if path.suffix == ".csv":
        data = labels_csv(labels)
    else:
        data = labels_html(labels, fabric)
    try:
        write_private(path, data, _READABLE)
    except OSError as exc:
        raise RailweaveError(cannot_write(path, exc)) from exc


def labels_csv(labels: Iterable[CableLabel]) -> bytes:
    """Return the labels as CSV: a header, then one line for each plug; several far ends are separated by ``+``."""
    rows: list[tuple[object, ...]] = [_COLUMNS]
    for label in labels:
        # Column by column: what all far ends share, such as their rack, is written once.
        columns = zip(*(_cells(end) for end in label.far), strict=True)
        far = ["+".join(dict.fromkeys(cells)) for cells in columns]
        rows.append((label.cable, *_cells(label.near), *far, label.part, label.length_m))
    return csv_text(rows).encode()


def _cells(end: LabelEnd) -> tuple[str, ...]:
    unit = ""
    if end.unit is not None:
        unit = str(end.unit)
    return end.rack, unit, end.device, " ".join(end.ports), " ".join(end.aliases)


def labels_html(labels: Iterable[CableLabel], fabric: str) -> bytes:
    """Return a self-contained page, with the labels of each rack on sheets of their own.

    The size of a label is set by ``--width`` and ``--height`` at the top of the page.
    """
    labels = list(labels)
    title = f"Fabric {escape(fabric)}: {counted(len(labels), 'cable label')}"
    head = (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n"
        "<p>One for every plug: its own end in bold, then the far end. Print at 100 %; "
        "label size: --width and --height at the top of this file.</p>\n</header>\n"
    )
    return (head + "".join(_sections(labels)) + "</body>\n</html>\n").encode()


def _sections(labels: Iterable[CableLabel]) -> Iterator[str]:
    """Yield a section of the page for each rack, or one without a heading if there are no racks."""
    # Labels come in the order of a walk along the racks, so those of a rack are together.
    for rack, rack_labels in groupby(labels, key=lambda label: label.near.rack):
        heading = ""
        if rack:
            heading = f"<h2>Rack {escape(rack)}</h2>\n"
        yield f"<section>\n{heading}<ol>\n{''.join(map(_item, rack_labels))}</ol>\n</section>\n"


def _item(label: CableLabel) -> str:
    far = "<br>".join(f"→ {_end_text(end)}" for end in label.far)
    part = escape(f"{label.part}, {label.length_m} m")
    cable = escape(label.cable)
    return f"<li><b>{_end_text(label.near)}</b><span>{far}</span><small>{part}</small><small>{cable}</small></li>\n"


def _end_text(end: LabelEnd) -> str:
    """Return an end as text for HTML: rack and unit, device, ports, and their labels on the front panel."""
    text = f"{end.device} {' '.join(end.ports)}"
    if end.rack:
        text = f"{end.rack} U{end.unit} {text}"
    if end.aliases:
        text += f" ({' '.join(end.aliases)})"
    return escape(text)
