"""Decode the answers of a switch: limited in size and depth, without control characters.

A switch may be broken or compromised, so its answers can contain anything. Every exception of a decoder is raised as
``CommandErrorException``, NAPALM's error for a device, so that it ends the work on this device and on no other.
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
"""Maximum nesting of an answer; those of SONiC have six levels."""

_SHOWN_CHARACTERS = 200
# Control characters and halves of surrogate pairs in JSON, escaped or not, and a few harmless characters.
_ODD = re.compile(r"\\u(?:00[01789]|[dD][89a-fA-F]|20[26])|\\[bfr]|[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
# Every match of ``_ODD`` in ASCII text contains this or a delete character; it is found twenty times as fast, as it
# begins with a single character.
_ESCAPE = re.compile(r"\\[ubfr]")
# Parts of an answer that are compared and written back: they stay as they are, or are refused if not valid Unicode.
_EXACT = frozenset({"config", "undo", "frr", "bgpraw"})

P = ParamSpec("P")
T = TypeVar("T")


@contextmanager
def decoding(what: str) -> Iterator[None]:
    """Raise any exception of the block as CommandErrorException: ``what`` cannot be read, and why.

    Exceptions of NAPALM, and DocumentError, which callers handle themselves, pass unchanged.
    """
    try:
        yield
    except (NapalmException, DocumentError):
        raise
    except TooLargeError as error:
        raise CommandErrorException(f"{what} is refused: {error}") from error
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        shown_reason = printable(shown_text(reason))[:_SHOWN_CHARACTERS]
        raise CommandErrorException(f"{what} cannot be read ({shown_reason})") from error


def decodes(what: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that runs a function within ``decoding``.

    If it fails and its first argument is a session, or has one, it is checked whether the login prints text that makes
    answers unreadable (``refuse_noise``).
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def decode(*arguments: P.args, **named: P.kwargs) -> T:
            try:
                with decoding(what):
                    return function(*arguments, **named)
            except CommandErrorException as error:
                if arguments:
                    refuse_noise(arguments[0], error)
                raise

        return decode

    return decorate


def refuse_noise(reader: object, error: Exception) -> None:
    """Raise CommandErrorException if an answer is unreadable because the login of ``reader`` prints text.

    ``reader`` is a session or has one; anything else is ignored.
    """
    session = getattr(reader, "session", reader)
    if hasattr(session, "refuse_noise"):
        try:
            session.refuse_noise()
        except CommandErrorException as noise:
            raise noise from error


def parse_json(text: str, decode: Callable[[str], Any] = json.loads) -> Any:
    """Return the JSON value in ``text``, without control characters except in ``_EXACT`` parts.

    Raises ValueError if it is not JSON, too large (TooLargeError) or too deep, or if a configuration in it is not valid
    Unicode.
    """
    try:
        value = decoded_in_turn(text, decode)
    except RecursionError:
        raise ValueError("its values lie too deep") from None
    if _may_be_odd(text) and _ODD.search(text):
        return _plain(value, DEEPEST)
    return value


def _may_be_odd(text: str) -> bool:
    """Tell whether ``_ODD`` may match a text; if not, the slower search for it is not needed."""
    return not text.isascii() or "\x7f" in text or _ESCAPE.search(text) is not None


def _plain(value: Any, depth: int) -> Any:
    """Return a value without control characters in its texts; raises ValueError for more than ``depth`` levels."""
    if not depth:
        raise ValueError("its values lie too deep")
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, list):
        return [_plain(member, depth - 1) for member in value]
    if isinstance(value, dict):
        return {printable(name): _plain_member(name, member, depth - 1) for name, member in value.items()}
    return value


def _plain_member(name: str, member: Any, depth: int) -> Any:
    if name in _EXACT:
        return _exact(member)
    return _plain(member, depth)


def _exact(value: Any) -> Any:
    """Return a configuration unchanged; raises ValueError if it cannot be encoded as UTF-8."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("its configuration holds half of a surrogate pair, which is no Unicode") from None
    return value


def refuse_constant(name: str) -> NoReturn:
    """Raise ValueError for NaN and Infinity, which Python's decoder accepts although they are not JSON."""
    raise ValueError(f"{name} is no JSON")
