"""The records of shared journals: a heading of JSON on the first line, then lines of the holder's journal.

Records of earlier revisions lack the younger members of the heading, and later ones may have more.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from railweave.codec import CodecError, encode, read_text
from railweave.plan.rollout import NAME


@dataclass(frozen=True, slots=True)
class RecordHeading:
    """Whose a record is, and of which rollout."""

    # Random, since two runners may have the same user and host name.
    token: str
    by: str
    rollout: str
    # False in the last record of a holder, which gives the hold up.
    held: bool
    # When it was written, in UTC by the writer's clock.
    at: str = ""
    # The number of the first record that its lines stand for, so that earlier ones can be removed; 0 for none.
    replaces: int = 0
    # False where the hold is no rollout's and has no journal, such as a drain's.
    journaled: bool = True


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """One record of a holder, with the ``lines`` of its journal."""

    heading: RecordHeading
    lines: bytes = b""

    def encoded(self) -> bytes:
        """Return it as it is stored."""
        return encode(self.heading) + b"\n" + self.lines


def read_record(data: bytes) -> JournalRecord | None:
    """Return the record in ``data``, its stored form; None if that is not a record."""
    first_line, _, lines = data.partition(b"\n")
    try:
        heading: RecordHeading = read_text(RecordHeading, first_line)
    except CodecError:
        return None
    # The name of the rollout becomes that of a file.
    if not NAME.match(heading.rollout) or "/" in heading.rollout:
        return None
    return JournalRecord(heading, lines)


def valid_numbers(numbered: Mapping[int, JournalRecord]) -> list[int]:
    """Return the numbers of the records that no later record replaces, in their order."""
    replaced: set[int] = set()
    for number, record in numbered.items():
        if record.heading.replaces:
            # A damaged record may state any number, so the range begins at the first record that there is.
            first_replaced = max(record.heading.replaces, min(numbered))
            replaced.update(range(first_replaced, number))
    return sorted(numbered.keys() - replaced)


def journal_texts(numbered: Mapping[int, JournalRecord]) -> dict[str, bytes]:
    """Return the lines of each rollout's journal, by the name of the rollout; replaced records are left out."""
    texts: defaultdict[str, bytes] = defaultdict(bytes)
    for number in valid_numbers(numbered):
        texts[numbered[number].heading.rollout] += numbered[number].lines
    return texts
