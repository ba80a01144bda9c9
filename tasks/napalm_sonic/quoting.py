"""Words of a device as messages may quote them: without the secrets of what it runs, also of tables that no change
touches, since SONiC checks and quotes the whole configuration."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from railweave.secrets import HIDDEN, secret_values, shown_text
from railweave.sonic.document import BGPRAW, RunningConfig

_WORDS = ("error", "missing", "restored", "refused", "broken")
"""Parts of an answer of ``railweave-switch`` that are words of SONiC or lines of its log; the others are data, digests
and names."""
_MOST_CHARACTERS = 65536
_LEAST_OF_A_CUT_VALUE = 5
"""Characters: fewer at the end of a text are more likely a word than the beginning of a secret."""
_INNER = ("status", "found", "answer")
"""Parts of an answer that hold such parts."""


@dataclass
class Quotes:
    """What one device may quote: the configuration that was read of it last."""

    running: RunningConfig | None = field(default=None, repr=False)

    def shown(self, text: str, secrets: Iterable[str] = ()) -> str:
        """Return words of the device without the secrets of its configuration, and without ``secrets``."""
        if not text:
            return text
        values = [*secrets, *self._values()]
        return _without_cut_values(shown_text(text, values), values)

    def _values(self) -> frozenset[str]:
        running = self.running
        return frozenset() if running is None else secret_values({**running.config_db, BGPRAW: running.frr or ""})

    def shown_answer(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Return an answer of ``railweave-switch`` whose words are without secrets."""
        shown = dict(answer)
        for name in _WORDS:
            if shown.get(name):
                shown[name] = self._shown_part(shown[name])
        for name in _INNER:
            if isinstance(shown.get(name), Mapping):
                shown[name] = self.shown_answer(shown[name])
        return shown

    def _shown_part(self, part: Any) -> Any:
        if isinstance(part, str):
            return self.shown(part[:_MOST_CHARACTERS])
        if isinstance(part, list):
            return [self._shown_part(member) for member in part]
        if isinstance(part, Mapping):
            return {name: self._shown_part(member) for name, member in part.items()}
        return part


def _without_cut_values(text: str, values: Iterable[str]) -> str:
    """Return words that were cut to a length without what they begin and end with of a secret."""
    for value in values:
        for length in range(len(value) - 1, _LEAST_OF_A_CUT_VALUE - 1, -1):
            if text.startswith(value[-length:]):
                text = HIDDEN + text[length:]
            if text.endswith(value[:length]):
                text = text[:-length] + HIDDEN
    return text
