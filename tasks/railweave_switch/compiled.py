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
    place = f"{DIRECTORY}/{_FIRST}{_digest(sources)}-"
    return (
        "import sys\n"
        f'sys.path.insert(0, f"{place}{{sys.implementation.cache_tag}}")\n'
        "from railweave_switch.__main__ import start\n"
        "sys.exit(start(sys.argv[1:]))\n"
    )


def keep(host: SwitchHost, program: bytes) -> None:
    """Compile the modules of a program for this Python, and remove those of other versions."""
    with zipfile.ZipFile(io.BytesIO(program)) as archive:
        sources = {name: archive.read(name) for name in archive.namelist() if "/" in name}
    name = f"{_FIRST}{_digest(sources)}-{sys.implementation.cache_tag}"
    kept = host.list_directory()
    if name not in kept:
        host.write_file(f"{host.directory}/{name}", _compiled(sources), 0o600)
    for other in kept:
        if other.startswith(_FIRST) and other != name:
            host.remove_file(f"{host.directory}/{other}")


def _digest(sources: Mapping[str, bytes]) -> str:
    whole = hashlib.sha256()
    for name, text in sorted(sources.items()):
        whole.update(b"%s %d\n%s" % (name.encode(), len(text), text))
    return whole.hexdigest()


def _compiled(sources: Mapping[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for name, text in sources.items():
            code = marshal.dumps(compile(text, name, "exec", dont_inherit=True))
            archive.writestr(name + "c", importlib.util.MAGIC_NUMBER + _NO_SOURCE + code)
    return made.getvalue()
