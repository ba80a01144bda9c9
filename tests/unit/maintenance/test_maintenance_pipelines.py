"""The project's own pipelines, those of the starter projects, and what runs before a commit."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
WORKFLOWS = sorted(
    [*ROOT.glob(".github/workflows/*.y*ml"), *ROOT.glob("src/railweave/starter/*/github/workflows/*.y*ml")]
)
OWN = ROOT / ".github/workflows/check.yml"
NIGHTLY = OWN.with_name("nightly.yml")
WEEKLY = OWN.with_name("weekly.yml")

pytest_ids = [str(path.relative_to(ROOT)) for path in WORKFLOWS]


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def actions(found: Any) -> Iterator[str]:
    """Yield every action that a workflow, a job or a step uses."""
    if isinstance(found, dict):
        for key, value in found.items():
            if key == "uses":
                yield str(value)
            else:
                yield from actions(value)
    elif isinstance(found, list):
        for one in found:
            yield from actions(one)


def test_the_workflows_of_the_project_and_of_the_starter_are_found() -> None:
    assert OWN in WORKFLOWS
    assert any("starter/gitops" in str(path) for path in WORKFLOWS)


@pytest.mark.parametrize("path", WORKFLOWS, ids=pytest_ids)
def test_every_action_is_pinned_by_its_commit_with_the_version_beside_it(path: Path) -> None:
    used = list(actions(read(path)))
    assert used
    assert not [one for one in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", one)]
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if "uses:" in line]
    assert len(lines) == len(used)
    assert not [line for line in lines if not re.search(r" # v\d+\.\d+\.\d+$", line)]


def test_an_action_has_the_same_commit_everywhere() -> None:
    commits: dict[str, set[str]] = {}
    for path in WORKFLOWS:
        for name, _, commit in (one.partition("@") for one in actions(read(path))):
            commits.setdefault(name, set()).add(commit)
    assert not {name: found for name, found in commits.items() if len(found) > 1}


@pytest.mark.parametrize(("path", "minutes"), [(OWN, 60), (NIGHTLY, 120), (WEEKLY, 350)])
def test_the_own_workflows_may_only_read_and_end(path: Path, minutes: int) -> None:
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["concurrency"]["group"]
    assert all(job["timeout-minutes"] <= minutes and "permissions" not in job for job in workflow["jobs"].values())


def test_both_pipelines_run_what_everybody_runs() -> None:
    steps = [step.get("run", "") for step in read(OWN)["jobs"]["check"]["steps"]]
    assert any("bash .ci/run" in step for step in steps)
    gitlab = read(ROOT / ".gitlab-ci.yml")["check"]
    assert "bash .ci/run" in gitlab["script"]
    assert gitlab["timeout"]


def test_what_takes_too_long_for_every_change_runs_by_schedule_in_both_pipelines() -> None:
    gitlab = read(ROOT / ".gitlab-ci.yml")
    for name, path in (("nightly", NIGHTLY), ("weekly", WEEKLY)):
        (steps,) = (job["steps"] for job in read(path)["jobs"].values())
        assert f"bash .ci/{name}" in steps[-1]["run"]
        assert gitlab[name]["script"] == [f"bash .ci/{name}"]
    rules = {job: gitlab[job]["rules"][0]["if"] for job in ("check", "nightly", "weekly")}
    assert rules == {
        "check": '$CI_PIPELINE_SOURCE != "schedule"',
        "nightly": '$CI_PIPELINE_SOURCE == "schedule" && $WEEKLY == null',
        "weekly": '$CI_PIPELINE_SOURCE == "schedule" && $WEEKLY',
    }


def test_all_workflows_leave_out_the_same_tests_and_all_of_them_are_there() -> None:
    left_out = read(OWN)["env"]["PYTEST_ADDOPTS"].split()
    assert read(NIGHTLY)["env"]["PYTEST_ADDOPTS"].split() == left_out
    assert read(WEEKLY)["env"]["PYTEST_ADDOPTS"].split() == left_out
    names = [one.split("=", 1) for one in left_out]
    assert {option for option, _ in names} == {"--ignore", "--deselect"}
    for _, name in names:
        path, _, test = name.partition("::")
        function, _, page = test.rstrip("]").partition("[")
        assert f"def {function}" in (ROOT / path).read_text(encoding="utf-8")
        assert (ROOT / page).exists()


def test_every_target_of_the_pipelines_is_one_of_the_makefile() -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for script in (ROOT / ".ci/run", ROOT / ".ci/nightly", ROOT / ".ci/weekly"):
        text = script.read_text(encoding="utf-8")
        then = " ".join(re.findall(r'THEN="([^"]*)"', text)).split()
        asked = [*re.findall(r"\bmake ([\w-]+)", text), *then]
        assert len(asked) >= 4
        assert set(asked) <= set(targets)


def hooks() -> dict[str, Any]:
    return {hook["id"]: hook for repo in read(ROOT / ".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]}


def test_hooks_are_the_tools_of_the_environment() -> None:
    assert [repo["repo"] for repo in read(ROOT / ".pre-commit-config.yaml")["repos"]] == ["local"]
    tools = {hook["entry"].split()[0] for hook in hooks().values() if hook["language"] == "system"}
    assert tools == {".venv/bin/ruff", ".venv/bin/mypy", "sh"}


@pytest.mark.parametrize(("size", "status"), [(512 * 1024, 0), (513 * 1024, 1)])
def test_a_large_file_is_refused(size: int, status: int, tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(bytes(size))
    done = subprocess.run(
        f"{hooks()['large-files']['entry']} data.bin",
        shell=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (status, "data.bin\n" if status else "")


def test_a_private_key_is_found_and_the_project_holds_none() -> None:
    pattern = re.compile(hooks()["private-keys"]["entry"])
    assert pattern.search("-----BEGIN OPENSSH" + " PRIVATE KEY-----")
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    held = [name for name in files.split("\0") if name and pattern.search((ROOT / name).read_text("utf-8", "replace"))]
    assert not held
