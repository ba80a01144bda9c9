"""Every wrong word in a row of a fabric's switch is named, whatever is wrong already, and nothing else is."""

import copy
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.intent.load import load_intent
from railweave.sonic.document import json_tables
from railweave.sonic.render.configure import Configurator
from railweave.templates import find_templates
from railweave.yang.check import whole_document
from railweave_switch.models_check import newly_rejected, rejected
from sonic_sim.yang.kinds import Kind
from sonic_sim.yang.model import models
from sonic_sim.yang.reload_rule import ReloadRule

ROOT = Path(__file__).resolve().parents[2]
WRONG = ("on", "yes", "-1", "99999999999", "reedsolomon", "0x", "drop ", "Ethernet0;reboot")
Place = tuple[str, str, str]


@cache
def document() -> dict[str, Any]:
    """Return what a leaf of the lab runs."""
    fabric = design(load_intent(ROOT / "intent" / "lab-4.yml"), load_catalog()).fabric
    assert fabric is not None
    switch = fabric.switch_of["lab-leaf1"]
    rendered = Configurator(fabric, find_templates(ROOT)).device(switch).config_db()
    return dict(json_tables(whole_document(rendered, switch.panel.platform)))


@cache
def mutations() -> dict[tuple[str, str], list[tuple[Place, str]]]:
    """Return, for each table and field of the document, wrong words and where they may be put."""
    found: dict[tuple[str, str], list[tuple[Place, str]]] = {}
    for table, rows in document().items():
        for key, row in rows.items():
            form = models()[table].form_of(key)
            for field, value in row.items():
                kind = _kind(form, field)
                if kind is None or kind.references or not isinstance(value, str):
                    continue
                wrong = [word for word in WRONG if kind.fault(word) != ("", "")]
                found.setdefault((table, field), []).extend(((table, key, field), word) for word in wrong)
    return {place: words for place, words in found.items() if words}


def _kind(form: Any, field: str) -> Kind | None:
    if form.inner:
        kind: Kind = form.columns()[1].kind
        return kind
    return form.leaves[field].kind if field in form.leaves else None


def put(tables: dict[str, Any], place: Place, word: str) -> None:
    table, key, field = place
    tables[table][key][field] = word


def fits(found: tuple[str, ...], place: Place) -> bool:
    """Tell whether a fault is that of ``place``: of a number that is none SONiC names the row alone."""
    return found[:2] == place[:2] and found[2] in ("", place[2])


def in_row(found: tuple[str, ...], place: Place) -> bool:
    """Tell whether a fault is in the row of ``place``: a wrong threshold breaks the rule of its pair too."""
    return found[:2] == place[:2]


@given(st.data())
def test_a_wrong_word_is_named_and_what_was_wrong_before_is_not(data: st.DataObject) -> None:
    fields = sorted(mutations())
    place, word = data.draw(st.sampled_from(mutations()[data.draw(st.sampled_from(fields))]))
    before = copy.deepcopy(document())
    for other in data.draw(st.lists(st.sampled_from(fields), max_size=3)):
        old_place, old_word = mutations()[other][0]
        if old_place[:2] != place[:2]:
            put(before, old_place, old_word)
    after = copy.deepcopy(before)
    put(after, place, word)
    found = newly_rejected(after, before, ReloadRule())
    assert any(fits(fault, place) for fault in found), (place, word, found)
    assert all(in_row(fault, place) for fault in found), (place, word, found)
    assert newly_rejected(before, before, ReloadRule()) == []


def test_what_railweave_renders_is_accepted_and_most_owned_fields_have_a_wrong_word() -> None:
    assert rejected(document(), ReloadRule()) == []
    assert len(mutations()) > 25
