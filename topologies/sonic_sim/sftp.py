"""SFTP to the files of a simulated switch, as its user ``admin`` sees them."""

import asyncio
import posixpath
from collections.abc import AsyncIterator

from sonic_sim.device import Device
from sonic_sim.files import canonical
from sonic_sim.ssh import asyncssh

USER = "admin"
_HOME = "/home/admin"


class _Open:
    """A file that is open: its content is written back when it changes."""

    def __init__(self, device: Device, path: str, data: bytes) -> None:
        self.device = device
        self.path = path
        self.data = bytearray(data)

    def store(self) -> None:
        """Put the content into the file system."""
        self.device.files.write(self.path, bytes(self.data), user=USER, now=self.device.clock.now())


class DeviceSftp(asyncssh.SFTPServer):
    """The file operations that clients use to send and fetch files."""

    def __init__(self, channel: "asyncssh.SSHServerChannel[bytes]", device: Device) -> None:
        """Serve the files of one switch."""
        super().__init__(channel)
        self._device = device
        self._files = device.files

    def _path(self, path: bytes) -> str:
        return canonical(path.decode(errors="replace"), _HOME)

    def realpath(self, path: bytes) -> bytes:
        """Return the absolute path."""
        return self._path(path).encode()

    def open(self, path: bytes, pflags: int, attrs: asyncssh.SFTPAttrs) -> _Open:
        """Open or make a file, as the flags of the request say."""
        name = self._path(path)
        try:
            return self._open_or_make(name, pflags, attrs)
        except OSError as error:
            raise _refusal(error) from error

    def _open_or_make(self, name: str, pflags: int, attrs: asyncssh.SFTPAttrs) -> _Open:
        """Open or make a file, as the flags of the request say. Raises OSError, SFTPFailure if it must not exist."""
        exists = self._files.exists(name)
        if pflags & asyncssh.FXF_EXCL and exists:
            raise asyncssh.SFTPFailure(f"{name} exists")
        if not exists and not pflags & asyncssh.FXF_CREAT:
            raise FileNotFoundError(name)
        data = b""
        if exists and not pflags & asyncssh.FXF_TRUNC:
            data = self._files.read(name, USER)
        if pflags & asyncssh.FXF_WRITE:
            # As in open(2) the mode counts only for a file that is made.
            mode = None if exists else _mode(attrs)
            self._files.write(name, data, user=USER, mode=mode, now=self._device.clock.now())
        return _Open(self._device, name, data)

    def read(self, file_obj: object, offset: int, size: int) -> bytes:
        """Return a part of an open file."""
        return bytes(_open_file(file_obj).data[offset : offset + size])

    def write(self, file_obj: object, offset: int, data: bytes) -> int:
        """Write a part of an open file."""
        file = _open_file(file_obj)
        # As in a file system a gap before the part is filled with zeros.
        if len(file.data) < offset:
            file.data.extend(bytes(offset - len(file.data)))
        file.data[offset : offset + len(data)] = data
        file.store()
        return len(data)

    def close(self, file_obj: object) -> None:
        """Close a file."""

    def stat(self, path: bytes) -> asyncssh.SFTPAttrs:
        """Return size, mode and time of a file."""
        name = self._path(path)
        if self._files.is_directory(name):
            return asyncssh.SFTPAttrs(permissions=0o040000 | self._files.directories[name].mode)
        try:
            self._files.read(name, "root")
        except OSError as error:
            raise _refusal(error) from error
        file = self._files.files[name]
        return _attributes(file.data, file.mode, file.mtime)

    lstat = stat

    def fstat(self, file_obj: object) -> asyncssh.SFTPAttrs:
        """Return size, mode and time of an open file."""
        open_file = _open_file(file_obj)
        content = bytes(open_file.data)
        file = self._files.files.get(open_file.path)
        if file is None:
            # Somebody removed it meanwhile.
            return _attributes(content, 0o644, self._device.clock.now())
        return _attributes(content, file.mode, file.mtime)

    def setstat(self, path: bytes, attrs: asyncssh.SFTPAttrs) -> None:
        """Change the mode."""
        file = self._files.files.get(self._path(path))
        if file is None:
            raise asyncssh.SFTPNoSuchFile("No such file")
        if file.owner != USER:
            raise asyncssh.SFTPPermissionDenied("Permission denied")
        mode = _mode(attrs)
        if mode is not None:
            file.mode = mode
            self._files.version += 1

    def fsetstat(self, file_obj: object, attrs: asyncssh.SFTPAttrs) -> None:
        """Change the mode of an open file."""
        file = _open_file(file_obj)
        if attrs.size is not None:
            del file.data[attrs.size :]
            file.store()
        self.setstat(file.path.encode(), attrs)

    async def scandir(self, path: bytes) -> AsyncIterator[asyncssh.SFTPName]:
        """Yield the names in a directory."""
        folder = self._path(path)
        try:
            names = self._files.listing(folder, USER)
        except OSError as error:
            raise _refusal(error) from error
        for name in names:
            # asyncssh wants an asynchronous iterator, though nothing is waited for.
            await asyncio.sleep(0)
            yield asyncssh.SFTPName(name.encode(), attrs=self.stat(posixpath.join(folder, name).encode()))

    def remove(self, path: bytes) -> None:
        """Remove a file."""
        try:
            self._files.remove(self._path(path), USER)
        except OSError as error:
            raise _refusal(error) from error

    def rename(self, oldpath: bytes, newpath: bytes) -> None:
        """Rename a file; an existing target is refused, as in SFTP version 3."""
        if self._files.exists(self._path(newpath)):
            raise asyncssh.SFTPFailure("Failure")
        self.posix_rename(oldpath, newpath)

    def posix_rename(self, oldpath: bytes, newpath: bytes) -> None:
        """Rename a file over another."""
        try:
            self._files.rename(self._path(oldpath), self._path(newpath), USER)
        except OSError as error:
            raise _refusal(error) from error

    def mkdir(self, path: bytes, attrs: asyncssh.SFTPAttrs) -> None:
        """Make a directory."""
        mode = _mode(attrs)
        try:
            self._files.make_directory(self._path(path), user=USER, mode=0o755 if mode is None else mode)
        except OSError as error:
            raise _refusal(error) from error


def _open_file(file_obj: object) -> _Open:
    if not isinstance(file_obj, _Open):
        raise TypeError(f"{file_obj!r} was not opened here")
    return file_obj


def _attributes(data: bytes, mode: int, mtime: float) -> asyncssh.SFTPAttrs:
    return asyncssh.SFTPAttrs(size=len(data), permissions=0o100000 | mode, atime=int(mtime), mtime=int(mtime))


def _refusal(error: OSError) -> Exception:
    if isinstance(error, FileNotFoundError):
        return asyncssh.SFTPNoSuchFile("No such file")
    if isinstance(error, PermissionError):
        return asyncssh.SFTPPermissionDenied("Permission denied")
    return asyncssh.SFTPFailure("Failure")


def _mode(attrs: asyncssh.SFTPAttrs) -> int | None:
    """Return the permissions that a client states, None if it leaves them to the server."""
    return None if attrs.permissions is None else attrs.permissions & 0o777
