"""The task queue of a site, with a broker in memory: names of tasks and queues, and what nobody takes."""

import sys
import time
from typing import Any

import pytest

from nornir_railweave.workers.celery_queue import QueueChannel, make_app, queue_name
from nornir_railweave.workers.channel import WorkerLostError
from nornir_railweave.workers.message import ProjectBinding, Request, decode_request
from railweave.errors import RailweaveError

BOUND = ProjectBinding("lab", "fake", "a" * 64, "1")


def request() -> Request:
    return Request("apply_change", "leaf1", BOUND, time.time() + 60, "f" * 64)


@pytest.fixture
def app() -> Any:
    pytest.importorskip("celery")
    return make_app("memory://", 2)


def test_a_task_is_named_by_device_and_plan_and_holds_the_request_as_json(
    app: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[Any, dict[str, Any]]] = []
    monkeypatch.setattr(
        app.amqp, "send_task_message", lambda producer, name, message, **how: sent.append((message, how))
    )
    asked = request()
    channel = QueueChannel(app, "west", 0.2)
    with pytest.raises(WorkerLostError):
        channel.ask(asked, 0.1)
    with pytest.raises(WorkerLostError):
        channel.ask(asked, 0.1, worker="railweave-west-1@runner")
    channel.close()
    message, how = sent[0]
    assert message.headers["shadow"] == "apply_change leaf1 ffffffffffff"
    assert message.headers["id"] == asked.id
    assert message.headers["expires"]
    assert decode_request(message.body[0][0]) == asked
    assert [how["queue"], getattr(sent[1][1]["queue"], "name", "")] == [
        queue_name("west"), "railweave-west-1@runner.dq2",
    ]  # fmt: skip


def test_what_nobody_takes_is_given_up_and_a_closed_channel_opens_again(app: Any) -> None:
    app.conf.result_backend = "cache+memory://"
    channel = QueueChannel(app, "west", 0.2)
    for _ in range(2):
        with pytest.raises(WorkerLostError, match=r"^no worker of site west took it in 0.2 s$"):
            channel.ask(request(), 60)
        channel.close()


def test_without_celery_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "celery", None)
    with pytest.raises(RailweaveError, match=r"pip install 'railweave\[queue\]'"):
        make_app("memory://", 2)
