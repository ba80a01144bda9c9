"""A running configuration as a tree: contexts with their lines, each line under what identifies it."""

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(slots=True)
class Context:
    """``header`` opens it (empty for the root); ``lines`` by identity; ``children`` by header."""

    node: str
    header: str = ""
    lines: dict[str, str] = field(default_factory=dict)
    children: dict[str, "Context"] = field(default_factory=dict)

    def starting(self, words: str) -> list[str]:
        """Return the identities of the lines that start with these words."""
        return [key for key, line in self.lines.items() if line == words or line.startswith(words + " ")]

    def remove(self, words: str) -> int:
        """Remove the lines that start with these words; return how many."""
        keys = self.starting(words)
        for key in keys:
            del self.lines[key]
        return len(keys)

    def walk(self) -> Iterator["Context"]:
        """Yield this context and all below."""
        yield self
        for child in self.children.values():
            yield from child.walk()

    def copy(self) -> "Context":
        """Return an independent copy."""
        children = {header: child.copy() for header, child in self.children.items()}
        return Context(self.node, self.header, dict(self.lines), children)
