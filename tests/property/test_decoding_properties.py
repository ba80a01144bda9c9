"""Whatever a switch answers, its decoders give a value or say that this switch cannot be read; nothing else leaves."""

import copy
import json
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st
from napalm.base.exceptions import CommandErrorException, CommitError, LockError

from napalm_sonic.calling import Caller
from napalm_sonic.codec import database_rows, first_json
from napalm_sonic.program import SwitchProgram
from napalm_sonic.reading import learned_of, reading_of
from napalm_sonic.session import Completed
from nornir_railweave.device.observing import losses_of, observe, seen_of
from nornir_railweave.device.reading import Comparer
from railweave.api.designing import load_designed
from railweave.printable import printable
from railweave.sonic.document import DocumentError, RunningConfig, json_tables
from railweave.sonic.render.configure import Configurator
from railweave.templates import find_templates

FABRIC = load_designed(Path(__file__).resolve().parents[2] / "intent/lab-4.yml").fabric
LEAF = FABRIC.switches[-1]
CONFIG = Configurator(FABRIC, find_templates()).device(LEAF)
ANSWER: dict[str, Any] = {
    "outcome": "read",
    "status": {"status": "armed", "id": "1", "remaining_s": 3.5, "missing": ["PORT|Ethernet0"], "kind": "commit"},
    "config": {"digest": "d1", "tables": json_tables({row.table: {row.key: row.fields} for row in CONFIG.rows})},
    "frr": {"digest": "d2", "text": CONFIG.frr},
    "observed": {
        "links": [
            {
                "ifname": "Ethernet0",
                "flags": ["UP", "LOWER_UP"],
                "mtu": 9100,
                "addr_info": [{"family": "inet", "local": "10.0.0.1", "prefixlen": 31}],
            }
        ],
        "ports": {"Ethernet0": {"oper_status": "up", "admin_status": "up", "mtu": "9100", "speed": "400000"}},
        "lldp": {"Ethernet0": {"lldp_rem_sys_name": "spine1", "lldp_rem_port_id": "Ethernet8"}},
        "bgp": {
            "default": {
                "vrfId": 0,
                "vrfName": "default",
                "Ethernet0": {
                    "remoteAs": 65000,
                    "bgpState": "Established",
                    "addressFamilyInfo": {"ipv4Unicast": {"acceptedPrefixCounter": 3}},
                },
            }
        },
    },
    "counters": [{"at_s": 1.0, "ports": {"Ethernet0": {"SAI_PORT_STAT_IF_IN_ERRORS": "3"}}}] * 2,
}

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


class Answering:
    """A session to a switch that answers every command with the same text."""

    hostname = "leaf1"

    def __init__(self, text: str) -> None:
        self.text = text

    def run(self, command: str, timeout_s: float | None = None, data: bytes = b"") -> Completed:
        return Completed(command, 0, self.text, "")

    def as_root(self, command: str) -> str:
        return command


def program_of(text: str) -> SwitchProgram:
    options = SimpleNamespace(apply_timeout_s=1, reload_timeout_s=1, lock_wait_s=0)
    caller = Caller(cast("Any", Answering(text)), cast("Any", options))
    return SwitchProgram(caller, cast("Any", SimpleNamespace(note="")))


def read_everything(text: str) -> None:
    """Read an answer in every way in which programs do; raises what a device may raise, and nothing else."""
    compare = Comparer(FABRIC, lambda name: CONFIG)
    for work in (
        lambda: compare(SimpleNamespace(revert_timer=program_of(text)), LEAF.name),
        lambda: observe(SimpleNamespace(revert_timer=program_of(text))),
        lambda: losses_of(seen_of(program_of(text).observe()).counted),
        lambda: program_of(text).status(),
        lambda: program_of(text).recover(),
        lambda: program_of(text).revert(),
        lambda: first_json(text, "a command"),
        lambda: database_rows(text, "a command"),
    ):
        with suppress(CommandErrorException, CommitError, LockError, DocumentError):
            repr(work()).encode()


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
    driver = SimpleNamespace(revert_timer=SimpleNamespace(read=lambda: SimpleNamespace(running=running)))
    with suppress(CommandErrorException, DocumentError):
        Comparer(FABRIC, lambda name: CONFIG)(driver, LEAF.name)


@given(ODD_TEXT)
def test_what_is_shown_of_a_device_holds_no_control_characters(text: str) -> None:
    answer = copy.deepcopy(ANSWER)
    answer["observed"]["lldp"]["Ethernet0"]["lldp_rem_sys_name"] = text
    (neighbor,) = observe(SimpleNamespace(revert_timer=program_of(json.dumps(answer)))).lldp["Ethernet0"]
    assert neighbor.system == printable(neighbor.system)
    neighbor.system.encode()
