"""Answers of the switch's program: the status of the last transaction, and the running configuration.

Digests come first: a configuration that the session has already is not sent again, and stays the same object.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from napalm.base.exceptions import CommandErrorException, CommitError

from napalm_sonic.bounds import refuse_long_frr
from napalm_sonic.decoding import decodes
from napalm_sonic.monitored import monitored_of
from napalm_sonic.observed import Observed, image_of, observed_of, unapplied_of, unseen_of
from railweave.printable import printable
from railweave.secrets import shown_text
from railweave.sonic.document import BGPRAW, DocumentError, RunningConfig, parse_fields, running_from
from railweave.sonic.rows import ConfigDb
from railweave.switch_driver import CommitStatus, ConfigReading
from railweave_switch.daemons import Unapplied
from railweave_switch.state import ENDED, OPEN, Stage, TransactionKind

PENDING = frozenset({*OPEN, Stage.EXPIRED})
"""Statuses of a transaction that waits for its confirmation or revert."""
# All statuses of a transaction; with any other one it is unknown whether a transaction is pending.
_STAGES = frozenset({*PENDING, *ENDED, Stage.NONE, Stage.DAMAGED})


@dataclass(frozen=True, slots=True)
class Reading(ConfigReading):
    """The running configuration of a switch, with its status and observations."""

    # Of FRR's configuration, as ``tables_digest``: with both the switch does not send an unchanged one again.
    frr_digest: str = ""
    # Merge document that undoes a commit, if it was requested.
    undo: Mapping[str, Any] | None = field(default=None, repr=False)
    # Observations, if they were requested.
    view: Observed | None = field(default=None, repr=False)
    # Values of SONiC's daemons that differ from CONFIG_DB, None if they are unknown.
    unapplied: tuple[Unapplied, ...] | None = None


def refuse_when_pending(hostname: str, status: CommitStatus) -> None:
    """Raise CommitError if a transaction is pending: a second change would have no rollback document of its own."""
    if status.pending:
        raise CommitError(
            f"{hostname}: {status.kind} {status.commit_id} by {status.by or 'another session'} is {status.state}; "
            f"confirm_commit() keeps it, rollback() undoes it"
        )


@decodes("the status of its last transaction")
def status_of(status: Mapping[str, Any]) -> CommitStatus:
    """Return the ``status`` in an answer as a value; raises CommandErrorException if it cannot be read."""
    hold = status.get("hold") or {}
    state = status["status"]
    if state not in _STAGES:
        # With an unknown status it is not known either whether a transaction is pending.
        raise ValueError(f"unknown status {state!r}")
    remaining_s = None
    if status.get("remaining_s") is not None:
        remaining_s = float(status["remaining_s"])
    kind = _text(status, "kind")
    error = _text(status, "error")
    commit = CommitStatus(
        pending=state in PENDING,
        commit_id=_text(status, "id"),
        message=_text(status, "message"),
        kept=_text(status, "last"),
        # No process on the switch reverts it: after a reboot, or after a failed revert.
        overdue=state in (Stage.EXPIRED, Stage.FAILED),
        by=_text(status, "by"),
        is_drain=kind == TransactionKind.DRAIN,
        state=state,
        kind=kind,
        error=error,
        damage=_damage(state, error),
        broken=_broken(status.get("broken", {})),
        generation=dict(status.get("generation") or {}),
        hold=_text(hold, "id"),
        held=_texts(hold, "peers"),
        held_by=_text(hold, "words"),
        remaining_s=remaining_s,
        held_s=float(hold.get("remaining_s") or 0.0),
        drain=_text(status, "drain"),
    )
    return replace(commit, waits_for=_waits_for(commit))


def _damage(state: str, error: str) -> str:
    """Return in words the damage of the switch's state file; empty if there is none."""
    if state != Stage.DAMAGED:
        return ""
    return error or "the switch does not say how"


def _waits_for(status: CommitStatus) -> str:
    """Return in words the pending transaction, and when the switch reverts it; empty if there is none."""
    if not status.pending:
        return ""
    text = f"{status.kind or 'commit'} {status.commit_id}".rstrip()
    if status.by:
        text += f" of {status.by}"
    text += f" is {status.state}"
    if status.remaining_s is not None:
        text += f", reverts in {status.remaining_s:.0f} s"
    return text


def _text(members: Mapping[str, Any], name: str) -> str:
    """Return a member of an answer as text; empty if it is missing or null."""
    return str(members.get(name) or "")


