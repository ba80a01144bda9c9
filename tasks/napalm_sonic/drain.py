"""Takes traffic off a switch or some of its links, and puts it back.

A temporary drain lives under the switch's own timer: the way back lies on the switch before the lines are set, so a
killed client leaves nothing drained. A commit that follows takes over: its rollback file undoes both. It is never
saved. A drain without a time is an operator's: saved, it outlives a reboot and stays until somebody undrains.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from napalm.base.exceptions import CommitError, ConnectionClosedException

from napalm_sonic.apply import Applier, StepRefusedError
from napalm_sonic.confirm import DRAIN, Undo, check_revert_in, refuse_when_pending
from napalm_sonic.paths import new_id
from napalm_sonic.running import read_frr
from railweave.sonic.drain import drain_lines, drain_text, drained_peers, undo_text, undrain_text
from railweave.sonic.frr import parse_frr

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from napalm_sonic.confirm import ConfirmProgram
    from napalm_sonic.options import Options
    from napalm_sonic.session import Session

_READ_BACK_ATTEMPTS = 3
_READ_BACK_PAUSE_S = 0.3


@dataclass(frozen=True, slots=True)
class TemporaryDrain:
    """A drain under the switch's timer; ``commit_id`` is empty where all was drained before and no timer runs.

    ``before`` holds the lines that drained before it, ``undo`` the text that ends it.
    """

    commit_id: str
    before: str
    undo: str

    @property
    def step(self) -> dict[str, Any]:
        """Return the step of a rollback file that ends it."""
        return {"kind": "vtysh", "text": self.undo, DRAIN: True}


@dataclass(frozen=True, slots=True)
class Drainer:
    """What draining needs of one device."""

    session: "Session"
    confirm: "ConfirmProgram"
    options: "Options"

    def drained(self) -> tuple[str, ...]:
        """Return the drained BGP peers; ``("*",)`` for the whole switch, ``()`` for none."""
        return drained_peers(parse_frr(self._frr()))

    def drain(self, peers: Sequence[str] | None) -> None:
        """Drain until somebody undrains, and save; raises CommitError with the lines gone again."""
        refuse_when_pending(self.session.hostname, self.confirm.status())
        before = self._frr()
        if not drain_text(before, peers):
            return
        try:
            self._set(before, peers)
        except CommitError:
            self._applier.apply_frr(undo_text(before, peers))
            raise
        self._save()

    def drain_for(self, peers: Sequence[str] | None, revert_in_s: int, message: str) -> TemporaryDrain:
        """Drain for a change, for so many seconds at most; raises CommitError with the lines gone again."""
        refuse_when_pending(self.session.hostname, self.confirm.status())
        before = self._frr()
        if not drain_text(before, peers):
            return TemporaryDrain("", drain_lines(before), "")
        standing = TemporaryDrain(new_id(), drain_lines(before), undo_text(before, peers))
        self.confirm.prepare(Undo(standing.commit_id, [standing.step], kind=DRAIN), revert_in_s, message)
        self.confirm.arm()
        try:
            self._set(before, peers)
        except CommitError:
            self.confirm.revert()
            raise
        except ConnectionClosedException as error:
            raise ConnectionClosedException(
                f"{error}; the switch ends the drain by itself within {revert_in_s} s"
            ) from error
        return standing

    def undrain(self, standing: TemporaryDrain | None) -> None:
        """Remove what drains; of a temporary drain of this session only its own lines. Raises CommitError.

        A pending commit stays pending and nothing is saved; without one the result is saved.
        """
        if self.confirm.under_drain().alone:
            ended = self.confirm.revert()
            if ended.status != "reverted":
                raise CommitError(f"{self.session.hostname}: the drain did not end: {ended.error or ended.status}")
        if self.end(standing.before if standing is not None else "") and not self.confirm.status().pending:
            self._save()

    def end(self, before: str) -> bool:
        """Remove what drains now and did not ``before`` (a text of lines that drain); tell whether there was any."""
        text = undrain_text(self._frr(), before)
        if text:
            self._apply(text, "undrain", lambda frr: undrain_text(frr, before))
        return bool(text)

    def _set(self, before: str, peers: Sequence[str] | None) -> None:
        self._apply(drain_text(before, peers), "drain", lambda frr: drain_text(frr, peers))

    def _apply(self, text: str, what: str, left: Callable[[str], str]) -> None:
        """Apply FRR lines until nothing is ``left``; a refusal whose effect is there after all is no failure."""
        refused: StepRefusedError | None = None
        try:
            self._applier.apply_frr(text)
        except StepRefusedError as error:
            refused = error
        for attempt in range(_READ_BACK_ATTEMPTS):
            if attempt:
                time.sleep(_READ_BACK_PAUSE_S)
            if not left(self._frr()):
                return
        why = refused if refused is not None else "FRR does not show the lines"
        raise CommitError(f"{self.session.hostname}: FRR did not {what}: {why}")

    def _save(self) -> None:
        """Save FRR alone: a drain changes no row of CONFIG_DB, and what somebody else left unsaved stays so."""
        try:
            self._applier.save_frr()
        except StepRefusedError as error:
            raise CommitError(
                f"{self.session.hostname}: done, but it could not be saved, so a reboot takes it back: {error}"
            ) from error

    @property
    def _applier(self) -> Applier:
        return Applier(self.session, self.options)

    def _frr(self) -> str:
        found = read_frr(self.session)
        if found is None:
            raise CommitError(f"{self.session.hostname}: FRR does not answer (is the bgp container up?)")
        return found


class Traffic:
    """Leading traffic off a switch and back, under its lock: ``driver.traffic``, beside NAPALM's own methods.

    ``temporary`` is this session's drain for a change, None where it has none.
    """

    def __init__(self, drainer: Drainer, locked: "Callable[[], AbstractContextManager[None]]") -> None:
        self._drainer = drainer
        self._locked = locked
        self.temporary: TemporaryDrain | None = None

    def drain(self, peers: Sequence[str] | None, *, revert_in: int | None, message: str = "") -> None:
        """Take traffic off these BGP peers, or off the whole switch (None), by BGP graceful shutdown.

        With ``revert_in`` (seconds) it is temporary: the switch ends it by itself, a following ``commit_config`` of
        this driver takes it over with a way back that undoes both, and it is never saved. Without, it is saved and
        stays until somebody calls ``undrain``. What is drained already is left as it is.
        """
        check_revert_in(revert_in)
        with self._locked():
            if revert_in is None:
                self._drainer.drain(peers)
            else:
                self.temporary = self._drainer.drain_for(peers, revert_in, message)

    def undrain(self) -> None:
        """Bring the traffic back: end this session's temporary drain, or where it has none remove all that drains.

        While a commit is pending it stays so, and nothing is saved.
        """
        with self._locked():
            self._drainer.undrain(self.temporary)
        self.temporary = None

    def drained(self) -> tuple[str, ...]:
        """Return the drained BGP peers; ``("*",)`` where the whole switch is."""
        return self._drainer.drained()
