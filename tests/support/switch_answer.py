"""One answer of ``railweave-switch``, and every way in which programs read such an answer."""

from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from driven_clock import DrivenClock
from napalm.base.exceptions import CommandErrorException, CommitError, LockError
from reading_driver import driver_of

from napalm_sonic.calling import Caller
from napalm_sonic.codec import database_rows, first_json
from napalm_sonic.program import SwitchProgram
from napalm_sonic.quoting import Quotes
from napalm_sonic.session import Completed
from nornir_railweave.device.observing import losses_of, observe, seen_of
from nornir_railweave.device.reading import Comparer
from railweave.api.design.intent import load_designed
from railweave.sonic.document import DocumentError, json_tables
from railweave.sonic.render.configure import Configurator
from railweave.templates import find_templates

FABRIC = load_designed(Path(__file__).resolve().parents[2] / "intent/lab-4.yml").fabric
LEAF = FABRIC.switches[-1]
CONFIG = Configurator(FABRIC, find_templates()).device(LEAF)
ANSWER: dict[str, Any] = {
    "outcome": "read",
    "status": {
        "status": "armed",
        "id": "1",
        "remaining_s": 3.5,
        "missing": ["PORT|Ethernet0"],
        "kind": "commit",
        "broken": {},
    },
    "unapplied": [],
    "unseen": [],
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


class Answering:
    """A session to a switch that answers every command with the same text."""

    hostname = "leaf1"
    clock = DrivenClock()

    def __init__(self, text: str) -> None:
        self.text = text
        self.quotes = Quotes()

    def run(self, command: str, timeout_s: float | None = None, data: bytes = b"") -> Completed:
        return Completed(command, 0, self.text, "")

    def as_root(self, command: str) -> str:
        return command

    def refuse_noise(self) -> None:
        """Its login prints nothing of its own."""


def program_of(text: str) -> SwitchProgram:
    options = SimpleNamespace(apply_timeout_s=1, reload_timeout_s=1, lock_wait_s=0)
    caller = Caller(cast("Any", Answering(text)), cast("Any", options))
    return SwitchProgram(caller, cast("Any", SimpleNamespace(note="")))


def read_everything(text: str) -> None:
    """Read an answer in every way in which programs do; raises what a device may raise, and nothing else."""
    compare = Comparer(FABRIC, lambda name: CONFIG)
    for work in (
        lambda: compare(driver_of(program_of(text)), LEAF.name),
        lambda: observe(driver_of(program_of(text))),
        lambda: losses_of(seen_of(program_of(text).observe()).counted),
        lambda: program_of(text).status(),
        lambda: program_of(text).recover(),
        lambda: program_of(text).revert(),
        lambda: first_json(text, "a command"),
        lambda: database_rows(text, "a command"),
    ):
        with suppress(CommandErrorException, CommitError, LockError, DocumentError):
            repr(work()).encode()
