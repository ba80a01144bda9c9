"""Locks of files on a simulated switch, which several sessions may ask for."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Holder:
    """Who holds a lock file; compared by identity."""

    path: str


@dataclass(slots=True)
class Locks:
    """Advisory locks of files, as flock gives them."""

    held: dict[str, Holder] = field(default_factory=dict)

    def take(self, path: str) -> Holder | None:
        """Lock a file and return the holder; None if another holder has it."""
        if path in self.held:
            return None
        self.held[path] = holder = Holder(path)
        return holder

    def release(self, holder: Holder) -> None:
        """Give the lock back."""
        if self.held.get(holder.path) is holder:
            del self.held[holder.path]
