"""No text of a table is a formula to the spreadsheet that opens it (OWASP, CSV Injection)."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railweave.bom.bill import Bill, BillLine, PartKind
from railweave.bom.labels import CableLabel, LabelEnd
from railweave.csv_text import csv_text
from railweave.report.bom import bom_csv
from railweave.report.labels import labels_csv

FORMULAS = ["=1+1", "+1+1", "-1+cmd|'/c calc'!A0", "@SUM(A1)", "\t=1", " =1", "\r=1", "\uff1d1", "\ufeff=1", "\u200b+1"]


def cells(data: bytes) -> list[str]:
    return [cell for row in csv.reader(io.StringIO(data.decode(), newline="")) for cell in row]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_part_that_looks_like_a_formula_is_text(text: str) -> None:
    line = BillLine(PartKind.SWITCH, text, text, -2, None, (text,))
    found = cells(bom_csv(Bill("pod", (line,), ())))
    assert text not in found
    assert found.count("'" + text.replace("\r", "\n")) == 3
    assert "-2" in found, "a number is none, also a negative one"


def test_the_device_of_a_label_is_text() -> None:
    end = LabelEnd("+device", ("@port",), ("-alias",), "=rack", 1)
    found = cells(labels_csv([CableLabel("=cable", end, (end,), "=part", 3)]))
    assert not [cell for cell in found if cell[:1] in set("=+-@")]


@given(st.lists(st.lists(st.text(st.sampled_from("=+-@\t\r\n ,;'\"a1."), max_size=6), min_size=1), max_size=4))
def test_every_text_stays_readable_and_none_begins_a_formula(rows: list[list[str]]) -> None:
    read = list(csv.reader(io.StringIO(csv_text(rows), newline="")))
    for before, after in zip([row for row in rows if row != [""]], [row for row in read if row != [""]], strict=True):
        for cell, shown in zip(before, after, strict=True):
            text = cell.replace("\r\n", "\n").replace("\r", "\n")
            assert shown in {text, f"'{text}"}
            assert shown.lstrip()[:1] not in set("=+-@") or shown.lstrip("-").replace(".", "", 1).isdigit()
