"""The files of a simulated switch, held in memory, with just enough of owners and modes."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

ROOT = "root"
_OPEN_DIRECTORIES = ("/tmp", "/var/tmp", "/home/admin", "/dev")  # noqa: S108  paths inside the simulated switch
_FIRST_DIRECTORIES = (
    "/", "/tmp", "/var", "/var/tmp", "/var/lib", "/var/lock", "/var/run", "/home", "/home/admin", "/etc",  # noqa: S108
    "/etc/sonic", "/etc/sonic/frr", "/etc/sonic/checkpoints", "/usr", "/usr/local", "/usr/local/bin", "/root", "/dev",
    "/var/log",
)  # fmt: skip


_WORDS = {
    FileNotFoundError: "No such file or directory",
    PermissionError: "Permission denied",
    IsADirectoryError: "Is a directory",
    NotADirectoryError: "Not a directory",
    FileExistsError: "File exists",
}


def words_of(error: OSError) -> str:
    """Return the operating system's words for an error."""
    return _WORDS.get(type(error), "Input/output error")


def home_of(user: str) -> str:
    """Return a user's home directory."""
    if user == ROOT:
        return "/root"
    return f"/home/{user}"


@dataclass(slots=True)
class File:
    """One file: ``mtime`` in seconds since 1970."""

    data: bytes
    mode: int
    owner: str
    mtime: float


@dataclass(slots=True)
class Directory:
    """One directory."""

    mode: int
    owner: str


def canonical(path: str, cwd: str = "/") -> str:
    """Return the absolute path; FRR's folder inside its container is the host's ``/etc/sonic/frr``."""
    absolute = posixpath.normpath(posixpath.join(cwd, path))
    # POSIX leaves the meaning of two slashes at the beginning open, so normpath keeps them.
    if absolute.startswith("//"):
        absolute = absolute.removeprefix("/")
    if absolute == "/etc/frr" or absolute.startswith("/etc/frr/"):
        return "/etc/sonic/frr" + absolute.removeprefix("/etc/frr")
    if absolute == "/run" or absolute.startswith("/run/"):
        return "/var" + absolute
    return absolute


def in_container(path: str) -> str:
    """Return where a file of the bgp container is kept; only FRR's folder is shared with the host."""
    # docker-fpm-frr mounts the host's /etc/sonic/frr at /etc/frr.
    if path == "/etc/sonic/frr" or path.startswith("/etc/sonic/frr/"):
        return path
    return f"/var/lib/docker/bgp{path}"


