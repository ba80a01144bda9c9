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
        """Let flows send for their time, and return the seconds that they took.

        ``after`` returns how long they send once they have begun, where that depends on their rates.
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
        self.others: list[str] = []
        waiting = list(words)
        while waiting:
            word = waiting.pop(0)
            if not word.startswith("-") or word == "-":
                self.others.append(word)
                continue
            name, joined, value = word.partition("=")
            if not word.startswith("--") and len(word) > 2 and word not in valued and word not in plain:
                name, joined, value = word[:2], "=", word[2:]
            if name in plain:
                self.values[name] = ""
            elif name in valued and (joined or waiting):
                self.values[name] = value if joined else waiting.pop(0)
            else:
                raise ToolError(refusal.format(option=word))

    def text(self, *names: str, default: str = "") -> str:
        """Return the value of an option by any of its names."""
        for name in names:
            if name in self.values:
                return self.values[name]
        return default

    def number(self, *names: str, default: float) -> float:
        """Return the value of an option as a number. Raises ToolError where it is none."""
        text = self.text(*names)
        try:
            return float(text) if text else default
        except ValueError as error:
            raise ToolError(f"{names[0]}: {text} is not a number\n") from error

    def has(self, *names: str) -> bool:
        """Tell whether an option is given."""
        return any(name in self.values for name in names)
