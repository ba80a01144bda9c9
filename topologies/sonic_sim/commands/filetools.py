"""Programs that handle files: cp, mv, rm, mkdir, install, ls, stat, chmod, touch, test, sha256sum."""

import hashlib
import posixpath
import time
from collections.abc import Callable
from functools import partial

from sonic_sim.device import Device
from sonic_sim.files import Files, canonical, words_of
from sonic_sim.shell.programs import Call, Result, program

# What a small switch under little load shows of itself; the driver's getters read these files.
_PROC = {
    "/proc/1/comm": "systemd\n",
    "/proc/loadavg": "0.26 0.36 0.59 2/871 40511\n",
    "/proc/cpuinfo": "".join(f"processor\t: {core}\nmodel name\t: Simulated\n\n" for core in range(4)),
    "/proc/meminfo": "MemTotal:        8129780 kB\nMemFree:         1904772 kB\nMemAvailable:    4320112 kB\n",
}


def read_for(device: Device, name: str, user: str, cwd: str) -> tuple[str, str]:
    """Return the text of a file, and the error if it cannot be read; one of the two is empty.

    A few files of /proc can be read too.
    """
    if name == "/proc/uptime":
        return f"{device.clock.now() - device.times.booted:.2f} 999.00\n", ""
    if name in _PROC:
        return _PROC[name], ""
    if name == "/etc/hostname":
        return device.hostname + "\n", ""
    try:
        return device.files.read(canonical(name, cwd), user).decode(errors="replace"), ""
    except OSError as error:
        return "", words_of(error)


def _split(words: list[str], valued: tuple[str, ...] = ()) -> tuple[dict[str, str], list[str]]:
    """Return the options with their values, and the operands.

    Short options that share a word are separated. An option of ``valued`` has the next word as its value.
    """
    options: dict[str, str] = {}
    operands: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in valued:
            options[word] = next(rest, "")
        elif word.startswith("--"):
            name, _, value = word.partition("=")
            options[name] = value
        elif word.startswith("-") and len(word) > 1:
            options |= {f"-{letter}": "" for letter in word[1:]}
        else:
            operands.append(word)
    return options, operands


class _RefusalError(Exception):
    """A program's message about one operand."""


def _each(call: Call, names: list[str], verb: str, work: Callable[[str], object]) -> Result:
    """Call ``work`` with each name, and return the result of the program.

    A failure does not end the program: its message has ``verb`` and the name, or is that of a _RefusalError.
    """
    err = ""
    for name in names:
        try:
            work(name)
        except OSError as error:
            err += f"{call.argv[0]}: {verb} '{name}': {words_of(error)}\n"
        except _RefusalError as refusal:
            err += f"{call.argv[0]}: {refusal}\n"
    return Result(1 if err else 0, err=err)


def _copy_file(call: Call, name: str, target: str, mode: int | None) -> None:
    """Copy a file to ``target``, a file or a directory. If ``mode`` is None, a new file gets the mode of the source.

    Raises OSError if the source cannot be read, and _RefusalError if the target cannot be written.
    """
    files = call.device.files
    source = call.path(name)
    data = files.read(source, call.user)
    target_path = call.path(target)
    if files.is_directory(target_path):
        target_path = posixpath.join(target_path, posixpath.basename(source))
    try:
        if mode is None and not files.exists(target_path):
            mode = files.files[source].mode
        files.write(target_path, data, user=call.user, mode=mode, now=call.device.clock.now())
    except OSError as error:
        raise _RefusalError(f"cannot create regular file '{target}': {words_of(error)}") from error


@program("cp")
def cp(call: Call) -> Result:
    """Copy files, keeping the mode of an existing target."""
    options, operands = _split(call.argv[1:])
    if len(operands) < 2:
        return Result(1, err="cp: missing file operand\n")
    files = call.device.files

    def copy(name: str) -> None:
        path = call.path(name)
        if files.is_directory(path):
            raise _RefusalError(f"-r not specified; omitting directory '{name}'")
        mode = None
        if "-p" in options and path in files.files:
            mode = files.files[path].mode
        _copy_file(call, name, operands[-1], mode)

    return _each(call, operands[:-1], "cannot stat", copy)


@program("mv")
def mv(call: Call) -> Result:
    """Rename files."""
    _, operands = _split(call.argv[1:])
    if len(operands) < 2:
        return Result(1, err="mv: missing file operand\n")
    files = call.device.files
    target = call.path(operands[-1])

    def move(name: str) -> None:
        new_path = target
        if files.is_directory(target):
            new_path = posixpath.join(target, posixpath.basename(name))
        try:
            files.rename(call.path(name), new_path, call.user)
        except OSError as error:
            raise _RefusalError(f"cannot move '{name}' to '{operands[-1]}': {words_of(error)}") from error

    return _each(call, operands[:-1], "", move)


