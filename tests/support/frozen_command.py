"""A `railweave deploy` that is stopped by a signal amid its rollout while another one deploys, and then goes on.

The simulator stops it, with all that it started, at a command of one switch: what the command does is done, and its
answer is read late. The timers of the switches strike, another clone deploys, and the first one is continued.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from command_rig import RAILWEAVE
from process_trees import go_on, tree
from rollout_bench import TARGET, Operator, Pace, WatchedFabric
from s3_stand_in import serve_s3

STORES = ("plain", "git", "s3", "workers")
CONSENT = ("--yes", "--provision", "--single-step", "--discard-newer")
COMMAND_S = 300
TRIES = 3
SOON_LOST = """
import sys
from nornir_railweave.journals import shared
shared.LEASE_S = 1.0
from railweave.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
"""The second runner takes the first one for lost after a second without a sign of life."""


@dataclass(frozen=True, slots=True)
class Store:
    """Where journals lie, as ``environ`` has it; ``workers``: leaves are worked on by a worker of their site."""

    name: str = "plain"
    environ: Mapping[str, str] = field(default_factory=dict)
    workers: bool = False


@contextlib.contextmanager
def store_of(name: str, folder: Path, number: int) -> Iterator[Store]:
    """Give a store of journals that holds none."""
    if name == "git":
        there = folder / f"journals-{number}.git"
        subprocess.run(["git", "init", "-q", "--bare", str(there)], check=True)
        yield Store(name, {"RAILWEAVE_JOURNALS": f"git:file://{there}"})
    elif name == "s3":
        with serve_s3() as endpoint:
            login = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "EXAMPLE", "AWS_REGION": "here"}
            place = {"AWS_ENDPOINT": endpoint, "AWS_ALLOW_HTTP": "true", "RAILWEAVE_JOURNALS": "s3://bucket/journals"}
            yield Store(name, {**login, **place})
    else:
        yield Store(name, workers=name == "workers")


@dataclass(slots=True)
class Overtaken:
    """How both ended: exit statuses, None for a first one that ended before it was stopped anywhere.

    ``confirmed`` are the switches on which the second one confirmed a commit, ``then`` what all held after it.
    """

    first_ended: int
    was_frozen: bool
    second_ended: int
    second_said: str
    confirmed: tuple[str, ...]
    then: Mapping[str, Any] = field(repr=False)

    def __str__(self) -> str:
        first = f"{'frozen, ' if self.was_frozen else ''}exit {self.first_ended}"
        return f"first {first}; second exit {self.second_ended}, confirmed {', '.join(self.confirmed) or 'nothing'}"


def overtaken(
    fabric: WatchedFabric, first: Operator, second: Operator, store: Store, device: str, after: int
) -> Overtaken:
    """Deploy what ``first`` wishes, stopped at the command ``after`` of ``device``; what ``second`` wishes; go on."""
    if store.workers:
        first.pace = _with_worker(first)
    with _repositories((first, second), store):
        return _overtaken(fabric, first, second, store, device, after)


@contextlib.contextmanager
def _repositories(operators: tuple[Operator, ...], store: Store) -> Iterator[None]:
    """Let projects be git repositories, as those are whose journals lie on a branch."""
    folders = [operator.folder / ".git" for operator in operators if store.name == "git"]
    for folder in folders:
        subprocess.run(["git", "init", "-q", str(folder.parent)], check=True)
    try:
        yield
    finally:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


def _overtaken(
    fabric: WatchedFabric, first: Operator, second: Operator, store: Store, device: str, after: int
) -> Overtaken:
    with first.at_work():
        words = [str(RAILWEAVE), "deploy", str(first.intent), "--target", TARGET, *CONSENT]
        sleeper = subprocess.Popen(
            words, cwd=first.folder, env={**os.environ, **store.environ}, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    try:
        fabric.ask("trigger", device=device, after=after, fault={"kind": "freeze", "pid": sleeper.pid})
        stopped = _stopped(fabric, sleeper)
        fabric.ask("heal")
        fabric.ask("settle")
        fabric.ask("pass_time")
        ended, said, pids = _deployed(second, store)
        fabric.ask("settle")
        then = fabric.ask("held")["devices"]
        go_on(stopped)
        first_ended = sleeper.wait(COMMAND_S)
    finally:
        if sleeper.poll() is None:
            for one in tree(sleeper.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(one, 9)
            sleeper.wait(30)
    fabric.ask("settle")
    confirmed = tuple(name for name in then if _confirmed_by(then[name], pids))
    return Overtaken(first_ended, bool(stopped), ended, said, confirmed, then)


def _stopped(fabric: WatchedFabric, sleeper: "subprocess.Popen[bytes]") -> list[int]:
    """Wait until the simulator has stopped a process, or it has ended; return whom it stopped."""
    while sleeper.poll() is None:
        if found := fabric.ask("frozen")["pids"]:
            return list(found)
        time.sleep(0.02)
    return []


def _deployed(second: Operator, store: Store) -> tuple[int, str, list[int]]:
    """Deploy what the second one wishes; return exit status, output, and the processes that committed.

    It is run again where the store asks for that: the first one's last line came while it began.
    """
    words = [sys.executable, "-c", SOON_LOST, "deploy", str(second.intent), "--target", TARGET, *CONSENT]
    tried: list[int] = []
    while True:
        with second.at_work():
            process = subprocess.Popen(
                words, cwd=second.folder, env={**os.environ, **store.environ}, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip
            said, _ = process.communicate(timeout=COMMAND_S)
        tried.append(process.pid)
        if process.returncode == 0 or "run it again" not in said or len(tried) == TRIES:
            return process.returncode, said, tried


def _confirmed_by(held: Mapping[str, Any], pids: list[int]) -> bool:
    """Tell whether the last commit of a switch is one of these processes', and confirmed."""
    commit = held["commit"] or {}
    return commit.get("status") == "confirmed" and any(f"(process {pid})" in commit["by"] for pid in pids)


def _with_worker(operator: Operator) -> Pace:
    """Return the pace of an operator whose leaves are worked on by a worker of theirs."""
    intent = operator.intent.relative_to(operator.folder)
    start = f"cd {operator.folder} && exec {RAILWEAVE} worker --target {TARGET} --intent {intent}"
    site = {"devices": ["*leaf*"], "command": ["sh", "-c", start]}
    times = {"connect": 10, "reconnect": operator.pace.reconnect_s, "worker": 90}
    return Pace(operator.pace.rollout, operator.pace.reconnect_s, {"sites": {"west": site}, "timeouts": times})
