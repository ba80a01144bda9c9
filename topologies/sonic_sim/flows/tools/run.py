"""One run of a tool: its words, and the flows that it starts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sonic_sim.flows.model import FlowModel, Transfer
from sonic_sim.flows.tools.starter import Starter


class ToolError(Exception):
    """A tool ends with its own text."""

    def __init__(self, text: str, *, status: int = 1, output: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.output = output
        self.status = status


@dataclass(frozen=True, slots=True)
class Run:
    """A tool that runs on a node; ``say`` prints."""

    model: FlowModel
    starter: Starter
    node: str
    name: str
    words: Sequence[str]
    environment: Mapping[str, str]
    say: Callable[..., None]

    async def send(self, transfer: Transfer, after: Callable[[], float] | None = None) -> float:
        """Let the flows of a transfer send for their time, and return the seconds that they took.

        ``after`` computes that time if it depends on the rates of the flows; it is called once they have begun.
        """
        try:
            await self.starter.begin(transfer)
            if after is not None:
                self.model.set_seconds(transfer, after())
            await self.starter.sleep(self.model.real_s(transfer.seconds))
            self.model.advance()
        finally:
            self.model.stop(transfer)
            self.starter.counted()
        if transfer.ended_at is None:
            return transfer.seconds
        return transfer.ended_at - transfer.began_at


class Options:
    """The options of a command line: ``-p 18515``, ``-p18515``, ``--port=18515`` or ``--port 18515``."""

    def __init__(self, words: Sequence[str], valued: Sequence[str], plain: Sequence[str], refusal: str) -> None:
        """Read ``words``. Raises ToolError with the ``refusal`` for an option that is in neither list."""
        self.values: dict[str, str] = {}
        # The words that are no options.
        self.others: list[str] = []
        remaining = list(words)
        while remaining:
            word = remaining.pop(0)
            if not word.startswith("-") or word == "-":
                self.others.append(word)
                continue
            name, equals_sign, value = word.partition("=")
            has_value = bool(equals_sign)
            is_short_with_value = not word.startswith("--") and len(word) > 2
            if is_short_with_value and word not in valued and word not in plain:
                name = word[:2]
                value = word[2:]
                has_value = True
            if name in plain:
                self.values[name] = ""
            elif name in valued and has_value:
                self.values[name] = value
            elif name in valued and remaining:
                self.values[name] = remaining.pop(0)
            else:
                raise ToolError(refusal.format(option=word))

    def text(self, *names: str, default: str = "") -> str:
        """Return the value of an option by any of its ``names``, or ``default`` if it is not given."""
        for name in names:
            if name in self.values:
                return self.values[name]
        return default

    def number(self, *names: str, default: float) -> float:
        """Return the value of an option as a number, or ``default``. Raises ToolError if it is not a number."""
        text = self.text(*names)
        if not text:
            return default
        try:
            return float(text)
        except ValueError as error:
            raise ToolError(f"{names[0]}: {text} is not a number\n") from error

    def has(self, *names: str) -> bool:
        """Tell whether an option is given."""
        return any(name in self.values for name in names)