@program("rm")
def rm(call: Call) -> Result:
    """Remove files; ``-r`` directories too."""
    options, operands = _split(call.argv[1:])
    files = call.device.files
    force = "-f" in options or "--force" in options

    def remove(name: str) -> None:
        path = call.path(name)
        if not files.is_directory(path):
            if files.exists(path) or not force:
                files.remove(path, call.user)
        elif {"-r", "-R", "--recursive"} & set(options):
            files.remove_tree(path)
        else:
            raise _RefusalError(f"cannot remove '{name}': Is a directory")

    return _each(call, operands, "cannot remove", remove)


@program("mkdir")
def mkdir(call: Call) -> Result:
    """Make directories: ``-p``, ``-m MODE``."""
    options, operands = _split(call.argv[1:], ("-m",))
    mode = int(options.get("-m") or "755", 8)
    parents = "-p" in options

    def make(name: str) -> None:
        if not (parents and call.device.files.exists(call.path(name))):
            call.device.files.make_directory(call.path(name), user=call.user, mode=mode, parents=parents)

    return _each(call, operands, "cannot create directory", make)


@program("install")
def install(call: Call) -> Result:
    """Copy a file with a mode and owner: ``install -m MODE SOURCE TARGET``, ``install -d DIR``."""
    options, operands = _split(call.argv[1:], ("-m", "-o", "-g"))
    mode = int(options.get("-m") or "755", 8)
    if "-d" in options:
        missing = [name for name in operands if not call.device.files.exists(call.path(name))]
        make = partial(call.device.files.make_directory, user=call.user, mode=mode, parents=True)
        return _each(call, missing, "cannot create directory", lambda name: make(call.path(name)))
    if len(operands) != 2:
        return Result(1, err="install: missing destination file operand\n")
    return _each(call, operands[:1], "cannot stat", lambda name: _copy_file(call, name, operands[1], mode))


@program("touch")
def touch(call: Call) -> Result:
    """Make empty files, or renew the time of existing ones."""
    files = call.device.files

    def renew(name: str) -> None:
        path = call.path(name)
        data = files.read(path) if files.exists(path) else b""
        files.write(path, data, user=call.user, now=call.device.clock.now())

    _, operands = _split(call.argv[1:])
    return _each(call, operands, "cannot touch", renew)


@program("chmod", "chown", "sync")
def chmod(call: Call) -> Result:
    """Change the modes of files to an octal number. Anything else is accepted and does nothing."""
    _, operands = _split(call.argv[1:])
    mode_text = operands[0] if operands else ""
    # The simulator tells only root and admin apart as owners, so chown has nothing to do.
    if not call.argv[0].endswith("chmod") or not mode_text.isdigit():
        return Result()
    files = call.device.files

    def change(name: str) -> None:
        file = files.files.get(call.path(name))
        if file is None:
            raise FileNotFoundError
        file.mode = int(mode_text, 8)
        # The file is changed in place: only its version tells that there is something to save.
        files.version += 1

    return _each(call, operands[1:], "cannot access", change)


@program("ls")
def ls(call: Call) -> Result:
    """List directories: ``-l``, ``-1``, ``-a``."""
    options, operands = _split(call.argv[1:])
    is_long = "-l" in options
    files = call.device.files
    out = ""
    err = ""
    for name in operands or [call.cwd]:
        path = call.path(name)
        if path in files.files:
            out += _ls_line(files, path, name, is_long=is_long)
            continue
        try:
            names = files.listing(path, call.user)
        except OSError as error:
            verb = "open directory" if isinstance(error, PermissionError) else "access"
            err += f"ls: cannot {verb} '{name}': {words_of(error)}\n"
            continue
        if is_long:
            out += "total 28\n"
        for inner in names:
            if "-a" in options or not inner.startswith("."):
                out += _ls_line(files, posixpath.join(path, inner), inner, is_long=is_long)
    # GNU ls distinguishes minor problems (1) from operands that it cannot list (2).
    return Result(2 if err else 0, out=out, err=err)


def _ls_line(files: Files, path: str, name: str, *, is_long: bool) -> str:
    """Return the line of ``ls`` about a file or directory."""
    if not is_long:
        return name + "\n"
    file = files.files.get(path)
    if file is None:
        return f"drwxr-xr-x 2 root root 4096 Jan  1 00:00 {name}\n"
    date = time.strftime("%b %e %H:%M", time.gmtime(file.mtime))
    return f"{_mode_text(file.mode)} 1 {file.owner} {file.owner} {len(file.data)} {date} {name}\n"


