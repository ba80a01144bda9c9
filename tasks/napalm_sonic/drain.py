"""Drain a switch or some of its links by BGP graceful shutdown, and undrain it.

A temporary drain is a transaction under the switch's own timer: a killed client leaves nothing drained. A following
commit supersedes it: its rollback document undoes both. It is never saved. A drain without a timer is an operator's: it
is saved, so it survives a reboot and stays until somebody undrains.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from napalm.base.exceptions import CommitError

from napalm_sonic.codec import error_of
from napalm_sonic.lock import who
from napalm_sonic.observed import Observed, observed_of
from napalm_sonic.program import SwitchProgram, new_id
from napalm_sonic.reading import Reading, refuse_when_pending
from railweave.sonic.frr import FrrDocument, FrrEntry, parse_frr
from railweave.sonic.frr.document import never_compared
from railweave.sonic.frr.drain import drain_lines, drain_text, drained_peers, redrained, undo_text, undrain_text
from railweave.sonic.frr.lines import JOIN
from railweave.switch_driver import CommitStatus, ObserveRequest
from railweave_switch.state import TransactionKind
from railweave_switch.state_forms import VERSION


@dataclass(frozen=True, slots=True)
class TemporaryDrain:
    """A drain under the switch's timer; ``commit_id`` is empty if everything was drained before, so no timer runs.

    ``before`` are the lines of earlier drains.
    """

    commit_id: str
    before: tuple[FrrEntry, ...]


@dataclass(frozen=True, slots=True)
class _DrainLines:
    """FRR lines that drain or undrain, as text for vtysh."""

    # As messages call it: "drain" or "undrain".
    verb: str
    # FRR's configuration without them.
    before: FrrDocument
    text: str
    undo_text: str
    # Returns the text of the lines that a configuration still lacks, empty if it has all.
    missing_text: Callable[[FrrDocument], str]


@dataclass(frozen=True, slots=True)
class Drainer:
    """Drains and undrains one device."""

    program: SwitchProgram

    def drained(self) -> tuple[str, ...]:
        """Return the drained BGP peers; ``("*",)`` for the whole switch, ``()`` for none."""
        return drained_peers(self._read_frr())

    def drain(
        self,
        peers: Sequence[str] | None,
        revert_in_s: int | None,
        message: str,
        request: ObserveRequest | None,
        hold: str = "",
    ) -> tuple[TemporaryDrain, Observed | None]:
        """Drain for at most ``revert_in_s`` seconds; with None drain until somebody undrains, and save.

        ``peers`` are BGP peers, None for the whole switch. The last reading is used; the switch is read again only if
        it reports that its configuration has changed since. With a ``hold`` the switch drains only while the hold
        lasts. Returns the drain, and the observations that ``request`` selects. Raises CommitError, with the lines
        removed again, and HeldError if the hold is over.
        """
        reading = self.program.last_reading
        if reading is not None and not reading.status.pending:
            lines = self._lines_to_drain(reading, peers)
            # Without lines everything seems to be drained already, which only a new reading can tell.
            if lines.text:
                name, answer = self._apply(lines, revert_in_s, message, request, hold)
                # Otherwise the configuration has changed since the last reading.
                if answer.get("code") != "moved":
                    return self._drain_result(lines, name, answer, revert_in_s)
        lines = self._lines_to_drain(self.program.read(), peers)
        if not lines.text:
            return TemporaryDrain("", lines.before.drain), None
        name, answer = self._apply(lines, revert_in_s, message, request, hold)
        return self._drain_result(lines, name, answer, revert_in_s)

    def _lines_to_drain(self, reading: Reading, peers: Sequence[str] | None) -> _DrainLines:
        """Return the lines that drain; raises CommitError if a transaction is pending, or FRR did not answer."""
        refuse_when_pending(self.program.hostname, reading.status)
        before = self._known_frr(reading.running.frr_document)
        return _DrainLines(
            verb="drain",
            before=before,
            text=drain_text(before, peers),
            undo_text=undo_text(before, peers),
            missing_text=lambda running: drain_text(running, peers),
        )

    def _drain_result(
        self, lines: _DrainLines, name: str, answer: dict[str, Any], revert_in_s: int | None
    ) -> tuple[TemporaryDrain, Observed | None]:
        """Return the drain and the observations of an answer; raises CommitError if the drain did not succeed."""
        self._check_applied(lines, name, answer, revert_in_s)
        return TemporaryDrain(name, lines.before.drain), observed_of(self.program.hostname, answer)

    def undrain(self, own: TemporaryDrain | None, request: ObserveRequest | None) -> Observed | None:
        """Remove the lines of drains, or only those of ``own``, this session's temporary drain. Raises CommitError.

        If a commit is pending, it stays pending, nothing is saved, and the observations that ``request`` selects are
        returned. Otherwise the result is saved, and None is returned.
        """
        reading = self.program.last_reading
        if reading is not None and reading.status.pending and reading.status.drain:
            # The last reading may be outdated; the switch refuses then.
            with suppress(CommitError):
                return self._undrain_commit(reading.status, reading, request)
        status = self.program.status()
        self._refuse_others(status, own, reading)
        if status.drains:
            self.program.revert(commit_id=status.commit_id)
        elif status.pending and status.drain:
            return self._undrain_commit(status, reading, request)
        elif own is not None and own.commit_id:
            # The switch has ended this session's drain by itself; another session's is not touched.
            return None
        self._remove_lines(own)
        return None

    def _remove_lines(self, own: TemporaryDrain | None) -> None:
        """Remove the lines that drain, except those that were there before this session's drain, and save."""
        before = self._read_frr()
        kept_lines: tuple[FrrEntry, ...] = ()
        if own is not None:
            kept_lines = own.before
        lines = _DrainLines(
            verb="undrain",
            before=before,
            text=undrain_text(before, kept_lines),
            undo_text=drain_lines(before),
            missing_text=lambda running: undrain_text(running, kept_lines),
        )
        if lines.text:
            name, answer = self._apply(lines, revert_in_s=None, message="", request=None)
            self._check_applied(lines, name, answer, revert_in_s=None)

    def _refuse_others(self, status: CommitStatus, own: TemporaryDrain | None, reading: Reading | None) -> None:
        """Raise CommitError if a transaction is pending that this session neither made nor has read."""
        if own is not None and own.commit_id:
            is_known = own.commit_id in (status.commit_id, status.drain)
        else:
            is_known = reading is None or reading.status.commit_id == status.commit_id
        if status.pending and not is_known:
            raise CommitError(
                f"{self.program.hostname}: {status.kind} {status.commit_id} by {status.by or 'another session'} waits "
                f"there; its drain was left as it is"
            )

    def _undrain_commit(
        self, status: CommitStatus, reading: Reading | None, request: ObserveRequest | None
    ) -> Observed | None:
        """End the drain under which a commit is pending; return the observations that ``request`` selects."""
        answer = self.program.undrain(status.commit_id, request)
        if reading is not None and reading.running.frr_document is not None:
            self._frr_after(reading.running.frr_document, answer)
        return observed_of(self.program.hostname, answer)

    def _apply(
        self, lines: _DrainLines, revert_in_s: int | None, message: str, request: ObserveRequest | None, hold: str = ""
    ) -> tuple[str, dict[str, Any]]:
        """Apply FRR lines as a transaction of the switch; return the transaction's id and the answer."""
        name = new_id()
        reading = self.program.last_reading or self.program.read()
        transaction = _transaction(name, reading.status.commit_id, lines, revert_in_s, message)
        answer = self.program.apply({**transaction, "frr_before": reading.frr_digest, "hold": hold}, request)
        return name, answer

    def _check_applied(self, lines: _DrainLines, name: str, answer: dict[str, Any], revert_in_s: int | None) -> None:
        """Raise CommitError unless FRR has the lines of transaction ``name``; if it lacks some, undo all of them."""
        hostname = self.program.hostname
        if answer.get("error") and answer["outcome"] == "confirmed":
            raise CommitError(
                f"{hostname}: done, but it could not be saved, so a reboot reverts it: {error_of(answer)}"
            )
        if answer["outcome"] not in ("applied", "confirmed"):
            raise CommitError(f"{hostname}: FRR did not {lines.verb}: {error_of(answer)}")
        running = self._frr_after(lines.before, answer)
        if running is None or lines.missing_text(running):
            # Without a timer the transaction is confirmed already, and can only be undone by another one.
            if revert_in_s is None:
                undo = replace(lines, text=lines.undo_text, undo_text=lines.text)
                self.program.apply(_transaction(new_id(), name, undo, revert_in_s=None, message=""))
            else:
                self.program.revert(commit_id=name)
            raise CommitError(f"{hostname}: FRR did not {lines.verb}: FRR does not show the lines")

    def _frr_after(self, before: FrrDocument, answer: Mapping[str, Any]) -> FrrDocument | None:
        """Return FRR's configuration after a drain or undrain, and keep it in the last reading.

        None if FRR does not answer. The switch lists the changed lines, so that the text has to be parsed only if other
        lines have changed as well.
        """
        frr = answer.get("frr") or {}
        if frr.get("text") is None:
            return None
        after = None
        if frr.get("removed") is not None and frr.get("added") is not None:
            after = redrained(before, _entries(frr["removed"]), _entries(frr["added"]))
        if after is None:
            after = parse_frr(frr["text"])
        reading = self.program.last_reading
        if reading is not None:
            self.program.last_reading = replace(reading, running=reading.running.parsed_as(after))
        return after

    def _read_frr(self) -> FrrDocument:
        """Read FRR's running configuration; raises CommitError if FRR does not answer."""
        return self._known_frr(self.program.read().running.frr_document)

    def _known_frr(self, document: FrrDocument | None) -> FrrDocument:
        """Return FRR's configuration; raises CommitError if it is unknown (None)."""
        if document is None:
            raise CommitError(f"{self.program.hostname}: FRR does not answer (is the bgp container up?)")
        return document


