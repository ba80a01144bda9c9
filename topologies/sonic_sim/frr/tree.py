"""A running configuration as a tree: contexts with their lines, each line under what identifies it."""

from collections.abc import Iterator
from dataclasses import dataclass, field

# A neighbor has one filter of a kind and direction.
FILTERS = ("route-map", "prefix-list", "filter-list")


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

    def remove_filter(self, words: list[str]) -> bool:
        """Remove a neighbor's filter of the kind and direction that the ``words`` of a line name, whatever its name is.

        Return whether the line is one of a filter.
        """
        if len(words) != 5 or words[0] != "neighbor" or words[2] not in FILTERS:
            return False
        for key in self.starting(" ".join(words[:3])):
            if key.split()[-1] == words[-1]:
                del self.lines[key]
        return True
