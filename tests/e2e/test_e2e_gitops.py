"""A scaffolded repository lives its life by the commands of its own pipeline files, on a simulated fabric.

The test plays the forge: fresh clones, variables, conditions, artifacts, approval. Every command comes from the YAML.
``curl`` is a stand-in, which keeps the comments that it gets, and ``pip`` one that installs nothing.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.e2e

BIN = Path(sys.executable).parent
STEP_SECONDS = 600
CURL = """#!/usr/bin/env python3
import json, pathlib, sys
sys.stdin.read()
if not any(one.startswith("@") for one in sys.argv):
    print("[]")
    raise SystemExit
body = json.loads(next(pathlib.Path(one[1:]).read_text() for one in sys.argv if one.startswith("@")))["body"]
with open(pathlib.Path(__file__).with_name("sent.jsonl"), "a") as sent:
    sent.write(json.dumps({"to": sys.argv[-1], "body": body}) + "\\n")
"""
IMAGE = f"example.net/railweave@sha256:{'0' * 64}"
GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@example.net", "-c", "init.defaultBranch=main")


class StepFailedError(Exception):
    """A command of a pipeline left with a status other than 0."""


@dataclass
class Repository:
    """The scaffolded repository, the rack that it manages, and what the forge keeps."""

    folder: Path
    hardware: Any
    work: Path
    artifacts: dict[str, Path] = field(default_factory=dict)
    flags: str = ""
    jobs: int = 0

    def __post_init__(self) -> None:
        stand_in = self.work / "bin" / "curl"
        stand_in.parent.mkdir(parents=True)
        stand_in.write_text(CURL, encoding="utf-8")
        (stand_in.parent / "pip").write_text("#!/bin/sh\n", encoding="utf-8")
        for one in stand_in.parent.iterdir():
            one.chmod(0o755)
        self.environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("SSH_", "RAILWEAVE_"))},
            "PATH": f"{stand_in.parent}:{BIN}:{os.environ['PATH']}",
            "NO_COLOR": "1",
        }

    def run(self, *words: str) -> str:
        done = subprocess.run(words, cwd=self.folder, env=self.environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def git(self, *words: str) -> str:
        return self.run(*GIT, *words).strip()

    def key(self) -> Path:
        return Path(self.endpoints()["key_file"])

    def endpoints(self) -> Any:
        (path,) = (self.hardware.folder / ".railweave" / "sim").glob("*/endpoints.json")
        return json.loads(path.read_text(encoding="utf-8"))

    def describe_the_rack(self) -> None:
        """Write the target as an engineer does who racked the switches, record their host keys, and merge that."""
        shutil.copy(self.hardware.intent, self.folder / "intent" / "fabric.yml")
        target = yaml.safe_load((self.folder / "inventory" / "sim.yml").read_text(encoding="utf-8"))
        target |= {
            "source": "addresses",
            "devices": self.endpoints()["devices"],
            "ssh": {"username": self.endpoints()["username"], "known_hosts": "inventory/known_hosts"},
        }
        (self.folder / "inventory" / "production.yml").write_text(yaml.safe_dump(target), encoding="utf-8")
        self.run("railweave", "trust", "--target", "production", "--yes")
        self.git("add", "inventory")
        self.git("commit", "-q", "-m", "Name the switches")

    def branch(self, name: str) -> None:
        self.git("checkout", "-q", "-b", name)

    def commit(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def merge(self, name: str) -> None:
        self.git("checkout", "-q", "main")
        self.git("merge", "-q", "--no-ff", "-m", f"Merge {name}", name)

    def clone(self) -> Path:
        """Return a fresh clone of what is checked out, as every job gets one."""
        self.jobs += 1
        clone = self.work / f"job{self.jobs}"
        subprocess.run(["git", "clone", "-q", str(self.folder), str(clone)], check=True)
        return clone

    def offer(self, clone: Path) -> None:
        """Check the protected branch out, and offer what is proposed as the head of merge request 7."""
        self.shell("git checkout -q origin/main", clone, {})
        self.git("update-ref", "refs/merge-requests/7/head", "HEAD")

    def keep(self, name: str, clone: Path, paths: list[str]) -> None:
        kept = self.artifacts[name] = self.work / "artifacts" / f"{self.jobs}-{name}"
        for source in (one for path in paths for one in clone.glob(path.rstrip("/"))):
            into = kept / source.relative_to(clone)
            into.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, into)
            else:
                shutil.copy(source, into)

    def restore(self, name: str, clone: Path) -> None:
        shutil.copytree(self.artifacts[name], clone, dirs_exist_ok=True)

    def shell(self, script: str, clone: Path, environ: dict[str, str]) -> None:
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=clone,
            env={**self.environ, **environ},
            capture_output=True,
            text=True,
            timeout=STEP_SECONDS,
            check=False,
        )
        said = f"{script}\n-> {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in said, said
        if done.returncode:
            raise StepFailedError(said)

    def sent(self) -> list[dict[str, str]]:
        file = self.work / "bin" / "sent.jsonl"
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


class GitHub:
    """GitHub Actions, as far as the scaffolded workflow uses it."""

    comments = "/repos/example/fabric/issues/7/comments"
    events = ("pull_request_target", "push", "schedule")

    def __init__(self, repository: Repository) -> None:
        self.repository = repository

    def run(self, event: str) -> None:
        self.event = event
        workflow = yaml.safe_load((self.repository.folder / ".github/workflows/fabric.yml").read_text(encoding="utf-8"))
        assert event in workflow[True], "YAML reads `on` as true"
        known = {
            "github.event_name": event,
            "github.event.pull_request.head.repo.full_name": "example/fabric",
            "github.event.pull_request.number": "7",
            "github.event.pull_request.head.sha": self.repository.git("rev-parse", "HEAD"),
            "github.repository": "example/fabric",
            "github.token": "token",
            "secrets.RAILWEAVE_SSH_KEY": self.repository.key().read_text(encoding="utf-8"),
            "secrets.RAILWEAVE_READER_KEY": self.repository.key().read_text(encoding="utf-8"),
            "secrets.RAILWEAVE_SIGNING_KEY": "",
            "vars.DEPLOY_FLAGS": self.repository.flags,
            "vars.RAILWEAVE_IMAGE": IMAGE,
        }
        for job in workflow["jobs"].values():
            if holds(job.get("if", "always()"), known):
                self._job(job, known, workflow["env"])

    def _job(self, job: Any, known: dict[str, str], environ: dict[str, str]) -> None:
        clone = self.repository.work
        files = {name: clone / f"{name}-{self.repository.jobs}" for name in ("GITHUB_ENV", "GITHUB_STEP_SUMMARY")}
        provided = {name: str(path) for name, path in files.items()} | {
            "GITHUB_API_URL": "https://api.example.net",
            "GITHUB_REPOSITORY": "example/fabric",
            "GITHUB_ACTOR": "ada",
            "GITHUB_SERVER_URL": "https://github.example.net",
            "GITHUB_RUN_ID": "42",
            "GITHUB_SHA": self.repository.git("rev-parse", "HEAD"),
        }
        failed: StepFailedError | None = None
        for step in job["steps"]:
            if not holds(step.get("if", "always()"), known) or (failed and step.get("if") != "always()"):
                continue
            files["GITHUB_ENV"].touch()
            exported = dict(line.split("=", 1) for line in files["GITHUB_ENV"].read_text().splitlines())
            given = {**environ, **job.get("env", {}), **step.get("env", {})}
            if "uses" in step:
                clone = self._use(step, clone)
                continue
            try:
                self.repository.shell(
                    step["run"], clone, {**provided, **exported, **{k: filled(v, known) for k, v in given.items()}}
                )
            except StepFailedError as fault:
                failed = failed or fault
        if failed:
            raise failed

    def _use(self, step: Any, clone: Path) -> Path:
        action = step["uses"].partition("@")[0]
        if action == "actions/checkout":
            clone = self.repository.clone()
            if self.event == "pull_request_target":
                self.repository.offer(clone)
            return clone
        if action == "actions/setup-python":
            return clone
        given = step["with"]
        if action == "actions/upload-artifact":
            self.repository.keep(given["name"], clone, given["path"].split())
        else:
            assert action == "actions/download-artifact"
            self.repository.restore(given["name"], clone)
        return clone


def value(expression: str, known: dict[str, str]) -> Any:
    """Return the value of an expression of GitHub's over what is known."""
    text = re.sub(r"\b(?:github|vars|secrets)\.[\w.]+", lambda found: repr(known[found[0]]), expression)
    return eval(text.replace("&&", " and ").replace("||", " or ").replace("always()", "True"), {})


