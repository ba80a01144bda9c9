"""What is fuzzed: for each kind of input its valid seeds, and a reader that raises where it is not read as it must be.

A reader returns a word for the counts. It may refuse an input only as a person or a fabric can live with: a diagnostic
that names file and line, a fault of this one switch, a JSON answer of the switch's program. Everything else that leaves
it, a traceback above all, is a finding.
"""

import contextlib
import functools
import io
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import switch_answer
import yaml
from fuzz_exchange import SCRIPTS, carry_out
from fuzz_mutation import Mutator, Tree
from napalm.base.exceptions import NapalmException
from switch_cases import new_world, transaction
from virtual_switch import World

from napalm_sonic.candidate import CandidateKind, read_candidate
from napalm_sonic.driver import SonicDriver
from napalm_sonic.session import Completed, Session
from nornir_railweave.events import Event, Step
from nornir_railweave.rollout.journal import Journal
from nornir_railweave.target.target_file import parse_target
from railweave.api.design.intent import _gather, design_text
from railweave.checks.facts import fact_findings
from railweave.cli.show import print_diagnostics, print_document, print_view
from railweave.diagnostics import Diagnostic
from railweave.errors import RefusedError
from railweave.intent.load import load_intent_text
from railweave.intent.positions import decode, read_document
from railweave.plan.document import _digest, parse_plan, plan_json
from railweave.plan.drift import parse_rules
from railweave.plan.model import Plan
from railweave.plan.offline import plan_offline
from railweave.plan.parsed_rollout import parse_rollout
from railweave.plan.resumption import check_resume
from railweave.plan.rollout import RolloutMetadata
from railweave.report.audit import audit_json, audit_view, read_audit
from railweave.report.plan import plan_markdown, plan_view
from railweave.report.rollouts import rollout_json, rollout_view, rollouts_view
from railweave.sonic.delta.change import Delta
from railweave.sonic.document import DocumentError
from railweave.sonic.render.configure import Configurator
from railweave.templates import find_templates
from railweave_switch.host import DatabaseError, Done
from railweave_switch.redis import RedisConnection

ROOT = Path(__file__).resolve().parents[2]
LAB = (ROOT / "intent" / "lab-4.yml").read_text(encoding="utf-8")
READ, REFUSED = "read", "refused"


@dataclass(frozen=True, slots=True)
class Target:
    """One kind of input. ``cpu_s``: the processor time that reading one may take at most."""

    name: str
    mutator: Callable[[], Mutator]
    read: Callable[[bytes], str]
    cpu_s: float = 5.0


# --- files that people write -------------------------------------------------------------------------------------


def refusal(refused: RefusedError, file: str) -> str:
    """Hold a refusal against what a person needs: a file, a line, a message and a way to fix it."""
    assert refused.diagnostics
    for one in refused.diagnostics:
        assert one.where.file == file, one
        assert one.where.line >= 1, one
        assert one.message, one
        assert one.fix, one
    shown(lambda: print_diagnostics(refused.diagnostics, stderr=False))
    return REFUSED