def _mode_text(mode: int) -> str:
    """Return the mode of a file as ``ls -l`` prints it."""
    bits = "".join(letter if mode >> (8 - index) & 1 else "-" for index, letter in enumerate("rwxrwxrwx"))
    return "-" + bits


@program("stat")
def stat(call: Call) -> Result:
    """Print ``-c FORMAT``: %a %U %G %s %n %Y."""
    options, operands = _split(call.argv[1:], ("-c", "--format"))
    text = options.get("-c") or options.get("--format") or "%n %s"
    out = ""
    for name in operands:
        values = _status(call.device.files, call.path(name))
        if values is None:
            return Result(1, out=out, err=f"stat: cannot statx '{name}': No such file or directory\n")
        line = text.replace("%n", name)
        for mark, value in values.items():
            line = line.replace(mark, value)
        out += line + "\n"
    return Result(out=out)


def _status(files: Files, path: str) -> dict[str, str] | None:
    """Return the values of ``stat -c`` by their mark, such as ``%a``; None if nothing is at the path."""
    if path in files.files:
        file = files.files[path]
        values = {"%a": f"{file.mode:o}", "%U": file.owner, "%s": str(len(file.data)), "%Y": str(int(file.mtime))}
    elif path in files.directories:
        folder = files.directories[path]
        values = {"%a": f"{folder.mode:o}", "%U": folder.owner, "%s": "4096", "%Y": "0"}
    else:
        return None
    # Each user's files belong to the group of the same name.
    return values | {"%G": values["%U"]}


@program("sha256sum", "md5sum")
def checksum(call: Call) -> Result:
    """Print checksums of files."""
    algorithm: Callable[..., hashlib._Hash] = hashlib.md5
    if "256" in call.argv[0]:
        algorithm = hashlib.sha256
    out = ""
    err = ""
    for name in [word for word in call.argv[1:] if not word.startswith("-")]:
        try:
            data = call.device.files.read(call.path(name), call.user)
            out += f"{algorithm(data).hexdigest()}  {name}\n"
        except OSError as error:
            err += f"{call.argv[0]}: {name}: {words_of(error)}\n"
    return Result(1 if err else 0, out=out, err=err)


@program("test", "[")
def test(call: Call) -> Result:
    """Evaluate ``-f -d -e -s -x -n -z = !=`` and ``!``."""
    words = [word for word in call.argv[1:] if word != "]"]
    if words[:1] == ["!"]:
        return Result(int(_holds(call, words[1:])))
    return Result(int(not _holds(call, words)))


def _holds(call: Call, words: list[str]) -> bool:
    """Tell whether a condition without ``!`` holds."""
    files = call.device.files
    if len(words) == 3 and words[1] in ("=", "==", "!="):
        first, sign, second = words
        is_equal = first == second
        return not is_equal if sign == "!=" else is_equal
    # A single word holds if it is not empty.
    if len(words) != 2:
        return bool(words and words[0])
    sign, operand = words
    path = call.path(operand)
    file = files.files.get(path)
    checks: dict[str, bool] = {
        "-e": files.exists(path),
        "-f": file is not None,
        "-d": files.is_directory(path),
        "-r": files.exists(path),
        "-s": file is not None and bool(file.data),
        "-x": file is not None and bool(file.mode & 0o111),
        "-n": bool(operand),
        "-z": not operand,
    }
    return checks.get(sign, False)


@program("cmp", reads_stdin=lambda argv: "-" in argv)
def cmp(call: Call) -> Result:
    """Compare two files byte by byte; ``-`` is standard input."""
    names = [word for word in call.argv[1:] if word == "-" or not word.startswith("-")]
    try:
        first, second = [_bytes_of(call, name) for name in names]
    except (OSError, ValueError):
        return Result(2, err="cmp: two readable files are wanted\n")
    for index, (first_byte, second_byte) in enumerate(zip(first, second, strict=False)):
        if first_byte != second_byte:
            line = first[:index].count(b"\n") + 1
            return Result(1, out=f"{names[0]} {names[1]} differ: byte {index + 1}, line {line}\n")
    if len(first) == len(second):
        return Result()
    shorter = names[0] if len(first) < len(second) else names[1]
    return Result(1, err=f"cmp: EOF on {shorter}\n")


def _bytes_of(call: Call, name: str) -> bytes:
    if name == "-":
        return call.stdin.encode()
    return call.device.files.read(call.path(name), call.user)
