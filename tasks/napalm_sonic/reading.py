"""What the switch's program tells: how the last transaction stands, and what runs.

Digests come first: what a session knows already is not sent again, and is the same value again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from napalm.base.exceptions import CommandErrorException, CommitError

from napalm_sonic.bounds import refuse_long_frr
from napalm_sonic.decoding import decodes
from napalm_sonic.observed import Observed, image_of, observed_of, unapplied_of, unseen_of
from railweave.printable import printable
from railweave.secrets import shown_text
from railweave.sonic.document import BGPRAW, DocumentError, RunningConfig, parse_fields, running_from
from railweave.sonic.rows import ConfigDb
from railweave_switch.daemons import Unapplied
from railweave_switch.state import ENDED, OPEN, Stage, TransactionKind

PENDING = frozenset({*OPEN, Stage.EXPIRED})
"""States in which a transaction waits for its confirmation or for its revert."""
_STAGES = frozenset({*PENDING, *ENDED, Stage.NONE, Stage.DAMAGED})
"""What a switch may say of its last transaction; of any other word nobody knows whether something waits."""


@dataclass(frozen=True, slots=True)
class Status:
    """What the switch says of its last transaction; ``none`` where it knows of none.

    ``drain`` is the temporary drain under which a commit waits, ``last`` the last commit that was kept, ``missing``
    what a revert could not restore, ``repair`` the command on the switch that repairs the state. ``generation`` is that
    of the intent which the switch runs: its ``number``, and what the deployment said of it. ``remaining_s`` is when the
    switch reverts by itself, in seconds from now; None where no timer runs. ``broken`` names daemons that a change
    ended and that nobody has started again, with the switch's words of them and the command. ``held`` are the BGP peers
    (``("*",)``: all) whose traffic somebody is about to lead away under the hold ``hold``, ``held_by`` says who, and
    ``held_s`` for how many seconds more at most.
    """

    status: str
    commit_id: str = ""
    kind: str = ""
    by: str = ""
    message: str = ""
    error: str = ""
    missing: tuple[str, ...] = ()
    drain: str = ""
    last: str = ""
    repair: str = ""
    generation: Mapping[str, Any] = field(default_factory=dict)
    remaining_s: float | None = None
    broken: str = ""
    hold: str = ""
    held: tuple[str, ...] = ()
    held_by: str = ""
    held_s: float = 0.0

    @property
    def pending(self) -> bool:
        """True while a transaction waits, or was not restored in full."""
        return self.status in PENDING

    @property
    def overdue(self) -> bool:
        """True where no process on the switch restores it: after a reboot, or after a revert that failed."""
        return self.status in (Stage.EXPIRED, Stage.FAILED)

    @property
    def damage(self) -> str:
        """Return in words what is wrong with the state that the switch keeps of its transactions; empty for nothing."""
        if self.status != Stage.DAMAGED:
            return ""
        return self.error or "the switch does not say how"

    @property
    def waits_for(self) -> str:
        """Return in words which transaction waits, and when the switch reverts it; empty where none does."""
        if not self.pending:
            return ""
        what = f"{self.kind or 'commit'} {self.commit_id}".rstrip()
        by = f" of {self.by}" if self.by else ""
        when = f", reverts in {self.remaining_s:.0f} s" if self.remaining_s is not None else ""
        return f"{what}{by} is {self.status}{when}"

    @property
    def is_drain(self) -> bool:
        """True where the last transaction is a drain, temporary or an operator's."""
        return self.kind == TransactionKind.DRAIN

    @property
    def drains(self) -> bool:
        """True where nothing is pending but a temporary drain."""
        return self.pending and self.is_drain


@dataclass(frozen=True, slots=True)
class Recovery:
    """What a recovery found, and its outcome in the program's words.

    ``restored`` and ``missing`` name rows as ``TABLE|KEY`` and lines of FRR, without secrets.
    """

    found: Status
    outcome: str
    restored: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """What runs, with the digests by which a later reading of the same costs no transfer; ``seen`` where asked for.

    ``earlier`` is the generation before the commit that ``undo`` undoes, ``unapplied`` what SONiC's daemons apply that
    differs from CONFIG_DB, None where that is not known, ``unseen`` the fields of ports of which no port tells what is
    in force, ``image`` what its image says of the release that it is."""

    running: RunningConfig
    config_digest: str
    frr_digest: str
    status: Status
    undo: Mapping[str, Any] | None = field(default=None, repr=False)
    earlier: Mapping[str, Any] = field(default_factory=dict)
    seen: Observed | None = field(default=None, repr=False)
    unapplied: tuple[Unapplied, ...] | None = None
    unseen: tuple[str, ...] = ()
    image: Mapping[str, str] = field(default_factory=dict)


def refuse_when_pending(hostname: str, status: Status) -> None:
    """Raise CommitError where a transaction waits: a second change would have no rollback document of its own."""
    if status.pending:
        raise CommitError(
            f"{hostname}: {status.kind} {status.commit_id} by {status.by or 'another session'} is {status.status}; "
            f"confirm_commit() keeps it, rollback() undoes it"
        )