def shown(show: Callable[[], object]) -> None:
    """Let something be shown; what is shown must be text that a terminal takes."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        show()
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(out.getvalue())
    out.getvalue().encode()


def read_intent(data: bytes) -> str:
    try:
        intent = load_intent_text(decode(data, "i.yml"), "i.yml")
    except RefusedError as refused:
        return refusal(refused, "i.yml")
    found: Sequence[Diagnostic] = _gather(intent).diagnostics
    shown(lambda: print_diagnostics(found, stderr=False))
    assert_written_and_read_again(data)
    return READ


class _Writer(yaml.SafeDumper):
    """Writes no value as nothing: our reader takes the word null for a text."""


_Writer.add_representer(type(None), lambda writer, _: writer.represent_scalar("tag:yaml.org,2002:null", ""))


def _written(value: object) -> str:
    return str(yaml.dump(value, Dumper=_Writer, allow_unicode=True))


def assert_written_and_read_again(data: bytes) -> None:
    value = read_document(decode(data, "i.yml"), "i.yml").value
    assert read_document(_written(value), "i.yml").value == value


def read_inventory(data: bytes) -> str:
    try:
        target = parse_target(decode(data, "t.yml"), "t.yml", "t")
        again = _written(read_document(decode(data, "t.yml"), "t.yml").value)
    except RefusedError as refused:
        return refusal(refused, "t.yml")
    assert parse_target(again, "t.yml", "t") == target
    return READ


def read_rules(data: bytes) -> str:
    try:
        parse_rules(decode(data, "r.yml"), "r.yml")
    except RefusedError as refused:
        return refusal(refused, "r.yml")
    return READ


def read_facts(data: bytes) -> str:
    text = data.decode(errors="replace")
    fabric = switch_answer.FABRIC
    files = {name: (f"{name}.json", text) for name in (switch_answer.LEAF.name, fabric.hosts[0].name)}
    found = fact_findings(fabric, files, Configurator(fabric, find_templates()))
    shown(lambda: print_diagnostics(found, stderr=False))
    return REFUSED if found else READ


RULES = """ignore:
  - {table: SYSLOG_SERVER, key: 10.0.0.1, reason: by hand, until: 2030-01-01}
  - {table: PORT, field: description, device: "lab-leaf*", reason: wording, until: 2031-12-31}
"""
PREFERENCES = """
addressing: {hosts: 10.32.0.0/11, asn: {leaf: 4210000000}}
bgp: {keepalive: 3, hold: 9}
traffic_classes:
  - {name: roce, role: rdma, dscp: [26], lossless: true, priority: 3, share: 90}
  - {name: cnp, role: cnp, dscp: [48], priority: 6, strict: true}
  - {name: best-effort, role: bulk, dscp: default, priority: 0, share: 10}