def _texts(members: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return a member of an answer as texts; empty if it is missing or null."""
    return tuple(map(str, members.get(name) or ()))


def _broken(entry: object) -> str:
    """Return in words the daemons that a change ended, empty for none (``railweave_switch.services.describe_away``)."""
    if not isinstance(entry, Mapping):
        raise TypeError("the daemons that a change ended are not an object")
    if not entry:
        return ""
    text = f"{', '.join(map(str, entry['daemons']))} ended and was not started again"
    lines = " / ".join(map(str, entry["lines"]))
    waited_s = float(entry["waited_s"])
    if waited_s:
        text += f" within {waited_s:.0f} s"
    if lines:
        text += f" (last in its log: {printable(shown_text(lines))})"
    return f"{text}: `{entry['command']}` on the switch starts it"


@decodes("what runs on it")
def reading_of(hostname: str, answer: Mapping[str, Any], last: Reading | None) -> Reading:
    """Return the reading of an answer. The switch leaves out unchanged parts, which are those of the ``last`` reading.

    Raises CommandErrorException if the answer cannot be read, or if it leaves out a part that has changed.
    """
    config = answer["config"]
    frr = answer["frr"]
    refuse_long_frr(frr.get("text"))
    try:
        if "tables" in config or last is None:
            running = running_from({**config["tables"], BGPRAW: frr.get("text")})
        elif config["digest"] == last.tables_digest:
            running = last.running
        else:
            raise CommandErrorException(
                f"{hostname}: its answer leaves out CONFIG_DB, which is not as it was read last"
            )
    except DocumentError as error:
        raise CommandErrorException(f"{hostname}: {error}") from error
    if not {"unapplied", "unseen"} <= answer.keys() or "broken" not in answer["status"]:
        raise CommandErrorException(f"{hostname}: its answer leaves out the state of its daemons")
    last_view = None
    if last is not None:
        last_view = last.view
    observed = observed_of(hostname, answer, last_view)
    return replace(_reading(running, last, answer, observed), telemetry=monitored_of(answer))


@decodes("what a change left")
def learned_of(hostname: str, answer: Mapping[str, Any], last: Reading) -> Reading | None:
    """Return the reading after a change, from the answer to the change and the ``last`` reading before it.

    None if the answer does not show all tables and FRR's lines. Raises CommandErrorException if it cannot be read.
    """
    config = answer.get("config") or {}
    frr = answer.get("frr") or {}
    try:
        if config.get("digest") == last.tables_digest:
            running = last.running
        elif config and config.get("since") == last.tables_digest:
            running = last.running.with_tables(_with_changed_rows(last.running.config_db, config["changed"]))
        else:
            return None
    except DocumentError as error:
        raise CommandErrorException(f"{hostname}: {error}") from error
    if not frr.get("digest") or "text" not in frr:
        return None
    return _reading(running, last, answer, observed_of(hostname, answer))


def _reading(
    running: RunningConfig, last: Reading | None, answer: Mapping[str, Any], observed: Observed | None
) -> Reading:
    """Return the reading with the tables of ``running`` and the other parts of an answer."""
    frr = answer["frr"]
    running = _with_frr(running, last, frr)
    # The answer to a change has no key.
    if answer.get("digest_key", running.digest_key) != running.digest_key:
        running = replace(running, digest_key=str(answer["digest_key"]))
    image = image_of(answer)
    if not image and last is not None:
        # The answer to a change does not name the image.
        image = dict(last.image)
    return Reading(
        running=running,
        tables_digest=str(answer["config"]["digest"]),
        frr_digest=str(frr["digest"] or ""),
        status=status_of(answer["status"]),
        undo=answer.get("undo"),
        earlier=dict(answer.get("earlier") or {}),
        view=observed,
        unapplied=unapplied_of(answer),
        unseen=unseen_of(answer),
        image=image,
    )


def _with_frr(running: RunningConfig, last: Reading | None, frr: Mapping[str, Any]) -> RunningConfig:
    """Return the configuration with FRR's lines from an answer (``frr``).

    If the digest is that of the last reading, they are those of the last reading.
    """
    is_unchanged = last is not None and frr["digest"] and frr["digest"] == last.frr_digest
    if last is None or not is_unchanged:
        text = _frr_text(frr["text"])
        if text == running.frr:
            return running
        return replace(running, frr=text)
    if running is last.running:
        return running
    # The last reading has parsed FRR's text already, which takes longer than anything else here.
    return last.running.with_tables(running.config_db)


def _frr_text(text: object) -> str | None:
    """Return FRR's configuration; None if it is unknown. An empty text counts as unknown."""
    if text is not None and not isinstance(text, str):
        raise TypeError("FRR's configuration is not text")
    if text and text.strip():
        return text
    return None


def _with_changed_rows(config_db: ConfigDb, changes: Mapping[str, Mapping[str, Any]]) -> ConfigDb:
    """Return tables after changes of rows (None for a deleted row); tables without changes are the same objects."""
    tables = dict(config_db)
    for table, rows in changes.items():
        after = dict(tables.get(table, {}))
        for key, fields in rows.items():
            if fields is None:
                after.pop(key, None)
            else:
                after[key] = parse_fields(fields, f"{table}|{key}")
        if after:
            tables[table] = after
        else:
            tables.pop(table, None)
    return tables
