"""Intents designed for the lab's tests, and a stub of Containerlab's program."""

import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from railweave.api.lab import chosen_image, rendered

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def render_lab() -> Callable[[str], Any]:
    """Return what renders the lab of a reference intent, or of an intent's text."""

    def render(name: str, folder: Path | None = None, text: str | None = None, **environ: str) -> Any:
        path = ROOT / "intent" / name
        if text is not None and folder is not None:
            path = folder / name
            path.write_text(text, encoding="utf-8")
        return rendered(path, chosen_image(environ))

    return render


@pytest.fixture
def stub(tmp_path: Path) -> Callable[..., Path]:
    """Return what writes a program that answers as Containerlab does, and notes how it was called."""

    def make(answers: dict[str, tuple[int, str, str]]) -> Path:
        program = tmp_path / "containerlab"
        (tmp_path / "answers.json").write_text(json.dumps(answers))
        program.write_text(
            f"#!{sys.executable} -IS\n"
            "import json, os, sys\n"
            f"folder = {str(tmp_path)!r}\n"
            "with open(folder + '/calls', 'a') as calls: calls.write(json.dumps(sys.argv[1:]) + '\\n')\n"
            "with open(folder + '/environ', 'w') as seen: json.dump(dict(os.environ), seen)\n"
            "status, out, err = json.load(open(folder + '/answers.json')).get(sys.argv[1], (0, '', ''))\n"
            "sys.stdout.write(out); sys.stderr.write(err); sys.exit(status)\n"
        )
        program.chmod(0o755)
        return program

    return make


@pytest.fixture
def listening() -> Iterator[Any]:
    """Return what opens a loopback port that greets with a text, and gives its number."""
    open_now: list[socket.socket] = []

    def serve(listener: socket.socket, greeting: bytes) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.sendall(greeting)

    def start(greeting: bytes) -> int:
        listener = socket.create_server(("127.0.0.1", 0))
        open_now.append(listener)
        threading.Thread(target=serve, args=(listener, greeting), daemon=True).start()
        return int(listener.getsockname()[1])

    yield start
    for listener in open_now:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what puts a program `docker` of a given shell text first in the path."""

    def install(text: str) -> None:
        program = tmp_path / "bin" / "docker"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    return install