mtu: {fabric: 9100, hosts: 9000}
cabling: {host: {length_m: 20}, leaf_spine: {length_m: 30}}
overrides: {leaf: {SYSLOG_SERVER: {10.9.9.9: {port: "514"}}}}
"""


def intents() -> Mutator:
    names = ("lab-4", "minimal")
    texts = [(ROOT / "intent" / f"{name}.yml").read_text(encoding="utf-8") for name in names]
    return Mutator("yaml", [one.encode() for one in (*texts, LAB + PREFERENCES)])


def inventories() -> Mutator:
    return Mutator("yaml", [path.read_bytes() for path in sorted((ROOT / "inventory").glob("*.yml"))])


# --- files that programs write -----------------------------------------------------------------------------------


@functools.cache
def a_plan() -> Plan:
    """Return a plan with every kind of change: the lab grown, with other timers."""
    grown = LAB.replace("count: 4\n", "count: 8\n", 1).replace("count: 2, downlink", "count: 4, downlink", 1)
    assert grown != LAB
    new = design_text(grown + "bgp: {keepalive: 2, hold: 8}\nmtu: {fabric: 9000, hosts: 8900}\n", "i.yml").fabric
    return plan_offline(design_text(LAB, "i.yml").fabric, new, find_templates())


def plans() -> Mutator:
    plan = a_plan()
    some = {name: Delta(tuple(delta)[:3]) for name, delta in plan.deltas.items()}
    return Mutator("json", [json.dumps(plan_json(plan.with_deltas(some))).encode()], seal=sealed)


def sealed(document: Tree) -> Tree:
    if isinstance(document, dict):
        with contextlib.suppress(TypeError, UnicodeEncodeError):
            document["digest"] = _digest(document)
    return document


def read_plan(data: bytes) -> str:
    try:
        plan = parse_plan(data.decode(errors="replace"), "p.json")
    except RefusedError as refused:
        return refusal(refused, "p.json")
    assert parse_plan(json.dumps(plan_json(plan)), "p.json") == plan
    shown(lambda: print_view(plan_view(plan, every_change=True)))
    plan_markdown(plan).encode()
    return READ


def journals() -> Mutator:
    """Return the journal of a rollout that came to its end, and of one that was resumed."""
    plan, seeds = a_plan(), []
    with tempfile.TemporaryDirectory() as folder:
        for resumed in (False, True):
            journal = Journal(Path(folder), plan.fabric, "lab", RolloutMetadata(intent="i.yml"))
            journal(journal.opening(plan))
            for number, wave in enumerate(plan.waves, start=1):
                journal(Event(Step.WAVE, text=f"wave {number}", details={"wave": number, "devices": list(wave)}))
                for name in wave:
                    _journaled(journal, name)
            journal(Event(Step.STOPPED if resumed else Step.ENDED, text="why", details={"result": "done", "ok": True}))
            journal.close()
            if resumed:
                journal = Journal.reopen(journal.path, plan.fabric, "lab", RolloutMetadata())
                journal(journal.opening(plan))
                journal.close()
            seeds.append(journal.path.read_bytes())
    return Mutator("lines", seeds)


def _journaled(journal: Journal, name: str) -> None:
    for step, details in (
        (Step.DRAINING, {"peers": ["*"]}),
        (Step.APPLYING, {"held": [["bgp", "10.0.0.1"]]}),
        (Step.APPLIED, {"commit_id": f"c-{name}"}),
        (Step.CONFIRMED, {"commit_id": f"c-{name}", "after_sha256": "f" * 64}),
        (Step.OUTCOME, {"outcome": "new", "error": ""}),
    ):
        journal(Event(step, name, details=details))


def read_journal(data: bytes) -> str:
    path = Path("20261122-000000-lab-aaaaaa.jsonl")
    rollout = parse_rollout(path, data)
    shown(lambda: print_view(rollout_view(rollout)))
    shown(lambda: print_view(rollouts_view([rollout])))
    shown(lambda: print_document(rollout_json(rollout)))
    refused = check_resume(rollout, "lab", "lab", "f" * 64)
    assert all(one.message and one.fix for one in refused)
    assert isinstance(rollout.owns("c", "m"), bool)
    lines = (
        json.dumps({**one.details, "at": one.at, "step": one.step, "device": one.device, "text": one.text}) + "\n"
        for one in rollout.entries
    )
    again = parse_rollout(path, "".join(lines).encode())
    assert (again.devices, again.waves, again.state) == (rollout.devices, rollout.waves, rollout.state)
    return REFUSED if rollout.torn or rollout.unread or rollout.unknown else READ


def audits() -> Mutator:
    begun = {"at": "2026-11-22T10:00:00Z", "event": "begun", "id": "a1", "command": "deploy", "fabric": "lab",
             "target": "lab", "intent_sha256": "f" * 64, "plan_digest": "e" * 64, "user": "ann"}  # fmt: skip
    ended = {"at": "2026-11-22T10:01:00Z", "event": "ended", "id": "a1", "result": "done",
             "devices": {"leaf1": {"outcome": "new"}, "leaf2": {"outcome": "old", "error": "why"}}}  # fmt: skip
    return Mutator("lines", ["\n".join(json.dumps(one) for one in (begun, ended, {**begun, "id": "a2"})).encode()])


def read_audit_log(data: bytes) -> str:
    log = read_audit(data)
    shown(lambda: print_view(audit_view(log)))
    shown(lambda: print_document(audit_json(log)))
    return REFUSED if log.torn else READ


# --- what a switch answers ---------------------------------------------------------------------------------------


def answers() -> Mutator:
    small = {**switch_answer.ANSWER, "config": {"digest": "d1", "tables": {"PORT": {"Ethernet0": {"mtu": "9100"}}}}}
    return Mutator("json", [json.dumps(one).encode() for one in (switch_answer.ANSWER, small, small)])


def read_answer(data: bytes) -> str:
    switch_answer.read_everything(data.decode(errors="replace"))
    return READ


RECORDED = ROOT / "tests" / "driver" / "mocked_data"


def printed() -> Mutator:
    """Return what the commands behind NAPALM's getters print: the header names getter, case and command."""
    paths = [
        path
        for path in sorted(RECORDED.glob("test_get_*/*/*.txt"))
        if hasattr(SonicDriver, path.parts[-3].removeprefix("test_"))
    ]
    seeds = [f"{path.relative_to(RECORDED)}\n".encode() + path.read_bytes() for path in paths]
    return Mutator("text", seeds, header=True)


