"""Files that may hold configuration: readable by their owner alone from the first byte, whole or not there."""

import os
from contextlib import suppress
from pathlib import Path

_MODE = 0o600


def create_private(path: Path | str, data: bytes) -> None:
    """Write a new file into a folder that nobody reads yet; raises FileExistsError if the path exists."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE)
    try:
        # Rendering writes thousands of files; os.write saves the fstat and seek calls of a file object.
        while data:
            data = data[os.write(file, data) :]
    finally:
        os.close(file)


def write_private(path: Path, data: bytes, mode: int = _MODE) -> None:
    """Write a file that replaces an earlier one at once: a reader sees the old content or the new, never a part.

    ``mode`` is for files without secrets that others may read. Links are followed. A terminal or a pipe is written to
    directly.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    # Imported late: it brings random, which is slow to start.
    import tempfile

    # In the same folder, because a rename is atomic only within a file system. mkstemp creates it with mode 600.
    handle, fresh = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        Path(fresh).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(fresh).unlink()
        raise


def shown_path(path: Path) -> str:
    """Return a path as people write it: relative if it is below the working directory."""
    if path.is_relative_to(Path.cwd()):
        return str(path.relative_to(Path.cwd()))
    return str(path)