@decodes("the status of its last transaction")
def status_of(told: Mapping[str, Any]) -> Status:
    """Return the status of an answer."""
    hold = told.get("hold") or {}
    if told["status"] not in _STAGES:
        raise ValueError(f"{told['status']!r} is no status")
    return Status(
        status=told["status"],
        commit_id=str(told.get("id") or ""),
        kind=str(told.get("kind") or ""),
        by=str(told.get("by") or ""),
        message=str(told.get("message") or ""),
        error=str(told.get("error") or ""),
        missing=tuple(map(str, told.get("missing") or ())),
        drain=str(told.get("drain") or ""),
        last=str(told.get("last") or ""),
        repair=str(told.get("repair") or ""),
        generation=dict(told.get("generation") or {}),
        remaining_s=None if told.get("remaining_s") is None else float(told["remaining_s"]),
        broken=_broken(told.get("broken", {})),
        hold=str(hold.get("id") or ""),
        held=tuple(map(str, hold.get("peers") or ())),
        held_by=str(hold.get("words") or ""),
        held_s=float(hold.get("remaining_s") or 0.0),
    )


def _broken(told: object) -> str:
    if not isinstance(told, Mapping):
        raise TypeError("the daemons that a change ended are no object")
    if not told:
        return ""
    names, lines = ", ".join(map(str, told["daemons"])), " / ".join(map(str, told["lines"]))
    said = f" (last in its log: {printable(shown_text(lines))})" if lines else ""
    waited_s = float(told["waited_s"])
    ended = f"{names} ended and was not started again"
    if waited_s:
        ended = f"{ended} within {waited_s:.0f} s"
    return f"{ended}{said}: `{told['command']}` on the switch starts it"


@decodes("what runs on it")
def reading_of(hostname: str, answer: Mapping[str, Any], known: Reading | None) -> Reading:
    """Return what an answer says of what runs: what it leaves out is as ``known``, and the same value again."""
    config, frr = answer["config"], answer["frr"]
    refuse_long_frr(frr.get("text"))
    try:
        if "tables" in config or known is None:
            running = running_from({**config["tables"], BGPRAW: frr.get("text")})
        elif config["digest"] == known.config_digest:
            running = known.running
        else:
            raise CommandErrorException(
                f"{hostname}: its answer leaves out CONFIG_DB, which is not as it was read last"
            )
    except DocumentError as error:
        raise CommandErrorException(f"{hostname}: {error}") from error
    if not {"unapplied", "unseen"} <= answer.keys() or "broken" not in answer["status"]:
        raise CommandErrorException(f"{hostname}: its answer leaves out how its daemons stand")
    return _read_as(running, known, answer, observed_of(hostname, answer))


@decodes("what a change left")
def learned_of(hostname: str, answer: Mapping[str, Any], known: Reading) -> Reading | None:
    """Return what runs after a change, by what the answer says of it; None where that is not enough."""
    config, frr = answer.get("config") or {}, answer.get("frr") or {}
    try:
        if config.get("digest") == known.config_digest:
            running = known.running
        elif config and config.get("since") == known.config_digest:
            running = known.running.with_tables(_changed(known.running.config_db, config["changed"]))
        else:
            return None
    except DocumentError as error:
        raise CommandErrorException(f"{hostname}: {error}") from error
    if not frr.get("digest") or "text" not in frr:
        return None
    return _read_as(running, known, answer, observed_of(hostname, answer))


def _read_as(
    running: RunningConfig, known: Reading | None, answer: Mapping[str, Any], seen: Observed | None
) -> Reading:
    """Return the reading of tables that are those of ``running``."""
    frr = answer["frr"]
    if known is not None and frr["digest"] and frr["digest"] == known.frr_digest:
        running = running if running is known.running else known.running.with_tables(running.config_db)
    elif (text := _frr_text(frr["text"])) != running.frr:
        running = replace(running, frr=text)
    if answer.get("digest_key", running.digest_key) != running.digest_key:
        running = replace(running, digest_key=str(answer["digest_key"]))
    return Reading(
        running=running,
        config_digest=str(answer["config"]["digest"]),
        frr_digest=str(frr["digest"] or ""),
        status=status_of(answer["status"]),
        undo=answer.get("undo"),
        earlier=dict(answer.get("earlier") or {}),
        seen=seen,
        unapplied=unapplied_of(answer),
        unseen=unseen_of(answer),
        image=image_of(answer) or (known.image if known else {}),
    )


def _frr_text(told: object) -> str | None:
    """Return FRR's configuration; None where it is unknown, as an empty text is."""
    if told is not None and not isinstance(told, str):
        raise TypeError("FRR's configuration is no text")
    return told if told and told.strip() else None


def _changed(config_db: ConfigDb, rows: Mapping[str, Mapping[str, Any]]) -> ConfigDb:
    """Return tables after some rows came, changed or went (None); those that are not touched are the same values."""
    tables = dict(config_db)
    for table, named in rows.items():
        after = dict(tables.get(table, {}))
        for key, fields in named.items():
            if fields is None:
                after.pop(key, None)
            else:
                after[key] = parse_fields(fields, f"{table}|{key}")
        if after:
            tables[table] = after
        else:
            tables.pop(table, None)
    return tables