class Recorded(Session):
    """A session that answers from recorded files, one of them in another form."""

    def __init__(self, folder: Path, name: str, text: str) -> None:
        super().__init__("recorded", "admin", "", 60.0)
        self.folder, self.name, self.text = folder, name, text

    def run(self, command: str, timeout_s: float | None = None, data: bytes = b"") -> Completed:
        name = "".join(one if one.isascii() and one.isalnum() else "_" for one in command)[:150] + ".txt"
        path = self.folder / name
        text = self.text if name == self.name else path.read_text(encoding="utf-8")
        return Completed(command, int(path.with_suffix(".exit").exists()), text, "")


def read_printed(data: bytes) -> str:
    head, _, body = data.partition(b"\n")
    path = RECORDED / head.decode()
    driver = SonicDriver("recorded", "admin", "")
    driver.device = Recorded(path.parent, path.name, body.decode(errors="replace"))
    try:
        json.dumps(getattr(driver, path.parts[-3].removeprefix("test_"))()).encode()
    except (NapalmException, DocumentError):
        return REFUSED
    return READ


def candidates() -> Mutator:
    document = {
        "PORT": {"Ethernet0": {"mtu": "9100", "adv_speeds": ["100", "200"]}, "Ethernet4": None},
        "bgpraw": "exit\n",
    }
    return Mutator("json", [json.dumps(document).encode()])


def read_candidates(data: bytes) -> str:
    for kind in CandidateKind:
        with contextlib.suppress(DocumentError):
            read_candidate(kind, None, data.decode(errors="replace")).delta(
                switch_answer.program_of(json.dumps(switch_answer.ANSWER)).read().running
            )
    return READ


# --- the switch's own program ------------------------------------------------------------------------------------


def redis_answers() -> Mutator:
    whole = b"+OK\r\n*2\r\n$6\r\nPORT|1\r\n$6\r\nPORT|2\r\n+hash\r\n+hash\r\n*2\r\n$3\r\nmtu\r\n$4\r\n9100\r\n*0\r\n"
    return Mutator("text", [whole, b"+OK\r\n*0\r\n", b"+OK\r\n-LOADING busy\r\n", b"-NOAUTH\r\n"])


def read_redis(data: bytes) -> str:
    class Mute:
        def sendall(self, data: bytes) -> None:
            pass

    redis = object.__new__(RedisConnection)
    redis.__dict__.update(_socket=Mute(), _answers=io.BytesIO(data))
    try:
        redis.call("SELECT", "4")
        assert all(isinstance(row, dict) for row in redis.rows("*").values())
    except DatabaseError:
        return REFUSED
    return READ


SHOWN = {
    "ip -j addr show": switch_answer.ANSWER["observed"]["links"],
    "vtysh -c show bgp vrf all neighbors json": switch_answer.ANSWER["observed"]["bgp"],
}


def shown_on_the_switch() -> Mutator:
    return Mutator(
        "json", [f"{name}\n".encode() + json.dumps(one).encode() for name, one in SHOWN.items()], header=True
    )


def observe_on_the_switch(data: bytes) -> str:
    head, _, body = data.partition(b"\n")
    texts = {name: json.dumps(one) for name, one in SHOWN.items()} | {head.decode(): body.decode(errors="replace")}
    world = new_world()
    world.refuse = lambda words: Done(0, texts[" ".join(words)], "") if " ".join(words) in texts else None
    return answered(world.call("read", "--observe"))


STATES = ("transaction.json", "pending.json", "guard.json", "answer.json", "save.json", "rollback.json")
MOMENTS = ("applying", "armed", "confirming", "confirmed", "rebooted", "saving")


