"""Hide secrets in a device's output before messages quote it: those of its whole running configuration, since SONiC
checks and quotes tables that a change does not touch, too."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from railweave.secrets import HIDDEN, secret_values, shown_text
from railweave.sonic.document import BGPRAW, RunningConfig

# Parts of an answer of ``railweave-switch`` with output of SONiC or lines of its log; the others are data, digests and
# names.
_QUOTING_PARTS = ("error", "missing", "restored", "refused", "broken")
_MOST_CHARACTERS = 65536
# Minimum length of a part of a secret: fewer characters at the end of a text are more likely an ordinary word.
_LEAST_OF_A_CUT_VALUE = 5
# Parts of an answer that have such parts themselves.
_NESTED_PARTS = ("status", "found", "answer")


@dataclass
class Quotes:
    """Hides secrets in the output of one device, by the configuration that was read last."""

    running: RunningConfig | None = field(default=None, repr=False)

    def shown(self, text: str, secrets: Iterable[str] = ()) -> str:
        """Return a text of the device without the secrets of its configuration, and without ``secrets``."""
        if not text:
            return text
        values = [*secrets, *self._values()]
        return _without_cut_values(shown_text(text, values), values)

    def _values(self) -> frozenset[str]:
        if self.running is None:
            return frozenset()
        return secret_values({**self.running.config_db, BGPRAW: self.running.frr or ""})

    def shown_answer(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Return an answer of ``railweave-switch`` without secrets in its texts."""
        shown = dict(answer)
        for name in _QUOTING_PARTS:
            if shown.get(name):
                shown[name] = self._shown_part(shown[name])
        for name in _NESTED_PARTS:
            if isinstance(shown.get(name), Mapping):
                shown[name] = self.shown_answer(shown[name])
        return shown

    def _shown_part(self, part: Any) -> Any:
        """Return a part of an answer without secrets in any of its texts, long ones cut."""
        if isinstance(part, str):
            return self.shown(part[:_MOST_CHARACTERS])
        if isinstance(part, list):
            return [self._shown_part(member) for member in part]
        if isinstance(part, Mapping):
            return {name: self._shown_part(member) for name, member in part.items()}
        return part


def _without_cut_values(text: str, values: Iterable[str]) -> str:
    """Return a truncated text without parts of secrets at its begin and end."""
    for value in values:
        # The longest part first: a shorter one would leave the rest of it.
        for length in range(len(value) - 1, _LEAST_OF_A_CUT_VALUE - 1, -1):
            if text.startswith(value[-length:]):
                text = HIDDEN + text[length:]
            if text.endswith(value[:length]):
                text = text[:-length] + HIDDEN
    return text
