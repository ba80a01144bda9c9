"""The chain of the audit log: each line names the one before it, so a change of the past is seen."""

import os
import threading
from pathlib import Path

import pytest

from railweave.api.journal.audit import audit, audited_action
from railweave.cli.main import main
from railweave.report.audit import AuditChain, audit_json


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for number in range(3):
        act(number)
    return tmp_path / ".railweave" / "audit.jsonl"


def act(number: int) -> None:
    with audited_action(f"drain leaf{number}", "pod1", "sim", "f" * 64) as record:
        record({"leaf1": {"outcome": "drained"}})


def chain(head: str = "") -> AuditChain:
    return audit(head=head).chain


def test_a_log_that_nobody_touched_is_whole(log: Path) -> None:
    found = chain()
    assert (found.lines, found.unchained, found.faults) == (6, 0, ())
    assert len(found.head) == 64
    act(4)
    assert chain(head=found.head).faults == ()
    assert chain().head != found.head


@pytest.mark.parametrize("line", range(5))
@pytest.mark.parametrize("how", ["changed", "removed", "inserted", "swapped", "no entry"])
def test_a_line_that_is_not_as_it_was_written_breaks_the_chain(log: Path, line: int, how: str) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    if how == "changed":
        lines[line] = lines[line].replace(b"leaf", b"LEAF")
    elif how == "removed":
        del lines[line]
    elif how == "inserted":
        lines.insert(line, lines[line])
    elif how == "swapped":
        lines[line], lines[line + 1] = lines[line + 1], lines[line]
    else:
        lines[line] = b"x\n"
    log.write_bytes(b"".join(lines))
    assert chain().faults


def test_lines_that_are_gone_from_the_end_are_seen_by_a_head_that_was_kept(log: Path) -> None:
    head = chain().head
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))
    assert chain().faults == ()
    assert f"the line {head} is not there" in chain(head).faults[0]
    log.unlink()
    assert chain(head).faults


def test_a_line_that_a_lost_machine_cut_short_stays_in_the_chain(log: Path) -> None:
    with log.open("ab") as file:
        file.write(b'{"event": "beg')
    act(5)
    found = chain()
    assert (found.lines, found.faults, audit().torn) == (9, (), 1)


def test_a_log_of_an_older_version_is_continued(log: Path) -> None:
    old = b'{"event": "begun", "id": "1", "at": "x"}\n'
    log.write_bytes(old * 2)
    act(1)
    assert (chain().unchained, chain().faults) == (2, ())
    log.write_bytes(log.read_bytes().replace(b'"x"', b'"y"', 2))
    assert chain().faults


def test_lines_that_are_written_at_once_are_one_chain(log: Path) -> None:
    threads = [threading.Thread(target=act, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (chain().lines, chain().faults) == (22, ())


def test_a_line_longer_than_a_block_is_found_again(log: Path) -> None:
    with audited_action("x" * 200_000, "pod1", "sim", "") as record:
        record({})
    assert (chain().lines, chain().faults) == (8, ())


def test_the_command_checks_the_chain(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--verify"]) == 0
    out = capsys.readouterr().out
    assert "the chain of 6 lines is whole" in out
    assert chain().head in out
    log.write_bytes(log.read_bytes().replace(b"leaf0", b"leaf9"))
    assert main(["audit", "--verify"]) == 1
    assert "line 2 does not follow line 1" in capsys.readouterr().out
    assert main(["audit"]) == 0
    assert not audit_json(audit())["chain"]["ok"]
    assert main(["audit", "--head", "x"]) == 64


def test_the_log_lies_beside_the_journals_where_these_are_elsewhere(
    log: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RAILWEAVE_JOURNALS", str(tmp_path / "share"))
    act(1)
    assert [len(audit().entries), os.listdir(tmp_path / "share")] == [1, ["audit.jsonl"]]
