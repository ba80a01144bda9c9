"""Mistakes of access and environment: one error each, with a fix, in the exact words of `tests/refused/environment`.

A case runs ``command`` in the project of `railweave init --template minimal`. ``files`` are written before, with
``bytes`` in base64; ``folders`` are made and ``links`` set; ``remove`` names what is missing. ``programs`` are scripts,
the only programs on the PATH. ``environ`` sets variables; ``disk`` is what writing below ``small/`` fails with.
``RAILWEAVE_UPDATE_GOLDEN=1`` writes the texts anew; review the difference.
"""

import base64
import errno
import os
import re
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest
import yaml

from railweave.api.starter import init
from railweave.cli.main import main
from railweave.templates import _templates_of

CASES = sorted((Path(__file__).resolve().parents[2] / "refused/environment").glob("*.yml"))
DISKS = {"full": errno.ENOSPC, "read-only": errno.EROFS}
FIX = re.compile(
    r"fix: |`|did you mean|name (?:a|one|an)\b|available targets|install|upgrade|check |write to|free |create|run "
    r"|correct it|there are: |has to be"
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("environment") / "project"
    init(folder, "minimal")
    return folder


def prepare(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Bring the project in the working directory into the state of a case."""
    for name in case.get("remove", ()):
        path = Path(name)
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name in case.get("folders", ()):
        Path(name).mkdir(parents=True)
    texts = {name: text.encode() for name, text in case.get("files", {}).items()}
    binaries = {name: base64.b64decode(text) for name, text in case.get("bytes", {}).items()}
    for name, data in (texts | binaries).items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(data)
    for name, target in case.get("links", {}).items():
        Path(name).symlink_to(target)
    for name, script in case.get("programs", {}).items():
        program = Path("bin") / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}")
        program.chmod(0o755)
    if "programs" in case:
        monkeypatch.setenv("PATH", str(Path("bin").resolve()))
    for variable, value in case.get("environ", {}).items():
        monkeypatch.setenv(variable, value)


def fail_below_small(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Let every new file and folder below ``small/`` fail with an error of the disk."""

    def failing(function: Any) -> Any:
        def call(path: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(path, str | Path) and "small" in Path(path).parts:
                raise OSError(number, os.strerror(number), str(path))
            return function(path, *args, **kwargs)

        return call

    for name in ("open", "mkdir"):
        monkeypatch.setattr(os, name, failing(getattr(os, name)))


def unresolved(host: str, *_: object, **__: object) -> Any:
    """Resolve no name, as no test asks a name server; addresses are not names."""
    if host.startswith("127."):
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (host, 1))]
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_mistake_is_one_error_with_a_fix(
    path: Path, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    case = yaml.safe_load(path.read_text(encoding="utf-8"))
    monkeypatch.chdir(shutil.copytree(project, tmp_path / "project"))
    monkeypatch.setenv("COLUMNS", "1000")
    for variable in ("SSH_AUTH_SOCK", "RAILWEAVE_INTENT", "RAILWEAVE_TARGET", "RAILWEAVE_JOURNALS", "DOCKER_HOST"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("railweave.catalog.load._Used.own", (None, ()))
    monkeypatch.setattr(socket, "getaddrinfo", unresolved)
    prepare(case, monkeypatch)
    if "disk" in case:
        fail_below_small(monkeypatch, DISKS[case["disk"]])
    _templates_of.cache_clear()
    # A command that ends with a space has an empty last argument.
    status = main(case["command"].split(" "))
    _templates_of.cache_clear()
    printed = capfd.readouterr()
    said = (printed.out + printed.err).replace(str(tmp_path), "TMP")
    assert status not in (0, None), said
    assert "Traceback" not in said
    assert "bug" not in said
    assert len(re.findall(r"^(?:error\b|Error: |unreachable: |unread )", said, re.MULTILINE)) == 1, said
    assert FIX.search(said), said
    expected = path.with_suffix(".txt")
    if os.environ.get("RAILWEAVE_UPDATE_GOLDEN"):
        expected.write_text(said, encoding="utf-8")
    assert said == expected.read_text(encoding="utf-8")
