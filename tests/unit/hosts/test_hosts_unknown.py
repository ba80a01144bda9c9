"""What a node does not show is unknown: no node is unchanged because a part of what it is read from is not there."""

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from absent_parts import ABSENT, ODD, Place, changed, places
from node_stand_in import StandInNode, load

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.hosts.outcome import HostState
from railweave.hosts.render import HostRenderer
from railweave.intent.load import load_intent_text
from railweave.templates import find_templates
from railweave_hosts import runner
from railweave_hosts.bundle import bundle

PROGRAMS = Path(__file__).resolve().parents[3] / "templates" / "hosts"
NODE = load(PROGRAMS / "railweave_host.py", "railweave_host")
CHANGE = load(PROGRAMS / "railweave_change.py", "railweave_change")
NICS = {"nvidia": "connectx-7", "broadcom": "broadcom-thor2", "amd": "amd-pollara-400", "intel": "connectx-7"}
INTENT = """
fabric: pod
workload: {{kind: pretraining}}
nodes:
  - {{name: gpu, count: 2, gpus: 8, nics: {{count: 4, speed: 400G, model: {nic}}}}}
topology:
  shape: rail-optimized
  leaf: {{model: nokia-ixr7220-h4-64d}}
  spine: {{model: nokia-ixr7220-h4-64d}}
hosts: {{vendor: {vendor}}}
"""
Document = dict[str, Any]


class Recording:
    """What commands and kernel files of a node answered, by which it is looked at again."""

    def __init__(self, node: ModuleType) -> None:
        self.node = node
        self.commands: dict[tuple[str, ...], str] = {}
        self.files: dict[tuple[str, str], str] = {}
        self.rdma = self.pci = ""

    def record(self, machine: Any) -> Any:
        """Return the machine, recording what it answers."""
        run, setting = machine.run, machine.setting
        machine.run = lambda command: self.commands.setdefault(tuple(command), run(command))
        machine.setting = lambda path, made="": self.files.setdefault((path, made), setting(path, made))
        self.rdma, self.pci = machine.rdma_device("rail0"), machine.pci_address("rail0")
        return machine

    def machine(self, command: tuple[str, ...] = (), answer: str = "", file: tuple[str, str] = ("", "")) -> Any:
        """Return a machine that answers as recorded, one command or file otherwise."""
        made = self.node.Machine()
        made.run = lambda words: answer if tuple(words) == command else self.commands[tuple(words)]
        made.setting = lambda path, folder="": answer if (path, folder) == file else self.files[path, folder]
        made.rdma_device, made.pci_address = lambda _name: self.rdma, lambda _name: self.pci
        return made


@pytest.fixture(scope="module", params=NICS)
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Recording, Document]:
    """Return how a node that is as intended answers, and its document, cut to its first rail."""
    vendor = str(request.param)
    designed = design(load_intent_text(INTENT.format(vendor=vendor, nic=NICS[vendor]), "test.yml"), load_catalog())
    assert designed.fabric is not None
    fabric, renderer = designed.fabric, HostRenderer(designed.fabric, find_templates())
    files = renderer.files(fabric.hosts[0])
    made = json.loads(base64.b64decode(bundle(files, renderer.places, fabric.policies.hosts.network, {})))
    document: Document = made["document"]
    document["interfaces"] = document["interfaces"][:1]
    document["sysctl"] = {key: value for key, value in document["sysctl"].items() if "all" in key or "rail0" in key}
    rdma = f"{load_catalog().vendor_pack(vendor).rdma_prefix}0"
    node = StandInNode(tmp_path_factory.mktemp(vendor), rdma, NODE, CHANGE)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("os.fsync", lambda file: None)
        assert node.run("apply", made)["problems"] == []
    recording = Recording(NODE)
    machine = recording.record(node._machine(NODE.Machine(str(node.root))))
    assert NODE.check(machine, document) == ([], [])
    return recording, document


Check = Callable[[str], bool]
"""Tells whether a node is unchanged with another answer in one place."""


def others(value: object) -> tuple[object, ...]:
    """Return other values of the same kind, nothing of what has parts of its own."""
    if isinstance(value, int):
        return (value + 1,)
    return ("x-other",) if isinstance(value, str) else ()


def silent_of_ip(text: str, passes: Check) -> list[tuple[Place, object]]:
    """Return the parts of an answer of `ip` whose other values change the node, and which are missed by nobody."""
    told: Document = {"": json.loads(text)}

    def holds(at: Place, value: object) -> bool:
        return passes(json.dumps(changed(told, at, value).get("")))

    deciding = [at for at, value in places(told) if any(not holds(at, other) for other in others(value))]
    assert deciding
    parts = {at[:end]: None for at in deciding for end in range(1, len(at) + 1)}
    return [(at, odd) for at in parts for odd in ODD if not _is_main_table(told, at, odd) and holds(at, odd)]


