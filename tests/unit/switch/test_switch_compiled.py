"""The modules that a switch keeps compiled are those of the program that looks for them, and Python takes them."""

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from small_switch import SmallHost, SmallSwitch

from railweave_switch.compiled import keep
from railweave_switch.host import DIRECTORY
from railweave_switch.packing import packed

_TAG = sys.implementation.cache_tag


def _kept(switch: SmallSwitch) -> dict[str, bytes]:
    start = f"{DIRECTORY}/modules-"
    files = switch.files.items()
    return {path: text.encode("utf-8", "surrogateescape") for path, text in files if path.startswith(start)}


def _changed(program: bytes) -> bytes:
    """Return the program with one module more."""
    whole = io.BytesIO(program)
    with zipfile.ZipFile(whole, "a") as archive:
        archive.writestr("railweave_switch/more.py", "")
    return whole.getvalue()


def test_the_program_looks_where_its_modules_are_kept() -> None:
    switch = SmallSwitch()
    keep(SmallHost(switch), packed())
    with zipfile.ZipFile(io.BytesIO(packed())) as archive:
        start = archive.read("__main__.py").decode().replace("{sys.implementation.cache_tag}", str(_TAG))
    (place,) = _kept(switch)
    assert f'"{place}"' in start


def test_the_modules_of_another_version_go() -> None:
    switch = SmallSwitch()
    keep(SmallHost(switch), _changed(packed()))
    (other,) = _kept(switch)
    switch.files[f"{DIRECTORY}/transaction.json"] = "{}"
    keep(SmallHost(switch), packed())
    assert len(_kept(switch)) == 1
    assert other not in switch.files
    assert f"{DIRECTORY}/transaction.json" in switch.files


@pytest.mark.slow
def test_python_starts_from_what_is_kept_and_without_it(tmp_path: Path) -> None:
    switch = SmallSwitch()
    keep(SmallHost(switch), packed())
    ((place, data),) = _kept(switch).items()
    program, modules = tmp_path / "program", tmp_path / Path(place).name
    program.write_bytes(packed())
    modules.write_bytes(data)
    asked = (
        f"import sys; sys.path[:0] = [{str(modules)!r}, {str(program)!r}]; from railweave_switch import __main__ as one"
    )
    command = [sys.executable, "-I", "-S", "-c", f"{asked}; print(one.__file__); one.start(['status', '--help'])"]
    for where in (modules, program):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.stdout.splitlines()[0].startswith(str(where)), done.stderr
        assert "--seconds" in done.stdout
        modules.write_bytes(b"torn")