def states() -> Mutator:
    """Return every state file of every moment; the header names the moment and the file."""
    seeds = []
    for moment in MOMENTS:
        world = world_at(moment)
        seeds += [
            f"{moment} {name}\n".encode() + world.files[path]
            for name in STATES
            for path in world.files
            if path.startswith("/var/lib/railweave/") and path.endswith(name)
        ]
    return Mutator("json", seeds, header=True)


def world_at(moment: str) -> World:
    """Return a switch in the middle of a transaction, whose process is gone."""
    world = new_world()
    steps = {"applying": 120, "confirming": 60, "saving": 60}
    if moment == "applying":
        world.kill_at["worker"] = steps[moment]
    world.send("apply", transaction())
    if moment in ("confirming", "confirmed"):
        if moment == "confirming":
            world.kill_at["worker"] = steps[moment]
        world.call("confirm")
    if moment == "saving":
        world.call("confirm")
        world.rows["PORT|Ethernet4"]["mtu"] = "1500"
        world.kill_at["worker"] = steps[moment]
        world.call("save", "--id", "20261122-000008-eeee")
    if moment == "rebooted":
        world.reboot()
    return world


def damage_the_state(data: bytes) -> str:
    """Put another text into a state file, and do all that clients do; every call must be answered, and it must end."""
    head, _, body = data.partition(b"\n")
    moment, _, name = head.decode().partition(" ")
    world = world_at(moment)
    for path in [one for one in world.files if one.startswith("/var/lib/railweave/") and one.endswith(name)]:
        world.files[path] = body
    ident = transaction()["id"]
    words = [answered(world.call("status", "--wait", ident, "--seconds", "20"))]
    world.advance(2000.0)
    for call in (
        ("read", "--rollback", ident),
        ("status",),
        ("confirm",),
        ("revert",),
        ("save", "--id", "20261122-000007-dddd"),
        ("revert", "--commit", ident, "--id", "20261122-000009-ffff"),
        ("recover",),
        ("recover", "--accept-running"),
    ):
        words.append(answered(world.call(*call)))
        world.advance(100.0)
    answered(world.send("apply", {**transaction(), "id": "20261122-000010-aaaa"}))
    world.reboot()
    answered(world.call("status"))
    return REFUSED if "damaged" in words else READ


def answered(answer: dict[str, Any]) -> str:
    """Hold an answer against what a client relies on; return the status that it tells."""
    assert isinstance(answer.get("outcome"), str), answer
    if answer["outcome"] in ("refused", "failed"):
        assert answer.get("error"), answer
    status = answer.get("status")
    assert isinstance(status, dict), answer
    assert isinstance(status["status"], str), answer
    return str(status["status"])


def scripts() -> Mutator:
    return Mutator("json", [json.dumps(one).encode() for one in SCRIPTS])


def follow_script(data: bytes) -> str:
    """Let the driver commit while what a script says happens; events of no form that a script has are left out."""
    try:
        script = json.loads(data)
    except (RecursionError, ValueError):
        return REFUSED
    events = script if isinstance(script, list) else [script]
    return READ if carry_out([one for one in events if isinstance(one, dict)]) else REFUSED


TARGETS = (
    Target("intent", intents, read_intent, cpu_s=30.0),
    Target("inventory", inventories, read_inventory),
    Target("rules", lambda: Mutator("yaml", [RULES.encode()]), read_rules),
    Target("facts", answers, read_facts),
    Target("plan", plans, read_plan, cpu_s=10.0),
    Target("journal", journals, read_journal),
    Target("audit", audits, read_audit_log),
    Target("answer", answers, read_answer),
    Target("printed", printed, read_printed),
    Target("candidate", candidates, read_candidates),
    Target("redis", redis_answers, read_redis),
    Target("observed", shown_on_the_switch, observe_on_the_switch),
    Target("state", states, damage_the_state, cpu_s=10.0),
    Target("exchange", scripts, follow_script, cpu_s=10.0),
)


def named(name: str) -> Target:
    """Return the target of this name; raises KeyError."""
    return {one.name: one for one in TARGETS}[name]
