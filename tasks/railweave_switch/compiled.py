"""The program's compiled modules, stored on the switch: compiling them took two fifths of the time of a call.

They are in the directory that only root can enter, under the digest of their sources. The program imports them from
there; if they are missing, or of another Python version, it compiles its own sources.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import marshal
import sys
import zipfile
from collections.abc import Mapping

from railweave_switch.host import DIRECTORY, SwitchHost

_FIRST = "modules-"
# Flags, time and size of a source that is not there.
_NO_SOURCE = bytes(12)


def start_of(sources: Mapping[str, bytes]) -> str:
    """Return the text that starts a program made of ``sources``, by their names in it."""
    modules = f"{DIRECTORY}/{_FIRST}{_digest(sources)}-"
    return (
        "import sys\n"
        f'sys.path.insert(0, f"{modules}{{sys.implementation.cache_tag}}")\n'
        "from railweave_switch.__main__ import start\n"
        "sys.exit(start(sys.argv[1:]))\n"
    )


def keep(host: SwitchHost, program: bytes) -> None:
    """Compile the modules of a program for this Python, and remove those of other versions."""
    with zipfile.ZipFile(io.BytesIO(program)) as archive:
        sources = {name: archive.read(name) for name in archive.namelist() if "/" in name}
    name = f"{_FIRST}{_digest(sources)}-{sys.implementation.cache_tag}"
    existing_names = host.list_directory()
    if name not in existing_names:
        host.write_file(f"{host.directory}/{name}", _compiled(sources), 0o600)
    for existing in existing_names:
        if existing.startswith(_FIRST) and existing != name:
            host.remove_file(f"{host.directory}/{existing}")


def _digest(sources: Mapping[str, bytes]) -> str:
    """Return the SHA-256 of the names and texts of sources."""
    sha256 = hashlib.sha256()
    for name, text in sorted(sources.items()):
        sha256.update(b"%s %d\n%s" % (name.encode(), len(text), text))
    return sha256.hexdigest()


def _compiled(sources: Mapping[str, bytes]) -> bytes:
    """Return a ZIP archive of the compiled sources, from which Python can import."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, text in sources.items():
            code = marshal.dumps(compile(text, name, "exec", dont_inherit=True))
            archive.writestr(name + "c", importlib.util.MAGIC_NUMBER + _NO_SOURCE + code)
    return file.getvalue()