class Files:
    """Files and directories by absolute path. Errors are the ones of the operating system."""

    def __init__(self) -> None:
        """Begin with the directories of a SONiC image."""
        self.files: dict[str, File] = {}
        self.directories: dict[str, Directory] = {}
        for path in _FIRST_DIRECTORIES:
            mode = 0o777 if path in _OPEN_DIRECTORIES else 0o755
            self.directories[path] = Directory(mode, "admin" if path == home_of("admin") else ROOT)
        self.version = 0

    def read(self, path: str, user: str = ROOT) -> bytes:
        """Return a file's content. Raises FileNotFoundError, IsADirectoryError, PermissionError."""
        path = canonical(path)
        if path == "/dev/null":
            return b""
        self._refuse_passing(path, user)
        if path in self.directories:
            raise IsADirectoryError(path)
        file = self.files.get(path)
        if file is None:
            raise FileNotFoundError(path)
        # There are no groups: who is not the owner is anybody.
        if user not in (ROOT, file.owner) and not file.mode & 0o004:
            raise PermissionError(path)
        return file.data

    def write(self, path: str, data: bytes, *, user: str = ROOT, mode: int | None = None, now: float = 0.0) -> None:
        """Write a file. Raises FileNotFoundError if its directory is missing, PermissionError, IsADirectoryError."""
        path = canonical(path)
        if path == "/dev/null":
            return
        self._refuse_passing(path, user)
        if path in self.directories:
            raise IsADirectoryError(path)
        if posixpath.dirname(path) not in self.directories:
            raise FileNotFoundError(path)
        file = self.files.get(path)
        self._refuse_writing(path, file, user)
        if file is None:
            # 0644 is what a umask of 022 leaves.
            self.files[path] = File(data, 0o644 if mode is None else mode, user, now)
        else:
            file.data = data
            file.mtime = now
            if mode is not None:
                file.mode = mode
        self.version += 1

    def remove(self, path: str, user: str = ROOT) -> None:
        """Remove a file. Raises FileNotFoundError, PermissionError."""
        path = canonical(path)
        self._refuse_passing(path, user)
        file = self.files.get(path)
        if file is None:
            raise FileNotFoundError(path)
        self._refuse_writing(path, file, user)
        del self.files[path]
        self.version += 1

    def rename(self, old: str, new: str, user: str = ROOT) -> None:
        """Move a file to another name, which may be in use; its owner and mode stay. Raises as reading and writing."""
        old = canonical(old)
        new = canonical(new)
        data = self.read(old, user)
        file = self.files[old]
        self._refuse_writing(old, file, user)
        self.write(new, data, user=user, mode=file.mode, now=file.mtime)
        self.files[new].owner = file.owner
        if new != old:
            del self.files[old]
        self.version += 1

    def make_directory(self, path: str, *, user: str = ROOT, mode: int = 0o755, parents: bool = False) -> None:
        """Make a directory, with ``parents`` also those above it.

        Raises FileExistsError, FileNotFoundError if its parent is missing, PermissionError.
        """
        path = canonical(path)
        if path in self.directories or path in self.files:
            raise FileExistsError(path)
        parent = posixpath.dirname(path)
        if parent not in self.directories:
            if not parents:
                raise FileNotFoundError(path)
            self.make_directory(parent, user=user, parents=True)
        self._refuse_writing(path, None, user)
        self.directories[path] = Directory(mode, user)
        self.version += 1

    def remove_tree(self, path: str) -> None:
        """Remove a directory with all that is below it."""
        path = canonical(path)
        below = path.rstrip("/") + "/"
        self.files = {name: file for name, file in self.files.items() if not name.startswith(below)}
        self.directories = {
            name: folder for name, folder in self.directories.items() if name != path and not name.startswith(below)
        }
        self.version += 1

    def exists(self, path: str) -> bool:
        """Tell whether a file or directory is there."""
        path = canonical(path)
        return path in self.files or path in self.directories

    def is_directory(self, path: str) -> bool:
        """Tell whether the path is a directory."""
        return canonical(path) in self.directories

    def listing(self, path: str, user: str = ROOT) -> list[str]:
        """Return the names in a directory, sorted. Raises FileNotFoundError, NotADirectoryError, PermissionError."""
        path = canonical(path)
        # Also the directory itself must let the user in.
        self._refuse_passing(path + "/x", user)
        if path in self.files:
            raise NotADirectoryError(path)
        if path not in self.directories:
            raise FileNotFoundError(path)
        return sorted(set(self._names_in(path)))

    def _names_in(self, path: str) -> Iterator[str]:
        """Yield the names of the files and directories in a directory."""
        start = path.rstrip("/") + "/"
        for member in (*self.files, *self.directories):
            if not member.startswith(start):
                continue
            name = member.removeprefix(start)
            # Names with a slash are of directories further down.
            if name and "/" not in name:
                yield name

    def _refuse_passing(self, path: str, user: str) -> None:
        """Raise PermissionError if a user may not pass through a directory on the way to a path."""
        parent = posixpath.dirname(path)
        while user != ROOT and parent != "/":
            folder = self.directories.get(parent)
            if folder is not None and folder.owner != user and not folder.mode & 0o001:
                raise PermissionError(path)
            parent = posixpath.dirname(parent)

    def _refuse_writing(self, path: str, old: File | None, user: str) -> None:
        """Raise PermissionError if a user may not write the file ``old`` or, for None, make one in its directory."""
        if user == ROOT:
            return
        if old is not None:
            allowed = old.owner == user
        else:
            folder = self.directories.get(posixpath.dirname(path))
            allowed = folder is not None and (folder.owner == user or bool(folder.mode & 0o002))
        if not allowed:
            raise PermissionError(path)
