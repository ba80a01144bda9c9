"""Stores of journals as runners see them: a branch of a bare repository, a folder and a bucket by obstore."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from s3_stand_in import serve_s3

from nornir_railweave.journals.places import open_store
from nornir_railweave.journals.store import Store

Runner = Callable[[], Store]


def git_project(folder: Path, remote: Path) -> Path:
    """Return a project in git whose remote ``origin`` is a bare repository."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    subprocess.run(["git", "-C", str(folder), "remote", "add", "origin", f"file://{remote}"], check=True)
    return folder


@contextmanager
def git_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "remote.git")], check=True)
    monkeypatch.chdir(git_project(tmp_path / "project", tmp_path / "remote.git"))
    yield "git:origin"


@contextmanager
def bucket_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    pytest.importorskip("obstore")
    with serve_s3() as endpoint:
        for name, value in {
            "AWS_ENDPOINT": endpoint,
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "here",
            "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
            "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI-EXAMPLE",
        }.items():
            monkeypatch.setenv(name, value)
        yield "s3://bucket/journals"


@contextmanager
def folder_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    pytest.importorskip("obstore")
    yield f"file://{tmp_path}/objects"


PLACES = {"git": git_place, "s3": bucket_place, "file": folder_place}


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """What RAILWEAVE_JOURNALS says."""
    with PLACES[request.param](tmp_path, monkeypatch) as named:
        yield named


@pytest.fixture
def runner(place: str) -> Runner:
    """Open the store anew, as another runner does."""
    return lambda: open_store(place)
