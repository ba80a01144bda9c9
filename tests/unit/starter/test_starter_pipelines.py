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
