"""Stores that refuse, break off or do not answer: messages have no credentials, and nothing is started."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from driven_clock import DrivenClock
from s3_stand_in import Bucket, serve_s3

from nornir_railweave.events import Event, Step
from nornir_railweave.journals import git_branch
from nornir_railweave.journals.places import is_store, open_store
from nornir_railweave.journals.shared import SharedJournals
from nornir_railweave.journals.store import StoreError
from nornir_railweave.rollout.journal import Journal
from railweave.errors import RailweaveError
from railweave.plan.model import Plan
from railweave.plan.outcome import DeployResult, Result
from railweave.plan.rollout import RolloutMetadata

PLAN = Plan("pod1", "sim", "f" * 64, {}, ())


def bare(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "remote.git")], check=True)
    return tmp_path / "remote.git"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path / "project")], check=True)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("obstore")
    made = Bucket()
    with serve_s3(made) as endpoint:
        for name, value in {
            "AWS_ENDPOINT": endpoint, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "here",
            "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI-EXAMPLE",
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        yield made


def test_what_is_a_store_and_what_a_folder() -> None:
    assert [is_store(one) for one in ("git:origin", "s3://b/p", "gs://b", "az://c", "https://x")] == [True] * 5
    assert [is_store(one) for one in ("/srv/journals", "share", "C:/journals", ".railweave/journal")] == [False] * 4


@pytest.mark.parametrize("place", ["https://ada:hunter22@host/x?sig=abc", "memory:///", "git:", "git:--upload-pack=x"])
def test_a_place_that_is_no_store_is_refused_without_its_credentials(place: str) -> None:
    with pytest.raises(StoreError) as refused:
        open_store(place)
    assert not {"hunter22", "abc"} & set(str(refused.value).replace("?", " ").replace("=", " ").split())
    assert "ada" not in str(refused.value)


@pytest.mark.parametrize(
    "remote",
    [
        "https://ada:hunter22@127.0.0.1:1/x.git",
        "https://hunter22@127.0.0.1:1/x.git",
        "https://127.0.0.1:1/x?t=hunter22",
    ],
)
def test_a_remote_that_does_not_answer_is_named_without_its_credentials(project: Path, remote: str) -> None:
    with pytest.raises(StoreError) as refused:
        open_store(f"git:{remote}").names()
    assert "127.0.0.1" in str(refused.value)
    assert "hunter22" not in str(refused.value)


def test_git_that_hangs_is_given_up(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_branch, "_TIMEOUT_S", 0.2)
    monkeypatch.setenv("GIT_SSH_COMMAND", "sleep 30 #")
    with pytest.raises(StoreError, match=r"git ls-remote: no answer within 0\.2 s"):
        open_store("git:ssh://git@127.0.0.1/x.git").names()


def test_a_branch_that_may_not_be_written_is_a_refusal_and_no_endless_repetition(project: Path) -> None:
    remote = bare(project)
    hook = remote / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho protected >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(StoreError, match=r"the branch railweave-journals of .* cannot be written: git push: .*reject"):
        open_store(f"git:{remote}").create("a/1", b"")


def test_a_push_whose_answer_was_lost_is_found_on_the_branch(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = cast("git_branch.GitBranch", open_store(f"git:{bare(project)}"))
    push = store._push

    def lost(commit: str) -> str:
        push(commit)
        return "the connection was lost"

    monkeypatch.setattr(store, "_push", lost)
    assert store.create("a/1", b"1")
    assert open_store(f"git:{project}/remote.git").names() == ["a/1"]


def test_the_project_is_not_touched_by_journals_on_a_branch(project: Path) -> None:
    store = open_store(f"git:{bare(project)}")
    Path("work").write_text("of the project")
    subprocess.run(["git", "add", "work"], check=True)

    def state() -> list[bytes]:
        asked = (
            ["status", "--porcelain"],
            ["for-each-ref"],
            ["branch", "-a"],
            ["rev-parse", "--is-shallow-repository"],
        )
        return [subprocess.run(["git", *words], capture_output=True, check=True).stdout for words in asked]

    before = state()
    store.create("a/1", b"1")
    open_store(f"git:{project}/remote.git").names()
    assert state() == before
    assert not Path(".git/FETCH_HEAD").exists()


@pytest.mark.parametrize("status", [401, 403])
def test_an_object_store_that_refuses_is_told_without_its_credentials(bucket: Bucket, status: int) -> None:
    bucket.before = lambda verb, path: status
    store = open_store("s3://bucket/journals")
    for call in (store.names, lambda: store.read(["a/1"]), lambda: store.create("a/1", b"")):
        with pytest.raises(StoreError, match="the object store: ") as refused:
            call()
        assert not any(secret in str(refused.value) for secret in ("wJalr", "AKID", "\n"))


def test_a_put_whose_answer_was_lost_is_the_callers_own(bucket: Bucket) -> None:
    lost = [500]
    bucket.after = lambda verb, path: lost.pop() if verb == "PUT" and lost else 0
    assert open_store("s3://bucket/journals").create("a/1", b"mine")
    assert not lost


def test_a_server_that_knows_no_conditions_is_refused_before_anything_begins(bucket: Bucket, tmp_path: Path) -> None:
    bucket.conditional = False
    journals = SharedJournals(open_store("s3://bucket/journals"), tmp_path, DrivenClock())
    journals.fetch()
    with pytest.raises(RailweaveError, match="it keeps no runners apart; no device was changed"):
        Journal(tmp_path, "pod1", "sim", shared=journals)
    assert list(tmp_path.glob("*.jsonl")) == []


# The journal of a rollout


class Failing:
    """A store that stops answering on request."""

    def __init__(self) -> None:
        self.records: dict[str, bytes] = {}
        self.away = False

    def names(self, folder: str = "") -> list[str]:
        return sorted(self.records)

    def read(self, names: Any) -> dict[str, bytes]:
        return {name: self.records[name] for name in names}

    def create(self, name: str, data: bytes, removing: Any = ()) -> bool:
        if self.away:
            raise StoreError("no route to host")
        return self.records.setdefault(name, data) == data


@pytest.fixture
def failing(tmp_path: Path) -> tuple[Failing, Callable[[], Journal]]:
    store = Failing()
    journals = SharedJournals(store, tmp_path, DrivenClock())
    journals.fetch()
    return store, lambda: Journal(tmp_path, "pod1", "sim", RolloutMetadata(), journals)


def test_a_journal_that_the_store_does_not_take_is_a_refusal(failing: tuple[Failing, Callable[[], Journal]]) -> None:
    store, opened = failing
    store.away = True
    with pytest.raises(RailweaveError, match="the journal cannot be stored: no route to host; no device was changed"):
        opened()
    store.away = False
    with opened() as journal:
        journal(journal.opening(PLAN))
        store.away = True
        with pytest.raises(RailweaveError, match="cannot be stored: no route to host; no device was changed"):
            journal.require_written()


def test_what_comes_next_is_in_the_store_before_it_is_begun(failing: tuple[Failing, Callable[[], Journal]]) -> None:
    store, opened = failing
    with opened() as journal:
        journal(journal.opening(PLAN))
        journal.require_written()
        journal(Event(Step.APPLYING, "leaf1"))
        assert not any(b"applying" in data for data in store.records.values())
        assert journal.blocker() == ""
        assert any(b"applying" in data for data in store.records.values())
        store.away = True
        journal(Event(Step.APPLYING, "leaf2"))
        assert "no route to host" in journal.blocker()
        store.away = False
        assert "no route to host" in journal.blocker(), "a rollout whose journal had a gap does not go on"
        ended = journal.judged(cast("Any", _ended()))
    assert (ended.result, "no route to host" in ended.stopped_by) == (Result.STOPPED, True)
    assert any(b"leaf2" in data for data in store.records.values()), "it is stored at the end where that is possible"


def _ended() -> DeployResult:
    return DeployResult(Result.DONE, {}, progress=cast("Any", SimpleNamespace(waves=())))
