"""Files that may hold configuration."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from railweave.files import create_private, write_private


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(autouse=True)
def lenient_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def test_a_file_is_its_owner_s_alone_and_replaces_an_open_one(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text("old")
    path.chmod(0o666)
    with path.open() as reader:
        write_private(path, b"new")
        assert reader.read() == "old"
    assert path.read_bytes() == b"new"
    assert mode(path) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["plan.json"]


def test_a_file_that_cannot_be_finished_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plan.json"
    write_private(path, b"old")

    def full(_handle: int) -> None:
        assert [mode(one) for one in tmp_path.iterdir()] == [0o600, 0o600]
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_private(path, b"new")
    assert path.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["plan.json"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_private(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_what_is_no_file_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_private(pipe, b"new")
        assert os.read(reader, 10) == b"new"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_created_file_is_its_owner_s_alone_and_never_another_s(tmp_path: Path) -> None:
    create_private(tmp_path / "frr.conf", b"text")
    assert mode(tmp_path / "frr.conf") == 0o600
    with pytest.raises(FileExistsError):
        create_private(tmp_path / "frr.conf", b"text")
