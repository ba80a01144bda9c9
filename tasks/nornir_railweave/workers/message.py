"""What a worker is asked to do on one device, and what it answers: JSON without secrets.

A request names a task, a device and what both sides must agree on; a worker has its own project, target and logins. An
answer holds the task's result as plain values and the steps that the task told on its way.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from nornir_railweave.events import Event, Step
from railweave.codec import read_value
from railweave_hosts.access import STRICT

VERSION = 1
"""The version of the messages; one of another version is refused."""

HELLO = "hello"
"""The task that only asks whether a worker is there and has the same project."""


class MessageError(ValueError):
    """A text is no message of this version; the text says why."""


@dataclass(frozen=True, slots=True)
class ProjectBinding:
    """What coordinator and worker must have in common."""

    __pydantic_config__ = STRICT
    fabric: str
    target: str
    # Of the intent, the project's templates and its own models.
    project_sha256: str
    # The version of railweave: only one version surely makes the same configuration of the same intent.
    program: str

    def difference(self, other: "ProjectBinding") -> str:
        """Return the first difference from ``other`` as a clause; empty if there is none."""
        for what, mine, theirs in (
            ("fabric", self.fabric, other.fabric),
            ("target", self.target, other.target),
            ("railweave", self.program, other.program),
            ("digest of intent, templates and models", self.project_sha256[:12], other.project_sha256[:12]),
        ):
            if mine != theirs:
                return f"{what} is {mine} here and {theirs} there"
        return ""


@dataclass(frozen=True, slots=True)
class Request:
    """One task on one device."""

    __pydantic_config__ = STRICT
    task: str
    device: str
    binding: ProjectBinding
    # In seconds since 1970, UTC: a request that waited longer in a queue must not be begun.
    expires_at: float
    # The plan that is deployed; empty where nothing is changed.
    plan_digest: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    version: int = VERSION

    @property
    def label(self) -> str:
        """Return the name of the request as queues and logs show it: task, device and plan."""
        return f"{self.task} {self.device} {self.plan_digest[:12]}".rstrip()


@dataclass(frozen=True, slots=True)
class TaskEvent:
    """An event of the task's device."""

    __pydantic_config__ = STRICT
    step: Step
    device: str
    text: str
    details: Mapping[str, Any]

    @property
    def event(self) -> Event:
        """Return the event."""
        return Event(self.step, self.device, self.text, dict(self.details))


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of ``worker`` to the request ``id``: a ``result``, unless ``refused`` or ``fault`` says why not."""

    __pydantic_config__ = STRICT
    id: str
    worker: str
    result: Any = None
    events: tuple[TaskEvent, ...] = ()
    # Why nothing was done.
    refused: str = ""
    # A mistake of the program; what was done by then is not known.
    fault: str = ""
    version: int = VERSION


def encode(message: Request | Answer) -> bytes:
    """Return the JSON of a message in one line; its result or arguments must be plain values."""
    return orjson.dumps(message)


def decode_request(text: bytes | str) -> Request:
    """Return the request in a text. Raises MessageError if the text is not a request."""
    request: Request = _decoded(Request, text)
    return request


def decode_answer(text: bytes | str) -> Answer:
    """Return the answer in a text. Raises MessageError if the text is not an answer."""
    answer: Answer = _decoded(Answer, text)
    return answer


def decoded(kind: Any, value: Any) -> Any:
    """Return a part of a message as a value of the type ``kind``. Raises MessageError if it is not valid."""
    try:
        return read_value(kind, value)
    except (ValueError, RecursionError) as fault:
        raise MessageError(f"not a {getattr(kind, '__name__', kind)}: {fault}") from None


def _decoded(kind: Any, text: bytes | str) -> Any:
    """Return the message of the type ``kind`` in a text. Raises MessageError, also for a message of another version."""
    try:
        value = orjson.loads(text)
    except ValueError:
        raise MessageError("this is not JSON") from None
    version = None
    if isinstance(value, dict):
        version = value.get("version")
    if version != VERSION:
        raise MessageError(f"this message has version {version!r}, and this program reads version {VERSION}")
    return decoded(kind, value)