def _entries(lines: Sequence[Sequence[str]]) -> list[FrrEntry]:
    """Return the entries of an answer's lines, each a list of its contexts and the line itself."""
    return [FrrEntry(JOIN.join(line[:-1]), line[-1]) for line in lines]


def _transaction(name: str, last: str, lines: _DrainLines, revert_in_s: int | None, message: str) -> dict[str, Any]:
    """Return a transaction that applies FRR lines; ``last`` is the transaction that it follows."""
    return {
        "version": VERSION,
        "id": name,
        "last": last,
        "kind": TransactionKind.DRAIN,
        "by": who(),
        "message": message,
        "deadline_s": revert_in_s,
        "before": {},
        "after": {},
        "frr_ignored": never_compared(lines.before),
        "steps": [{"kind": "vtysh", "text": lines.text}],
        "rollback": {"steps": [{"kind": "vtysh", "text": lines.undo_text}], "undo": None},
    }


class Traffic:
    """Drains and undrains: ``driver.traffic``, beside NAPALM's own methods.

    ``temporary`` is this session's temporary drain, None if it has none.
    """

    def __init__(self, drainer: Drainer) -> None:
        self._drainer = drainer
        self.temporary: TemporaryDrain | None = None

    def drain(
        self,
        peers: Sequence[str] | None,
        *,
        revert_in: int | None,
        message: str = "",
        request: ObserveRequest | None = None,
        hold: str = "",
    ) -> Observed | None:
        """Drain these BGP peers, or the whole switch (None), by BGP graceful shutdown.

        With ``revert_in`` (seconds) the drain is temporary: the switch ends it by itself, a following ``commit_config``
        of this driver supersedes it with a rollback document for both, and it is never saved. Without, it is saved and
        stays until somebody calls ``undrain``. Peers that are drained already stay drained. With a ``hold`` (see
        ``hold``) the switch drains only while the hold lasts. Return the observations that ``request`` selects, None if
        there was nothing to drain.
        """
        check_revert_in(revert_in)
        drain, observed = self._drainer.drain(peers, revert_in, message, request, hold)
        if revert_in is not None:
            self.temporary = drain
        return observed

    def hold(self, name: str, peers: Sequence[str], *, seconds: float, message: str = "", over: str = "") -> None:
        """Announce on the switch, as the hold ``name``, that these peers are about to be drained.

        ``("*",)`` means all peers, an empty list those of another switch of its plane. ``over`` names a hold whose
        owner has certainly ended. All clients that read the switch see the hold (``railweave_switch.holding``). It ends
        with the ``drain`` that names it, or with 0 ``seconds``. Raises HeldError if another client holds the switch.
        """
        self._drainer.program.hold(name, peers, seconds, message, over)

    def undrain(self, *, request: ObserveRequest | None = None) -> Observed | None:
        """End this session's temporary drain; without one remove all drains.

        A pending commit stays pending, nothing is saved, and the observations that ``request`` selects are returned.
        """
        observed = self._drainer.undrain(self.temporary, request)
        self.temporary = None
        return observed

    def drained(self) -> tuple[str, ...]:
        """Return the drained BGP peers; ``("*",)`` for the whole switch."""
        return self._drainer.drained()


def check_revert_in(revert_in: int | None) -> None:
    """Raise CommitError unless ``revert_in`` is None or a whole number of seconds above 0."""
    if revert_in is None:
        return
    # To Python, True is an integer.
    is_whole = isinstance(revert_in, int) and not isinstance(revert_in, bool)
    if not is_whole or revert_in <= 0:
        raise CommitError(f"revert_in is a whole number of seconds above 0, not {revert_in!r}")
