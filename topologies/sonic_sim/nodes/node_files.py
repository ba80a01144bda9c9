"""Files of a running node, read from outside; a link that the node made is never followed."""

import os
import stat
from pathlib import PurePosixPath

_LONGEST_BYTES = 1 << 20


class NodeFiles:
    """The file system of a process, by a handle on its root."""

    def __init__(self, pid: int) -> None:
        """Raises OSError."""
        self._root = os.open(f"/proc/{pid}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)

    def text(self, path: str) -> str:
        """Return the text of a file, at most its first MiB; empty if there is none or it is not a regular file."""
        *folders, name = PurePosixPath(path.lstrip("/")).parts
        handles = [self._root]
        try:
            for folder in folders:
                flags = os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
                handles.append(os.open(folder, flags, dir_fd=handles[-1]))
            # A link is not followed, and a pipe does not block.
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            handles.append(os.open(name, flags, dir_fd=handles[-1]))
            if not stat.S_ISREG(os.fstat(handles[-1]).st_mode):
                return ""
            return os.read(handles[-1], _LONGEST_BYTES).decode(errors="replace")
        except OSError:
            return ""
        finally:
            for handle in handles[1:]:
                os.close(handle)

    def close(self) -> None:
        """Forget the file system."""
        os.close(self._root)