def holds(condition: str, known: dict[str, str]) -> bool:
    return bool(value(condition, known))


def filled(text: str, known: dict[str, str]) -> str:
    return re.sub(r"\$\{\{ *(.+?) *\}\}", lambda found: str(value(found[1], known)), text)


class GitLab:
    """GitLab CI, as far as the scaffolded pipeline uses it; the manual job is approved."""

    comments = "/projects/9/merge_requests/7/notes"
    events = ("merge_request_event", "push", "schedule")

    def __init__(self, repository: Repository) -> None:
        self.repository = repository

    def run(self, event: str) -> None:
        """Run what an event starts: a merge request its pipeline without keys, and by a webhook the one that plans."""
        self._pipeline(event)
        if event == "merge_request_event":
            self._pipeline("trigger")

    def _pipeline(self, event: str) -> None:
        pipeline = yaml.safe_load((self.repository.folder / ".gitlab-ci.yml").read_text(encoding="utf-8"))
        proposed = event == "merge_request_event"
        payload = self.repository.work / "payload.json"
        payload.write_text(json.dumps({"object_attributes": PUSHED}), encoding="utf-8")
        of_branch = {
            "CI_COMMIT_BRANCH": "main",
            "RAILWEAVE_SSH_KEY": str(self.repository.key()),
            "RAILWEAVE_READER_KEY": str(self.repository.key()),
            "RAILWEAVE_TOKEN": "token",
            "RAILWEAVE_IMAGE": IMAGE,
            "DEPLOY_FLAGS": self.repository.flags,
        }
        provided = {
            "CI_PIPELINE_SOURCE": event,
            "CI_DEFAULT_BRANCH": "main",
            "CI_PROJECT_ID": "9",
            "CI_JOB_URL": "https://gitlab.example.net/jobs/42",
            "CI_API_V4_URL": "https://gitlab.example.net/api/v4",
            "GITLAB_USER_LOGIN": "ada",
            "CI_COMMIT_SHA": self.repository.git("rev-parse", "HEAD"),
            "TRIGGER_PAYLOAD": str(payload),
            **({} if proposed else of_branch),
        }
        jobs = [one for one in pipeline.values() if isinstance(one, dict) and "script" in one]
        assert allowed(pipeline["workflow"]["rules"], provided)
        made: list[str] = []
        for job in sorted(jobs, key=lambda one: pipeline["stages"].index(one["stage"])):
            if not allowed(job["rules"], provided):
                continue
            clone = self.repository.clone()
            if event == "trigger":
                self.repository.offer(clone)
            for name in made:
                self.repository.restore(name, clone)
            script = "\n".join(line for each in job["script"] for line in ([each] if isinstance(each, str) else each))
            self.repository.shell(script, clone, {**pipeline["variables"], **provided})
            if "artifacts" in job:
                made.append(job["stage"])
                self.repository.keep(job["stage"], clone, job["artifacts"]["paths"])


