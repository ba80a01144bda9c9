"""Messages, and the pipe to a worker: what is read strictly, and how a worker that ends or hangs is found out."""

import io
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import orjson
import pytest

from nornir_railweave.events import Step
from nornir_railweave.workers.channel import WorkerLostError
from nornir_railweave.workers.message import (
    Answer,
    MessageError,
    ProjectBinding,
    Request,
    TaskEvent,
    decode_answer,
    decode_request,
    encode,
)
from nornir_railweave.workers.pipe import PipeChannel, serve
from nornir_railweave.workers.reading_tasks import reading_json, reading_of
from nornir_railweave.workers.serving import Worker
from railweave.plan.model import Reading
from railweave.sonic.delta.change import Change, Delta, Disruption, Method, Op
from railweave.sonic.delta.delta import Sharing
from railweave.sonic.delta.diff import DeviceDiff

BOUND = ProjectBinding("lab", "fake", "a" * 64, "1")

# Workers that do as the first word of their command says; each answers what it is asked with the request's id.
STAND_IN = """
import json, sys, time
for line in sys.stdin:
    asked = json.loads(line)
    if sys.argv[1] == "chatty":
        print("Welcome to runner1")
    if sys.argv[1] == "dies":
        print("no room left", file=sys.stderr)
        sys.exit(3)
    if sys.argv[1] == "hangs" or (sys.argv[1] == "busy" and asked["task"] != "hello"):
        continue
    print(json.dumps({"version": 1, "id": asked["id"], "worker": "w", "result": asked["device"]}), flush=True)
"""


def request(task: str = "read_running", device: str = "leaf1") -> Request:
    return Request(task, device, BOUND, time.time() + 60)


def channel(kind: str, silent_s: float = 60) -> PipeChannel:
    return PipeChannel([sys.executable, "-S", "-c", STAND_IN, kind], "the worker of site west", silent_s)


def test_a_message_is_what_was_encoded() -> None:
    asked = Request("apply_change", "leaf1", BOUND, 12.5, "f" * 64, {"order": {"missing": 2}}, "r1")
    assert decode_request(encode(asked)) == asked
    assert asked.label == "apply_change leaf1 ffffffffffff"
    answered = Answer("r1", "w", {"ok": True}, (TaskEvent(Step.APPLIED, "leaf1", "", {"commit_id": "c"}),), "", "")
    assert decode_answer(encode(answered)) == answered


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "this is not JSON"),
        ("[]", "this message has version None, and this program reads version 1"),
        ('{"version": 2}', "this message has version 2, and this program reads version 1"),
        ('{"version": 1, "id": "x"}', "not a Request: task: Field required"),
    ],
)
def test_what_is_no_request_is_refused(text: str, why: str) -> None:
    with pytest.raises(MessageError) as refused:
        decode_request(text)
    assert str(refused.value).startswith(why)


def test_a_request_takes_no_other_keys() -> None:
    text = encode(request()).replace(b'"task"', b'"password":"x","task"')
    with pytest.raises(MessageError, match="password"):
        decode_request(text)


