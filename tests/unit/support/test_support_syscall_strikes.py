"""A process is struck at exactly the call that was asked for, and at no call about other files."""

import os
import signal
from pathlib import Path

import pytest
from syscall_strikes import strike_at

pytestmark = pytest.mark.slow

WHOLE = b"first line\nsecond line\n"


def struck(folder: Path, number: int, moment: str) -> bytes:
    """Write two lines in a process that is killed at a call; return what is left of the file."""
    file = folder / "below" / "journal"
    file.parent.mkdir(exist_ok=True)
    child = os.fork()
    if child == 0:
        strike_at(file.parent, number, moment, lambda: os.kill(os.getpid(), signal.SIGKILL))
        (folder / "elsewhere").write_bytes(b"not counted")
        handle = os.open(file, os.O_CREAT | os.O_WRONLY)
        for line in WHOLE.splitlines(keepends=True):
            os.write(handle, line)
            os.fsync(handle)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) == (number <= 5)
    return file.read_bytes() if file.exists() else b"absent"


@pytest.mark.parametrize(
    ("number", "moment", "left"),
    [
        (1, "before", b"absent"),
        (1, "after", b""),
        (2, "before", b""),
        (2, "within", b"first"),
        (2, "after", b"first line\n"),
        (3, "before", b"first line\n"),
        (4, "within", b"first line\nsecond"),
        (5, "after", WHOLE),
        (6, "before", WHOLE),
    ],
)
def test_a_process_dies_at_the_call_that_was_chosen(tmp_path: Path, number: int, moment: str, left: bytes) -> None:
    assert struck(tmp_path, number, moment) == left
