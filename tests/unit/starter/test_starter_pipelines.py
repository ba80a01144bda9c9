"""Who has which key in the pipelines of a scaffolded repository, and that a comment is made whatever a plan says."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from railweave.api.starter import init
from railweave.cli.options import TargetOption

pytestmark = pytest.mark.slow

SAYS_NO = """#!/bin/sh
case "$1" in
  check) echo 'warning[RW111]: a `finding` of check' ;;
  plan) echo 'error[RW602]: target production has no address for leaf9' >&2; exit 1 ;;
esac
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    init(tmp_path / "fabric")
    return tmp_path / "fabric"


def github(repository: Path) -> dict[str, Any]:
    text = (repository / ".github/workflows/fabric.yml").read_text(encoding="utf-8")
    jobs: dict[str, Any] = yaml.safe_load(text)["jobs"]
    return jobs


def gitlab(repository: Path) -> dict[str, Any]:
    pipeline = yaml.safe_load((repository / ".gitlab-ci.yml").read_text(encoding="utf-8"))
    return {name: job for name, job in pipeline.items() if isinstance(job, dict) and "script" in job}


@pytest.mark.parametrize("jobs", [github, gitlab])
def test_only_the_job_behind_reviewers_has_the_key_that_deploys(jobs: Any, repository: Path) -> None:
    found = {name: json.dumps(job) for name, job in jobs(repository).items()}
    assert {name for name, text in found.items() if "RAILWEAVE_SSH_KEY" in text} == {"deploy"}
    assert {name for name, text in found.items() if "RAILWEAVE_READER_KEY" in text} == {"plan", "drift"}
    assert jobs(repository)["deploy"]["environment"] == "production"


def test_the_readers_key_is_of_an_environment_that_no_workflow_of_a_pull_request_gets(repository: Path) -> None:
    jobs = github(repository)
    assert {jobs[name]["environment"] for name in ("plan", "drift")} == {"plan"}
    assert "pull_request'" not in jobs["plan"]["if"], "the workflow of the branch itself runs for `pull_request`"


def test_what_a_fork_may_run_is_hosted_and_has_no_secret(repository: Path) -> None:
    jobs = github(repository)
    check = jobs.pop("check")
    assert check["runs-on"] == "ubuntu-latest"
    assert "secrets." not in json.dumps(check)
    for job in jobs.values():
        assert "head.repo.full_name == github.repository" in job["if"] or "pull_request" not in job["if"]