@pytest.mark.slow
def test_many_requests_share_a_pipe() -> None:
    asking = channel("chatty")
    found: dict[str, Any] = {}

    def ask(name: str) -> None:
        found[name] = asking.ask(request(device=name), 60).result

    threads = [threading.Thread(target=ask, args=(f"leaf{number}",)) for number in range(20)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    asking.close()
    assert found == {name: name for name in found}
    assert len(found) == 20


@pytest.mark.slow
def test_a_worker_that_ends_is_named_with_its_last_words() -> None:
    asking = channel("dies")
    with pytest.raises(WorkerLostError) as lost:
        asking.ask(request(), 60)
    assert str(lost.value) == "the worker of site west ended (exit status 3): no room left"
    asking.close()


MORE_THAN_A_PIPE_HOLDS = "x" * 200_000
LEAVES_SLOWLY = "exec <&-; sleep 0.2; echo no route to runner >&2; exit 7"


@pytest.mark.slow
def test_a_worker_that_reads_no_more_is_named_once_it_has_ended() -> None:
    asking = PipeChannel(["sh", "-c", LEAVES_SLOWLY], "the worker of site west", 60)
    with pytest.raises(WorkerLostError) as lost:
        asking.ask(request(device=MORE_THAN_A_PIPE_HOLDS), 60)
    assert str(lost.value) == "the worker of site west ended (exit status 7): no route to runner"
    asking.close()


@pytest.mark.slow
def test_a_worker_that_was_lost_is_started_again_by_the_next_request() -> None:
    asking = channel("answers")
    asking.ask(request(), 60)
    first = asking.process_id
    asking.close()
    asking.ask(request(), 60)
    assert asking.process_id not in (0, first)
    asking.close()


@pytest.mark.slow
def test_a_worker_that_hangs_is_given_up_and_ended() -> None:
    asking = channel("hangs", silent_s=0.3)
    with pytest.raises(WorkerLostError, match=r"^the worker of site west was silent for 0.3 s$"):
        asking.ask(request(), 60)
    asking.close()


@pytest.mark.slow
def test_a_worker_that_takes_nothing_off_the_pipe_is_given_up_and_ended() -> None:
    asking = PipeChannel(["sleep", "60"], "the worker of site west", 0.3)
    with pytest.raises(WorkerLostError, match=r"^the worker of site west was silent for 0.3 s$"):
        asking.ask(request(device=MORE_THAN_A_PIPE_HOLDS), 60)
    asking.close()


@pytest.mark.slow
def test_a_busy_worker_is_waited_for_as_long_as_its_task_may_take() -> None:
    asking = channel("busy", silent_s=30)
    asking.ask(request("hello"), 60)
    with pytest.raises(WorkerLostError, match=r"^the worker of site west did not answer within 0.5 s$"):
        asking.ask(request(), 0.5)
    assert asking.ask(request("hello"), 60).worker == "w", "it is still there"
    asking.close()


def test_a_command_that_is_not_there_is_named() -> None:
    asking = PipeChannel(["/nowhere/ssh"], "the worker of site west", 5)
    with pytest.raises(
        WorkerLostError, match=r"site west: `/nowhere/ssh` cannot be started: No such file or directory"
    ):
        asking.ask(request(), 5)
    asking.close()


def test_a_worker_answers_lines_and_skips_what_is_no_request(capsys: pytest.CaptureFixture[str]) -> None:
    def load() -> Any:
        raise AssertionError("nothing is read for a task that it does not know")

    writing, answered = io.BytesIO(), threading.Event()

    class Watched(io.BytesIO):
        def flush(self) -> None:
            writing.write(self.getvalue())
            answered.set()

    def lines() -> Iterator[bytes]:
        yield b"nonsense\n"
        yield encode(request("rm_rf")) + b"\n"
        assert answered.wait(60), "the pipe ends once the answer is there"

    serve(Worker(load, "w"), lines(), Watched(), 2)
    answer = decode_answer(writing.getvalue())
    assert answer.refused == "it knows no task 'rm_rf'"
    assert "not a request: this is not JSON" in capsys.readouterr().err


def test_a_reading_comes_with_its_changes_and_without_their_secrets() -> None:
    words = (Disruption.NONE, Method.WRITE, "overrides")
    secret = Change(Op.UPDATE, "TACPLUS", "global", "passkey", "s3krit-old", "s3krit-new", *words)
    line = Change(Op.ADD, "frr", "router bgp 1", "neighbor SPINES password s3krit", None, "s3krit", *words)
    port = Change(Op.UPDATE, "PORT", "Ethernet0", "mtu", "9100", "9216", *words)
    found = DeviceDiff(Delta((secret, line, port)), {"SNMP": 2}, (), False)
    text = orjson.dumps(reading_json(Reading(found, "a" * 64, pending=True)))
    assert b"s3krit" not in text
    read = reading_of(orjson.loads(text), Sharing(), {})
    assert read == Reading(replace(found, delta=Delta((secret.shown, line.shown, port))), "a" * 64, pending=True)
