"""Whatever a switch answers, its decoders give a value or say that this switch cannot be read; nothing else leaves."""

import copy
import json
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from napalm.base.exceptions import CommandErrorException
from reading_driver import driver_of, reading_driver
from switch_answer import ANSWER, CONFIG, FABRIC, LEAF, program_of, read_everything

from napalm_sonic.reading import learned_of, reading_of
from nornir_railweave.device.observing import observe
from nornir_railweave.device.reading import Comparer
from railweave.printable import printable
from railweave.sonic.document import DocumentError, RunningConfig

ODD_TEXT = st.text(st.characters(categories=None, exclude_categories=()), max_size=8)
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ODD_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD_TEXT, inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the way to every value below ``value``."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for name, held in items for found in ((*path, name), *places(held, (*path, name)))]


# Few of the many rows of CONFIG_DB: every part of an answer must be likely to be hit.
PLACES = [place for place in places(ANSWER) if place[:2] != ("config", "tables") or len(place) == 3]
PLACES += [("config", "tables", *place) for place in places(ANSWER["config"]["tables"])][:400:8]


@st.composite
def answers(draw: st.DrawFn) -> Any:
    """Return an answer in which some values are others, or are gone."""
    answer = copy.deepcopy(ANSWER)
    for place in draw(st.lists(st.sampled_from(PLACES), min_size=1, max_size=3)):
        held: Any = answer
        with suppress(KeyError, IndexError, TypeError):
            for name in place[:-1]:
                held = held[name]
            if draw(st.booleans()):
                held[place[-1]] = draw(ODD)
            else:
                del held[place[-1]]
    return answer


@given(answers())
def test_an_answer_with_odd_values_is_read_or_is_this_switchs_fault(answer: Any) -> None:
    read_everything(json.dumps(answer))


@given(st.text() | ODD.map(json.dumps))
def test_any_text_is_read_or_is_this_switchs_fault(text: str) -> None:
    read_everything(text)


@given(answers())
def test_what_a_change_left_is_known_or_this_switchs_fault(answer: Any) -> None:
    known = reading_of("leaf1", ANSWER, None)
    answer = json.loads(json.dumps(answer))
    answer["config"] = {"digest": "d9", "since": "d1", "changed": answer.get("observed")}
    with suppress(CommandErrorException, DocumentError):
        learned_of("leaf1", answer, known)


@given(st.dictionaries(st.sampled_from(["mtu", "lanes", "speed", "alias", "admin_status"]), ODD_TEXT))
def test_a_port_of_any_texts_is_compared_or_this_switchs_fault(fields: dict[str, str]) -> None:
    running = RunningConfig({"PORT": {"Ethernet0": fields}}, CONFIG.frr)
    driver = reading_driver(running)
    with suppress(CommandErrorException, DocumentError):
        Comparer(FABRIC, lambda name: CONFIG)(driver, LEAF.name)


@given(ODD_TEXT)
def test_what_is_shown_of_a_device_holds_no_control_characters(text: str) -> None:
    answer = copy.deepcopy(ANSWER)
    answer["observed"]["lldp"]["Ethernet0"]["lldp_rem_sys_name"] = text
    (neighbor,) = observe(driver_of(program_of(json.dumps(answer)))).lldp["Ethernet0"]
    assert neighbor.system == printable(neighbor.system)
    neighbor.system.encode()