def _is_main_table(told: Document, at: Place, odd: object) -> bool:
    """Tell whether a route has no table any more, by which `ip` says that it is in the main one."""
    return odd is ABSENT and at[-1] == "table" and told[""][at[1]]["table"] == "254"


@pytest.mark.slow
def test_no_node_is_unchanged_because_a_part_of_ip_is_not_there(
    recorded: tuple[Recording, Document],
) -> None:
    recording, document = recorded
    check = recording.node.check
    assert check(recording.machine(), document) == ([], [])
    asked = [command for command in recording.commands if command[0] == "ip"]
    assert len(asked) == 3
    for command in asked:

        def passes(text: str, command: tuple[str, ...] = command) -> bool:
            return bool(check(recording.machine(command, text), document) == ([], []))

        assert silent_of_ip(recording.commands[command], passes) == [], command


def test_no_node_is_unchanged_because_its_tools_do_not_show_a_setting(recorded: tuple[Recording, Document]) -> None:
    recording, document = recorded
    node, names = recording.node, {"{interface}": "rail0", "{rdma}": recording.rdma, "{pci}": recording.pci}
    silent, looked_at = [], 0
    for read in (read for step in document["nic"]["steps"] for read in step["reads"] if "want" in read):
        if "file" in read:
            file = tuple(node._filled(read.get(key, ""), names) for key in ("file", "folder"))
            answers = [("zzz", {"file": file}), ("-5", {"file": file})]
            answers += [] if read.get("optional") else [("", {"file": file})]
        else:
            command = tuple(node._filled(word, names) for word in read["command"])
            text = recording.commands.get(command)
            if text is None or read.get("optional"):
                continue  # a NIC of another name, or a tool that does not have the setting
            without = re.sub(read["pattern"], "", text, flags=re.MULTILINE)
            answers = [("", {"command": command}), ("zzz", {"command": command}), (without, {"command": command})]
        for answer, where in answers:
            looked_at += 1
            if node.check(recording.machine(answer=answer, **where), document) == ([], []):
                silent.append((read["what"], answer))
    assert silent == []
    assert looked_at > 3


def test_no_node_is_unchanged_because_the_kernel_does_not_show_a_setting(
    recorded: tuple[Recording, Document],
) -> None:
    recording, document = recorded
    for key in document["sysctl"]:
        file = ("/proc/sys/" + key.replace(".", "/"), "")
        for answer in ("", "zzz", "-5"):
            assert recording.node.check(recording.machine(answer=answer, file=file), document) != ([], []), key


def test_a_list_of_no_priorities_is_one_and_no_list_is_unknown() -> None:
    pack = {read["what"]: read for step in load_catalog().vendor_pack("amd").steps for read in step["reads"]}
    none = {str(priority): "disable" for priority in range(8)}
    assert NODE._meant(pack["pfc"], "  PFC no-drop priorities    :\n") == none
    assert NODE._meant(pack["pfc"], "  PFC priority bitmap       : 0x8\n") == {}


def test_a_kernel_file_that_cannot_be_read_is_not_one_that_is_not_there(tmp_path: Path) -> None:
    machine = NODE.Machine(str(tmp_path))
    (tmp_path / "folder").mkdir()
    assert machine.setting("/nowhere") == ""
    with pytest.raises(NODE.FaultError, match=r"/folder: Is a directory"):
        machine.setting("/folder")


@pytest.mark.parametrize("text", ["[]", "null", "{}", '{"version": 1}', '{"version": 1, "state": "open"}', "5", ""])
def test_a_snapshot_of_another_form_is_damaged(tmp_path: Path, text: str) -> None:
    place = tmp_path / "snapshot.json"
    place.write_text(text)
    with pytest.raises(NODE.FaultError, match="is damaged"):
        CHANGE.Snapshots("", str(place)).load()


ANSWERED = {"changes": [], "notes": [], "interrupted": False, "invocation": {"module_args": {"part": "change"}}}


@pytest.mark.parametrize("odd", [*ODD, [None], ["zzz"], [{}], [[]]])
def test_an_answer_that_does_not_say_what_differs_fails(odd: object) -> None:
    answer = changed(ANSWERED, ("changes",), odd)
    event = {"event": "runner_on_ok", "event_data": {"host": "gpu1", "res": answer}}
    seen = {"gpu1": runner._NodeEvents()}
    runner._add_event(event, seen, None)
    found = seen["gpu1"].result("gpu1")
    if odd == []:
        assert found.state is HostState.UNCHANGED
    else:
        assert (found.state, found.error) == (
            HostState.FAILED,
            "the answer of its program does not say what differs",
        )