@pytest.mark.parametrize("jobs", [github, gitlab])
def test_a_plan_that_cannot_be_made_is_commented_with_its_reasons_and_the_findings_of_check(
    jobs: Any, repository: Path, tmp_path: Path
) -> None:
    program = tmp_path / "bin/railweave"
    program.parent.mkdir()
    program.write_text(SAYS_NO, encoding="utf-8")
    program.chmod(0o755)
    plan = jobs(repository)["plan"]
    scripts = [one["run"] for one in plan.get("steps", ()) if one.get("name") in ("Plan", "Result of the plan")]
    scripts += [line for line in plan.get("script", ()) if isinstance(line, str)]
    environ = {"PATH": f"{program.parent}:{os.environ['PATH']}", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", "\n".join(scripts)]
    assert subprocess.run(words, cwd=tmp_path, env=environ, capture_output=True, check=False).returncode == 1
    comment = (tmp_path / "comment.md").read_text(encoding="utf-8")
    assert "has no address for leaf9" in comment
    assert "warning[RW111]: a 'finding' of check" in comment, "text cannot end the block that it stands in"


def test_the_bare_environment_selects_no_target(repository: Path) -> None:
    assert TargetOption.__metadata__[0].envvar == "RAILWEAVE_TARGET"  # type: ignore[attr-defined]
    environ = {**os.environ, "TARGET": "production"}
    done = subprocess.run(
        ["make", "-n", "diff"], cwd=repository, env=environ, capture_output=True, text=True, check=True
    )
    assert "--target sim" in done.stdout


GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@example.net", "-c", "init.defaultBranch=main")
HOSTILE = {
    "inventory/production.yml": "source: addresses\naddress: '{name}.evil.example.net'\n"
    "ssh: {username: a, password_env: RAILWEAVE_TOKEN, strict: false}\n",
    "inventory/known_hosts": "evil",
    "templates/frr/env.j2": "{% include 'env' %}",
    "Makefile": "all:\n\tevil\n",
}


def git(folder: Path, *words: str) -> str:
    done = subprocess.run([*GIT, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def planned_from(
    jobs: Any, repository: Path, tmp_path: Path, intent: str | None
) -> "subprocess.CompletedProcess[bytes]":
    """Run the steps up to the plan of a job that was checked out as the forge does it; ``intent`` None is a link."""
    git(repository, "init", "-q")
    (repository / "inventory/production.yml").write_text("source: addresses\n", encoding="utf-8")
    git(repository, "add", "-A", "--force")
    git(repository, "commit", "-q", "-m", "main")
    git(repository, "checkout", "-q", "-b", "hostile")
    for name, text in HOSTILE.items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(text, encoding="utf-8")
    target = repository / "intent/fabric.yml"
    target.unlink()
    if intent is None:
        target.symlink_to("/etc/passwd")
    else:
        target.write_text(intent, encoding="utf-8")
    git(repository, "add", "-A", "--force")
    git(repository, "commit", "-q", "-m", "hostile")
    head = git(repository, "rev-parse", "HEAD")
    clone = tmp_path / "job"
    git(tmp_path, "clone", "-q", str(repository), str(clone))
    if jobs is github:
        git(clone, "checkout", "-q", "origin/main")
        steps = jobs(repository)["plan"]["steps"]
        (script,) = [one["run"] for one in steps if one.get("name", "").startswith("Take the intent")]
    else:
        script = next(line for line in jobs(repository)["plan"]["script"] if "git show" in line)
    variables = {"HEAD": head, "CI_COMMIT_SHA": head, "CI_MERGE_REQUEST_IID": "7",
                 "RAILWEAVE_INTENT": "intent/fabric.yml", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
                 "PATH": os.environ["PATH"]}  # fmt: skip
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(words, cwd=clone, env=variables, capture_output=True, check=False)


@pytest.mark.parametrize("jobs", [github, gitlab])
def test_of_a_hostile_pull_request_only_the_intent_reaches_its_plan(
    jobs: Any, repository: Path, tmp_path: Path
) -> None:
    assert planned_from(jobs, repository, tmp_path, "fabric: proposed\n").returncode == 0
    clone = tmp_path / "job"
    assert (clone / "intent/fabric.yml").read_text(encoding="utf-8") == "fabric: proposed\n"
    assert git(clone, "diff", "--name-only", "origin/main") == "intent/fabric.yml"
    for name, text in HOSTILE.items():
        assert not (clone / name).exists() or (clone / name).read_text(encoding="utf-8") != text
    assert git(clone, "status", "--porcelain", "--ignored") == "M intent/fabric.yml"


@pytest.mark.parametrize("jobs", [github, gitlab])
def test_an_intent_that_is_a_link_is_not_planned(jobs: Any, repository: Path, tmp_path: Path) -> None:
    done = planned_from(jobs, repository, tmp_path, None)
    assert done.returncode == 1
    assert b"is not a plain file" in done.stderr
    assert not (tmp_path / "job/intent/fabric.yml").is_symlink()


FORGE = """#!/usr/bin/env python3
import json, pathlib, sys
store = pathlib.Path(__file__).with_name("comments.json")
known = json.loads(store.read_text()) if store.exists() else [{"id": 1, "body": "a question"}]
data = next((pathlib.Path(one[1:]).read_text() for one in sys.argv if one.startswith("@")), None)
if data is None:
    print(json.dumps(known))
elif "--request" in sys.argv:
    number = int(sys.argv[-1].rpartition("/")[2])
    known = [{**one, **(json.loads(data) if one["id"] == number else {})} for one in known]
else:
    known.append({"id": len(known) + 1, **json.loads(data)})
store.write_text(json.dumps(known))
"""


@pytest.mark.parametrize("jobs", [github, gitlab])
def test_the_comment_of_a_later_plan_takes_the_place_of_the_earlier_one(
    jobs: Any, repository: Path, tmp_path: Path
) -> None:
    curl = tmp_path / "bin/curl"
    curl.parent.mkdir()
    curl.write_text(FORGE, encoding="utf-8")
    curl.chmod(0o755)
    plan = jobs(repository)["plan"]
    lines = [one["run"] for one in plan.get("steps", ()) if one.get("name") == "Comment"]
    script = (lines or [line for line in plan["script"] if "call()" in line])[0]
    environ = {"PATH": f"{curl.parent}:{os.environ['PATH']}", "NUMBER": "7", "CI_MERGE_REQUEST_IID": "7"}
    for said in ("first plan", "second plan"):
        (tmp_path / "comment.md").write_text(said, encoding="utf-8")
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        subprocess.run(words, cwd=tmp_path, env=environ, check=True)
    comments = json.loads((curl.parent / "comments.json").read_text(encoding="utf-8"))
    assert [one["body"].splitlines()[-1] for one in comments] == ["a question", "second plan"]
