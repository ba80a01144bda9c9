"""A runner is lost in the midst of a rollout, and its project with it: journals elsewhere let a fresh clone resume."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from counted_fabric import deployed_fabric
from in_process import run_here
from s3_stand_in import serve_s3

pytestmark = pytest.mark.slow

INTENT = Path("intent/lab-4.yml")
KILLED_AT_THE_FIRST_LEAF = """
import os, signal, sys
from nornir_railweave.rollout.journal import Journal
write = Journal.__call__
def killed(journal, event):
    write(journal, event)
    if event.step == "applied" and "leaf" in event.device:
        os.kill(os.getpid(), signal.SIGKILL)
Journal.__call__ = killed
from railweave.cli.main import main
sys.exit(main(sys.argv[1:]))
"""

SOON_LOST = """
import sys
from nornir_railweave.journals import shared
shared.LEASE_S = 1.0
from railweave.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def rack(tmp_path: Path) -> Iterator[Path]:
    """The folder of the project as it is cloned, beside the fabric that it deploys to."""
    folder = tmp_path / "rack"
    folder.mkdir()
    with deployed_fabric(folder, INTENT.name):
        with (folder / INTENT).open("a") as file:
            file.write("bgp: {keepalive: 2, hold: 8}\n")
        yield folder


def clone(rack: Path, name: str) -> Path:
    there = rack.parent / name
    shutil.copytree(rack, there, ignore=shutil.ignore_patterns("*.sock", "journal"))
    return there


@pytest.fixture(params=["share", "git", "s3"])
def store(request: pytest.FixtureRequest, rack: Path) -> Iterator[dict[str, str]]:
    """The environment of runners whose journals lie elsewhere."""
    if request.param == "share":
        yield {**os.environ, "RAILWEAVE_JOURNALS": str(rack.parent / "share")}
        return
    if request.param == "git":
        subprocess.run(["git", "init", "-q", "--bare", str(rack.parent / "remote.git")], check=True)
        subprocess.run(["git", "init", "-q", str(rack)], check=True)
        subprocess.run(
            ["git", "-C", str(rack), "remote", "add", "origin", f"file://{rack.parent}/remote.git"], check=True
        )
        yield {**os.environ, "RAILWEAVE_JOURNALS": "git:origin"}
        return
    pytest.importorskip("obstore")
    with serve_s3() as endpoint:
        login = {
            "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
            "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI-EXAMPLE",
            "AWS_REGION": "here",
        }
        place = {"AWS_ENDPOINT": endpoint, "AWS_ALLOW_HTTP": "true", "RAILWEAVE_JOURNALS": "s3://bucket/journals"}
        yield {**os.environ, **login, **place}


def test_a_fresh_clone_resumes_the_rollout_of_a_lost_runner(rack: Path, store: dict[str, str]) -> None:
    words = [str(INTENT), "--target", "sim", "--yes"]
    lost = clone(rack, "runner")
    done = subprocess.run(
        [sys.executable, "-c", KILLED_AT_THE_FIRST_LEAF, "deploy", *words],
        cwd=lost, env=store, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    shutil.rmtree(lost)

    fresh = clone(rack, "fresh")
    without = run_here(["deploy", "--resume", *words], fresh, os.environ, 120)
    assert without.returncode == 1
    assert "nothing to resume" in " ".join(without.stderr.split())
    resumed = subprocess.run(
        [sys.executable, "-c", SOON_LOST, "deploy", "--resume", *words],
        cwd=fresh, env=store, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert resumed.returncode == 0, resumed.stderr
    planned = run_here(["plan", str(INTENT), "--target", "sim", "--exit-code"], fresh, store, 120)
    assert planned.returncode == 0, "nothing is left to change"

    # Another clone knows as much, and has nothing to resume.
    third = clone(rack, "third")
    listed = run_here(["rollout", "list"], third, store, 60).stdout
    assert listed.count("-lab-") == 1
    assert "done" in listed
    checked = run_here(["audit", "--verify"], third, store, 60)
    assert (checked.returncode, "the chain of 3 lines is whole" in checked.stdout) == (0, True)
    again = run_here(["deploy", "--resume", *words], third, store, 60)
    assert (again.returncode, "nothing to resume" in " ".join(again.stderr.split())) == (1, True)


def test_two_clones_with_one_share_deploy_one_after_the_other(rack: Path) -> None:
    """The lock of a fabric and target lies beside the journals, so it keeps machines apart that share them."""
    from nornir_railweave.rollout.journal import Journal

    share = rack.parent / "share"
    with Journal(share, "lab", "sim"):
        environ = {**os.environ, "RAILWEAVE_JOURNALS": str(share)}
        done = run_here(["deploy", str(INTENT), "--target", "sim", "--yes"], clone(rack, "other"), environ, 60)
    assert done.returncode == 1
    assert "RW530" in done.stderr


def test_a_target_with_allowed_signers_deploys_signed_plans_alone(rack: Path) -> None:
    key = rack / "ada"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    (rack / "signers").write_text(f"ada@example.net {key.with_suffix('.pub').read_text()}")
    with (rack / "inventory/sim.yml").open("a") as file:
        file.write("allowed_signers: signers\n")

    def railweave(*words: str) -> str:
        done = run_here(list(words), rack, os.environ, 900)
        return f"{done.returncode}: {' '.join((done.stdout + done.stderr).split())}"

    options = ("--intent", str(INTENT), "--target", "sim")
    assert "RW528" in railweave("deploy", "--yes", *options)
    assert railweave("plan", *options, "--out", "plan.json").startswith("0: ")
    unsigned = railweave("deploy", "plan.json", *options)
    assert unsigned.startswith("1: ")
    assert "is not signed" in unsigned
    assert railweave("plan", *options, "--out", "plan.json", "--sign", str(key)).startswith("0: ")
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_AT_THE_FIRST_LEAF, "deploy", "plan.json", *options], cwd=rack, check=False
    )
    assert killed.returncode == -signal.SIGKILL

    # Who resumes it needs no signature of his own, but that of the plan must still count.
    signers = (rack / "signers").read_text()
    (rack / "signers").write_text(signers.replace("ada@example.net", 'ada@example.net valid-before="20200101"'))
    assert "RW528" in railweave("deploy", "--resume", "--yes", *options)
    (rack / "signers").write_text(signers)
    assert railweave("deploy", "--resume", "--yes", *options).startswith("0: ")
    log = (rack / ".railweave/audit.jsonl").read_text()
    assert log.count('"signed_by": "ada@example.net"') == 2

    refused = railweave("rollback", "--yes", *options)
    assert "is rolled back by an order only" in refused
    assert "is rolled back by an order only" in railweave("rollback", "--last", "--yes", *options)
    order = rack / "order"
    order.write_text(next((rack / ".railweave/journal").glob("*.jsonl")).stem + "\n")
    subprocess.run(["ssh-keygen", "-Y", "sign", "-q", "-f", str(key), "-n", "railweave-rollback", "order"],
                   cwd=rack, check=True)  # fmt: skip
    assert railweave("rollback", "--yes", "--order", "order", *options).startswith("0: ")
    assert railweave("plan", *options, "--sign", str(key)).startswith("64: ")
