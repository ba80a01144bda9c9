"""Files that may hold configuration: readable by their owner alone from the first byte, whole or not there."""

import errno
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_MODE = 0o600
# Two hundred megabytes take a third of the processor time that they take by the 8 KiB of Python's default.
_WRITE_BYTES = 1024 * 1024
_FULL = frozenset((errno.ENOSPC, errno.EDQUOT))
_CLOSED = frozenset((errno.EACCES, errno.EPERM, errno.EROFS))
_NOT_A_FOLDER = frozenset((errno.ENOTDIR, errno.EEXIST))


def create_private(path: Path | str, data: bytes) -> None:
    """Write a new private file into a folder that nobody reads yet; raises FileExistsError if the path exists."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE)
    try:
        # Rendering writes thousands of files; os.write saves the fstat and seek calls of a file object.
        while data:
            written_bytes = os.write(file, data)
            data = data[written_bytes:]
    finally:
        os.close(file)


def write_private(path: Path, data: bytes, mode: int = _MODE) -> None:
    """Write a private file that replaces an earlier one at once: readers see the old content or the new, never a part.

    Another ``mode`` is for files without secrets that others may read. Symbolic links are followed. A terminal or a
    pipe is written to directly. Raises OSError.
    """
    write_private_parts(path, (data,), mode)


def write_private_parts(path: Path, parts: Iterable[bytes], mode: int = _MODE) -> None:
    """Write a file as `write_private` does, from parts, which need not be in memory at once."""
    target = path.resolve()
    # A terminal or a pipe cannot be replaced.
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            file.writelines(parts)
        return
    # Imported late: it brings random, which is slow to start.
    import tempfile

    # In the same folder, because a rename is atomic only within a file system. mkstemp creates it with mode 600.
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    new_file = Path(name)
    try:
        with os.fdopen(descriptor, "wb", _WRITE_BYTES) as file:
            file.writelines(parts)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        new_file.replace(target)
    except BaseException:
        with suppress(OSError):
            new_file.unlink()
        raise


def shown_path(path: Path) -> str:
    """Return a path as people write it: relative if it is below the working directory."""
    if path.is_relative_to(Path.cwd()):
        return str(path.relative_to(Path.cwd()))
    return str(path)


def cannot_write(path: Path | str, fault: OSError) -> str:
    """Return a sentence for people: ``path`` cannot be written, why, and what to do about it."""
    text = f"{path} cannot be written: {fault.strerror or fault}"
    if fault.errno in _FULL:
        return f"{text}; free space on its disk (`df -h {_existing(path)}`), or write to another one"
    if fault.errno in _CLOSED:
        return f"{text}; write to a folder that this user may write to"
    if fault.errno in _NOT_A_FOLDER:
        return f"{text}; {_file_on_the_way(path)} is a file: move it away, or write to another folder"
    if fault.errno == errno.ENOENT:
        return f"{text}; create its folder: `mkdir -p {Path(path).parent}`"
    return text


def is_of_disk(fault: OSError) -> bool:
    """Tell whether a fault is one of the disk and not a mistake of the program.

    The disk is full, closed to this user, or has a file where a folder belongs.
    """
    return fault.errno in _FULL | _CLOSED | {errno.ENOTDIR}


def _file_on_the_way(path: Path | str) -> Path:
    """Return the part of ``path`` that is a file where a folder is needed."""
    parents = Path(path).parents
    return next((parent for parent in parents if parent.exists() and not parent.is_dir()), Path(path))


def _existing(path: Path | str) -> Path:
    """Return the nearest folder above ``path`` that exists, relative if it is below the working directory."""
    folder = Path(path).absolute()
    while not folder.is_dir():
        folder = folder.parent
    if folder.is_relative_to(Path.cwd()):
        return folder.relative_to(Path.cwd())
    return folder


def append_line(path: Path, line: bytes) -> None:
    """Append a line, which ends with a newline, to a private file and sync it; raises OSError.

    A line that a kill cut short does not swallow the new one.
    """
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, _MODE)
    try:
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":
            line = b"\n" + line
        os.write(file, line)
        os.fsync(file)
    finally:
        os.close(file)
