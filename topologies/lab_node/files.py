"""The node's own files, with the interface of the simulator's, so that the same commands read and write them."""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from sonic_sim.files import ROOT, File, Files


class RealFiles(Files):
    """Files of this machine, with the permissions of the kernel."""

    def __init__(self) -> None:
        """Nothing is held in memory."""
        self.version = 0
        self.files = _Stats()  # type: ignore[assignment]

    def read(self, path: str, user: str = ROOT) -> bytes:
        """Return a file's content."""
        return Path(path).read_bytes()

    def write(self, path: str, data: bytes, *, user: str = ROOT, mode: int | None = None, now: float = 0.0) -> None:
        """Write a file."""
        Path(path).write_bytes(data)
        if mode is not None:
            Path(path).chmod(mode)

    def remove(self, path: str, user: str = ROOT) -> None:
        """Remove a file."""
        Path(path).unlink()

    def rename(self, old: str, new: str, user: str = ROOT) -> None:
        """Move a file."""
        Path(old).replace(new)

    def make_directory(self, path: str, *, user: str = ROOT, mode: int = 0o755, parents: bool = False) -> None:
        """Make a directory."""
        Path(path).mkdir(mode=mode, parents=parents)

    def remove_tree(self, path: str) -> None:
        """Remove a directory with all that is below it."""
        shutil.rmtree(path)

    def exists(self, path: str) -> bool:
        """Tell whether a file or directory is there."""
        return Path(path).exists()

    def is_directory(self, path: str) -> bool:
        """Tell whether the path is a directory."""
        return Path(path).is_dir()

    def listing(self, path: str, user: str = ROOT) -> list[str]:
        """Return the names in a directory, sorted."""
        return sorted(os.listdir(path))


class _Stats(Mapping[str, File]):
    """Files by path, for those who ask for a file's time or owner."""

    def __getitem__(self, path: str) -> File:
        try:
            status = os.stat(path)
        except FileNotFoundError:
            raise KeyError(path) from None
        return File(b"", status.st_mode & 0o7777, ROOT, status.st_mtime)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0
