"""NAPALM's ``get_config`` and ``cli``."""

from typing import TYPE_CHECKING

from napalm.base.exceptions import CommandErrorException

from napalm_sonic.decoding import decodes
from napalm_sonic.running import as_text, running_document, running_text, startup_document
from railweave.secrets import shown_document

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from napalm_sonic.session import Session

_KINDS = ("running", "startup", "candidate")


@decodes("its configuration")
def get_config(
    session: "Session", candidate: "Mapping[str, Any] | None", retrieve: str, sanitized: bool
) -> dict[str, str]:
    """Return running, startup and candidate configuration as JSON text; ``""`` for those that are not requested."""
    if retrieve not in ("all", *_KINDS):
        raise ValueError(f"retrieve is one of all, {', '.join(_KINDS)}, not {retrieve!r}")
    texts = dict.fromkeys(_KINDS, "")
    for kind in _KINDS:
        if retrieve not in ("all", kind):
            continue
        if kind == "running" and not sanitized:
            # Nothing is hidden, so the text of the switch need not be decoded and written again.
            texts[kind] = running_text(session)
            continue
        document = _document(session, candidate, kind)
        if document is not None and sanitized:
            document = shown_document(document)
        if document is not None:
            texts[kind] = as_text(document)
    return texts


def _document(session: "Session", candidate: "Mapping[str, Any] | None", kind: str) -> "dict[str, Any] | None":
    """Return the running, startup or candidate configuration; None if no candidate is loaded."""
    if kind == "running":
        return running_document(session)
    if kind == "startup":
        return startup_document(session)
    if candidate is None:
        return None
    return dict(candidate)


def run_commands(session: "Session", commands: "Sequence[str]", encoding: str) -> dict[str, str]:
    """Run each command unchanged; return the outputs by command.

    Raises CommandErrorException if a command ends with another exit status than 0.
    """
    if not isinstance(commands, list):
        raise TypeError("commands must be a list of texts")
    if encoding != "text":
        raise NotImplementedError(f"{encoding} is not a supported encoding")
    outputs: dict[str, str] = {}
    for command in commands:
        done = session.run(command)
        if done.exit_status != 0:
            output = session.quotes.shown(done.error_text())
            raise CommandErrorException(f"{command!r} failed with exit status {done.exit_status}: {output}")
        outputs[command] = done.stdout
    return outputs