PUSHED = {
    "action": "open",
    "iid": 7,
    "source_project_id": 9,
    "target_project_id": 9,
    "target_branch": "main",
}
"""What GitLab's webhook says about a merge request."""


def allowed(rules: list[dict[str, Any]], variables: dict[str, str]) -> bool:
    return any(
        eval(
            re.sub(r"\$(\w+)", lambda found: repr(variables.get(found[1], "")), rule["if"])
            .replace("&&", " and ")
            .replace("||", " or "),
            {},
        )
        for rule in rules
    )


def grow(text: str) -> str:
    text = re.sub(r"count: 4\b", "count: 8", text, count=1)
    return re.sub(r"(leaf:.*?)count: 2\b", r"\1count: 4", text, count=1, flags=re.S)


def at_work(running: Any) -> Any:
    """Return what a switch runs without the cable lengths of ports, which stay where a port is taken out of use."""
    return {table: rows for table, rows in running.items() if table != "CABLE_LENGTH"}


@pytest.mark.parametrize("forge", [GitHub, pytest.param(GitLab, marks=pytest.mark.nightly)])
def test_a_scaffolded_repository_deploys_grows_and_goes_back_by_its_own_pipeline(
    forge: Any, new_project: Any, tmp_path: Path
) -> None:
    hardware = new_project("lab-4.yml")
    hardware.up()
    factory = hardware.running("lab-leaf1")
    hardware.run("init", str(tmp_path / "repository"))
    repository = Repository(tmp_path / "repository", hardware, tmp_path / "forge")
    runs = forge(repository)
    proposal, merged, nightly = forge.events
    # `init` commits the files only where git knows the name of its user.
    repository.git("add", "-A")
    repository.git("commit", "-q", "--allow-empty", "-m", "Start")

    # The first fabric: a proposal with its plan, a merge that provisions.
    repository.describe_the_rack()
    repository.branch("first")
    repository.commit("Describe the fabric")
    runs.run(proposal)
    (comment,) = repository.sent()
    assert comment["to"].endswith(forge.comments)
    assert "adds 2 leaves, 2 spines, 4 links and 8 node ports" in comment["body"]
    assert "risk: **reload** · planned on `main` at `" in comment["body"]
    assert hardware.running("lab-leaf1") == factory, "a proposal changes nothing"
    repository.merge("first")
    with pytest.raises(StepFailedError, match="--provision"):
        runs.run(merged)
    repository.flags = "--provision"
    runs.run(merged)
    repository.flags = ""
    runs.run(nightly)
    before = {name: hardware.running(name) for name in ("lab-leaf1", "lab-spine1")}

    # Growth by a stripe.
    hardware.intent.write_text(grow(hardware.intent.read_text(encoding="utf-8")), encoding="utf-8")
    hardware.up()
    repository.describe_the_rack()
    repository.branch("growth")
    repository.commit("Add a stripe")
    runs.run(proposal)
    assert (
        "adds 2 leaves, 4 links and 8 node ports; touches 2 spines without disruption" in repository.sent()[-1]["body"]
    )
    repository.merge("growth")
    repository.flags = "--provision"
    runs.run(merged)
    repository.flags = ""
    assert hardware.running("lab-leaf1") == before["lab-leaf1"], "a new stripe touches no old leaf"
    assert hardware.running("lab-spine1") != before["lab-spine1"]

    # Back by a revert, which is a change like any other.
    repository.branch("back")
    repository.git("revert", "--no-edit", "-m", "1", "HEAD")
    runs.run(proposal)
    assert "touches 2 spines, disrupting only links that are removed" in repository.sent()[-1]["body"]
    rehearsed = next(line for line in repository.sent()[-1]["body"].splitlines() if line.startswith("### "))
    assert re.fullmatch(r"### rehearsed on 4 simulated switches in [0-9]+ s: .*", rehearsed)
    assert "<h2>Topology with the plan</h2>" in (repository.artifacts["plan"] / "fabric.html").read_text("utf-8")
    repository.merge("back")
    with pytest.raises(StepFailedError, match="RW523"):
        runs.run(merged)
    hardware.run("sim", "power-off", "gpu5", "gpu6", "gpu7", "gpu8")
    runs.run(merged)
    assert at_work(hardware.running("lab-spine1")) == at_work(before["lab-spine1"])
    assert len(repository.sent()) == 3

    # The night after somebody's hand slipped.
    runs.run(nightly)
    hardware.on("lab-leaf1", "sudo -n config interface mtu Ethernet0 9000")
    with pytest.raises(StepFailedError, match="-> 2"):
        runs.run(nightly)
    audits = list(repository.work.glob("artifacts/*/.railweave/audit.jsonl"))
    told = [json.loads(line) for path in sorted(audits) for line in path.read_text(encoding="utf-8").splitlines()]
    assert {one["user"] for one in told if one["event"] == "begun"} == {"ada"}
    assert [one["result"] for one in told if one["event"] == "ended"].count("done") == 3
