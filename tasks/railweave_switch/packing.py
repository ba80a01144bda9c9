"""The file that is sent to a switch: this package as an archive that Python runs. Same sources, same bytes."""

import base64
import functools
import hashlib
import io
import threading
import zipfile
from pathlib import Path

from railweave_switch.compiled import start_of

FIRST_LINE = b"#!/usr/bin/python3 -IS\n"
# The earliest time that a ZIP archive can hold.
_MOMENT = (1980, 1, 1, 0, 0, 0)

INSTALLER = """\
import base64, os, subprocess, sys
file = os.memfd_create("railweave-switch")
os.write(file, base64.b64decode(sys.stdin.buffer.read()))
words = [sys.executable, "-I", "-S", f"/proc/self/fd/{file}", *sys.argv[1:]]
sys.exit(subprocess.call(words, pass_fds=[file]))
"""
"""The code that starts the program on the switch; it reads the program from standard input, in Base64.

Until it is installed the program is only in memory, so that other users can neither replace nor read its file.
"""


# All sessions of a fabric ask for the program at the same moment; without it each would pack one.
_packing = threading.Lock()


def packed() -> bytes:
    """Return the program. Not compressed, as the result of zlib depends on its version."""
    with _packing:
        return _packed()


@functools.cache
def _packed() -> bytes:
    files = [file for file in sorted(Path(__file__).parent.glob("*.py")) if file.name != Path(__file__).name]
    sources = {f"railweave_switch/{file.name}": file.read_bytes() for file in files}
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as zip_file:
        for name, text in {"__main__.py": start_of(sources).encode(), **sources}.items():
            zip_file.writestr(zipfile.ZipInfo(name, _MOMENT), text)
    return FIRST_LINE + archive.getvalue()


@functools.cache
def packed_base64() -> bytes:
    """Return the program as the installer reads it."""
    return base64.b64encode(packed())


@functools.cache
def packed_sha256() -> str:
    """Return the digest by which client and switch compare versions of the program."""
    return hashlib.sha256(packed()).hexdigest()
