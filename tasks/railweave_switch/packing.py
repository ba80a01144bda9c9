"""The one file that is sent to a switch: this package as an archive that Python starts. Same sources, same bytes."""

import functools
import hashlib
import io
import zipfile
from pathlib import Path

from railweave_switch.compiled import start_of

FIRST_LINE = b"#!/usr/bin/python3 -IS\n"
_MOMENT = (1980, 1, 1, 0, 0, 0)

INSTALLER = """\
import base64, os, subprocess, sys
file = os.memfd_create("railweave-switch")
os.write(file, base64.b64decode(sys.stdin.buffer.read()))
words = [sys.executable, "-I", "-S", f"/proc/self/fd/{file}", *sys.argv[1:]]
sys.exit(subprocess.call(words, pass_fds=[file]))
"""
"""What Python on the switch runs to start the program from its standard input, where it stands as Base64.

It lies in memory until it is installed: no directory that others can write to, and no file that they could read.
"""


@functools.cache
def packed() -> bytes:
    """Return the program. Not compressed: different versions of zlib would make different bytes of it."""
    files = [file for file in sorted(Path(__file__).parent.glob("*.py")) if file.name != Path(__file__).name]
    sources = {f"railweave_switch/{file.name}": file.read_bytes() for file in files}
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as made:
        for name, text in {"__main__.py": start_of(sources).encode(), **sources}.items():
            made.writestr(zipfile.ZipInfo(name, _MOMENT), text)
    return FIRST_LINE + archive.getvalue()


@functools.cache
def packed_sha256() -> str:
    """Return the digest by which client and switch tell versions of the program apart."""
    return hashlib.sha256(packed()).hexdigest()
