"""Takes traffic off a switch or some of its links, and puts it back.

A temporary drain is a transaction under the switch's own timer: a killed client leaves nothing drained. A commit that
follows takes over: its rollback document undoes both. It is never saved. A drain without a time is an operator's:
saved, it outlives a reboot and stays until somebody undrains.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from napalm.base.exceptions import CommitError

from napalm_sonic.lock import who
from napalm_sonic.paths import new_id
from napalm_sonic.program import SwitchProgram, refuse_when_pending
from napalm_sonic.running import read_frr
from napalm_sonic.words import told_of
from railweave.sonic.frr import parse_frr
from railweave.sonic.frr.document import never_compared
from railweave.sonic.frr.drain import drain_lines, drain_text, drained_peers, undo_text, undrain_text
from railweave_switch.state import DRAIN, VERSION

if TYPE_CHECKING:
    from napalm_sonic.session import Session


@dataclass(frozen=True, slots=True)
class TemporaryDrain:
    """A drain under the switch's timer; ``commit_id`` is empty where all was drained before and no timer runs.

    ``before`` holds the lines that drained before it.
    """

    commit_id: str
    before: str


@dataclass(frozen=True, slots=True)
class Drainer:
    """What draining needs of one device."""

    session: "Session"
    program: SwitchProgram

    def drained(self) -> tuple[str, ...]:
        """Return the drained BGP peers; ``("*",)`` for the whole switch, ``()`` for none."""
        return drained_peers(parse_frr(self._frr()))

    def drain(self, peers: Sequence[str] | None) -> None:
        """Drain until somebody undrains, and save; raises CommitError with the lines gone again."""
        before = self._frr_when_free()
        text = drain_text(before, peers)
        if text:
            back = undo_text(before, peers)
            self._transact("drain", before, text, back, None, "", lambda now: drain_text(now, peers))

    def drain_for(self, peers: Sequence[str] | None, revert_in_s: int, message: str) -> TemporaryDrain:
        """Drain for a change, for so many seconds at most; raises CommitError with the lines gone again."""
        before = self._frr_when_free()
        text = drain_text(before, peers)
        if not text:
            return TemporaryDrain("", drain_lines(before))
        back = undo_text(before, peers)
        name = self._transact("drain", before, text, back, revert_in_s, message, lambda now: drain_text(now, peers))
        return TemporaryDrain(name, drain_lines(before))

    def undrain(self, standing: TemporaryDrain | None) -> None:
        """Remove what drains; of a temporary drain of this session only its own lines. Raises CommitError.

        A pending commit stays pending and nothing is saved; without one the result is saved.
        """
        status = self.program.status()
        if status.drains:
            self.program.revert(commit_id=status.commit_id)
        elif status.pending and status.drain:
            self.program.undrain()
            return
        before = self._frr()
        kept = standing.before if standing is not None else ""
        text = undrain_text(before, kept)
        if text:
            back = drain_lines(before)
            self._transact("undrain", before, text, back, None, "", lambda now: undrain_text(now, kept))

    def _transact(
        self,
        what: str,
        before: str,
        text: str,
        back: str,
        revert_in_s: int | None,
        message: str,
        left: Callable[[str], str],
    ) -> str:
        """Let the switch apply FRR lines; where something is ``left`` to do afterwards, take them back."""
        name, ignored = new_id(), never_compared(parse_frr(before).version)
        answer = self.program.apply(_transaction(name, text, back, revert_in_s, message, ignored))
        if answer.get("error") and answer["outcome"] == "confirmed":
            raise CommitError(
                f"{self.session.hostname}: done, but it could not be saved, so a reboot takes it back: "
                f"{told_of(answer)}"
            )
        if answer["outcome"] not in ("applied", "confirmed"):
            raise CommitError(f"{self.session.hostname}: FRR did not {what}: {told_of(answer)}")
        now = (answer.get("frr") or {}).get("text")
        if now is None or left(now):
            if revert_in_s is None:
                self.program.apply(_transaction(new_id(), back, text, None, "", ignored))
            else:
                self.program.revert(commit_id=name)
            raise CommitError(f"{self.session.hostname}: FRR did not {what}: FRR does not show the lines")
        return name

    def _frr_when_free(self) -> str:
        """Return FRR's configuration; raises CommitError where a transaction is pending."""
        found = self.program.read()
        refuse_when_pending(self.session.hostname, found.status)
        if found.running.frr is None:
            raise CommitError(f"{self.session.hostname}: FRR does not answer (is the bgp container up?)")
        return found.running.frr

    def _frr(self) -> str:
        found = read_frr(self.session)
        if found is None:
            raise CommitError(f"{self.session.hostname}: FRR does not answer (is the bgp container up?)")
        return found


def _transaction(
    name: str, text: str, back: str, revert_in_s: int | None, message: str, ignored: str
) -> Mapping[str, Any]:
    return {
        "version": VERSION,
        "id": name,
        "kind": DRAIN,
        "by": who(),
        "message": message,
        "deadline_s": revert_in_s,
        "before": {},
        "after": {},
        "frr_ignored": ignored,
        "steps": [{"kind": "vtysh", "text": text}],
        "rollback": {"steps": [{"kind": "vtysh", "text": back}], "undo": None},
    }


class Traffic:
    """Leading traffic off a switch and back: ``driver.traffic``, beside NAPALM's own methods.

    ``temporary`` is this session's drain for a change, None where it has none.
    """

    def __init__(self, drainer: Drainer) -> None:
        self._drainer = drainer
        self.temporary: TemporaryDrain | None = None

    def drain(self, peers: Sequence[str] | None, *, revert_in: int | None, message: str = "") -> None:
        """Take traffic off these BGP peers, or off the whole switch (None), by BGP graceful shutdown.

        With ``revert_in`` (seconds) it is temporary: the switch ends it by itself, a following ``commit_config`` of
        this driver takes it over with a way back that undoes both, and it is never saved. Without, it is saved and
        stays until somebody calls ``undrain``. What is drained already is left as it is.
        """
        check_revert_in(revert_in)
        if revert_in is None:
            self._drainer.drain(peers)
        else:
            self.temporary = self._drainer.drain_for(peers, revert_in, message)

    def undrain(self) -> None:
        """Bring the traffic back: end this session's temporary drain, or where it has none remove all that drains.

        While a commit is pending it stays so, and nothing is saved.
        """
        self._drainer.undrain(self.temporary)
        self.temporary = None

    def drained(self) -> tuple[str, ...]:
        """Return the drained BGP peers; ``("*",)`` where the whole switch is."""
        return self._drainer.drained()


def check_revert_in(revert_in: int | None) -> None:
    """Raise CommitError for anything but None or a whole number of seconds above 0."""
    if revert_in is not None and (isinstance(revert_in, bool) or not isinstance(revert_in, int) or revert_in <= 0):
        raise CommitError(f"revert_in is a whole number of seconds above 0, not {revert_in!r}")
