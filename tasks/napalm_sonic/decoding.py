"""Answers of a switch become values: bounded, in plain characters, and a fault in one is that switch's alone.

A switch may answer anything: it may be broken, or somebody else's by now. Whatever its decoders stumble over is told as
``CommandErrorException``, as all that a device does wrong, so that it ends the work on this device and on no other.
"""

import functools
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, ParamSpec, TypeVar

from napalm.base.exceptions import CommandErrorException, NapalmException

from napalm_sonic.bounds import TooLargeError, decoded_in_turn
from railweave.printable import printable
from railweave.secrets import shown_text
from railweave.sonic.document import DocumentError

DEEPEST = 64
"""How deep the values of an answer may lie: SONiC's own lie six deep."""

_SHOWN_CHARACTERS = 200
# What JSON may hold of control characters and of halves of surrogate pairs, and of others by mistake.
_ODD = re.compile(r"\\u(?:00[01789]|[dD][89a-fA-F]|20[26])|\\[bfr]|[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
# One of these stands in all plain ASCII that ``_ODD`` finds; a look for them is ten times as fast.
_HINTS = ("\\u", "\\b", "\\f", "\\r", "\x7f")
# Parts of an answer that are compared and written back: never altered, refused where they cannot be encoded.
_EXACT = frozenset({"config", "undo", "frr", "bgpraw"})

P = ParamSpec("P")
T = TypeVar("T")


@contextmanager
def decoding(what: str) -> Iterator[None]:
    """Let any fault of the block be the device's: CommandErrorException that says ``what`` cannot be read, and why."""
    try:
        yield
    except (NapalmException, DocumentError):
        raise
    except TooLargeError as error:
        raise CommandErrorException(f"{what} is refused: {error}") from error
    except Exception as error:
        why = printable(shown_text(" ".join(f"{type(error).__name__}: {error}".split())))[:_SHOWN_CHARACTERS]
        raise CommandErrorException(f"{what} cannot be read ({why})") from error


def decodes(what: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that lets a function decode as in ``decoding``.

    Where it cannot and the first argument is a session, or has one, text that the login prints is looked for.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def decode(*arguments: P.args, **named: P.kwargs) -> T:
            try:
                with decoding(what):
                    return function(*arguments, **named)
            except CommandErrorException as error:
                refuse_noise(arguments[0] if arguments else None, error)
                raise

        return decode

    return decorate


def refuse_noise(reader: object, error: Exception) -> None:
    """Raise CommandErrorException where the login of ``reader``, or of its session, is why an answer is unreadable."""
    session = getattr(reader, "session", reader)
    if hasattr(session, "refuse_noise"):
        try:
            session.refuse_noise()
        except CommandErrorException as noise:
            raise noise from error


def parse_json(text: str, decode: Callable[[str], Any] = json.loads) -> Any:
    """Return the JSON value in ``text``, its texts without control characters where they are only shown.

    Raises ValueError where it is none, is too large or lies too deep, or holds text that is no Unicode where it counts.
    """
    try:
        value = decoded_in_turn(text, decode)
    except RecursionError:
        raise ValueError("its values lie too deep") from None
    return _plain(value, DEEPEST) if _may_be_odd(text) and _ODD.search(text) else value


def _may_be_odd(text: str) -> bool:
    return not text.isascii() or any(hint in text for hint in _HINTS)


def _plain(value: Any, depth: int) -> Any:
    if not depth:
        raise ValueError("its values lie too deep")
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, list):
        return [_plain(member, depth - 1) for member in value]
    if isinstance(value, dict):
        return {
            printable(name): _exact(held) if name in _EXACT else _plain(held, depth - 1) for name, held in value.items()
        }
    return value


def _exact(value: Any) -> Any:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("its configuration holds half of a surrogate pair, which is no Unicode") from None
    return value


def refuse_constant(name: str) -> NoReturn:
    """Refuse what JSON has not and Python reads: NaN and Infinity."""
    raise ValueError(f"{name} is no JSON")
