"""Who has which key in the pipelines of a scaffolded repository, and that a comment is made whatever a plan says."""

import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from railweave.api.plan_files import read_signed
from railweave.api.starter import init
from railweave.cli.options import TargetOption
from railweave.report.layout import LIMIT_CHARS
from railweave.report.plan import PLAN_CHARS

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


def script_of(job: Mapping[str, Any], *names: str) -> str:
    """Return the shell text of a job of GitHub's, of the steps with these names; or of GitLab's, whole."""
    steps = [f"(\n{one['run']}\n)" for one in job.get("steps", ()) if one.get("name") in names]
    lines = [line for part in job.get("script", ()) for line in (part if isinstance(part, list) else [part])]
    return "\n".join([*steps, *lines])


def ran(
    script: str, folder: Path, programs: Mapping[str, str] = {}, /, **variables: str
) -> "subprocess.CompletedProcess[str]":
    """Run the text of a job as the forge does, with ``programs`` in place of those of the same name."""
    for name, text in programs.items():
        program = folder.parent / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)
    environ = {"PATH": f"{folder.parent / 'bin'}:{os.environ['PATH']}", **variables}
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(words, cwd=folder, env=environ, capture_output=True, text=True, check=False)


def test_the_readers_key_is_of_an_environment_that_no_workflow_of_a_pull_request_gets(repository: Path) -> None:
    jobs = github(repository)
    assert {jobs[name]["environment"] for name in ("plan", "drift")} == {"plan"}
    assert "pull_request'" not in jobs["plan"]["if"], "the workflow of the branch itself runs for `pull_request`"


def test_what_a_fork_may_run_is_hosted_and_has_no_secret(repository: Path) -> None:
    jobs = github(repository)
    check = jobs.pop("check")
    assert check["runs-on"] == "ubuntu-latest"
    assert not re.search(r"(secrets|vars)\.", json.dumps(check)), "a fork has neither secrets nor variables"
    for job in jobs.values():
        assert "head.repo.full_name == github.repository" in job["if"] or "pull_request" not in job["if"]


def test_a_pipeline_of_a_merge_request_has_no_key_no_variable_and_no_runner_of_the_fabric(repository: Path) -> None:
    """GitLab runs the file of the merge request itself, so whatever such a pipeline gets its author has."""
    for name, job in gitlab(repository).items():
        conditions = " ".join(rule["if"] for rule in job["rules"])
        if name == "check":
            assert "merge_request_event" in conditions
            assert {"tags", "extends", "environment", "variables"}.isdisjoint(job)
            assert not re.search(r"\$\{?RAILWEAVE_(IMAGE|READER_KEY|SSH_KEY|TOKEN)", json.dumps(job))
        else:
            assert "merge_request_event" not in conditions
            assert job["extends"] == ".fabric"
    pipeline = yaml.safe_load((repository / ".gitlab-ci.yml").read_text(encoding="utf-8"))
    assert pipeline["workflow"]["rules"] == [
        {"if": '$CI_PIPELINE_SOURCE == "merge_request_event"'},
        {"if": "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH"},
    ]
    assert "default" not in pipeline


def test_nothing_is_taken_by_a_name_that_somebody_can_move(repository: Path) -> None:
    texts = [(repository / name).read_text(encoding="utf-8") for name in PIPELINES]
    for text in texts:
        assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", one) for one in re.findall(r"uses: (\S+)", text))
        images = re.findall(r"^ *(?:image:|container:|FROM) (.+)$", text, re.MULTILINE)
        assert images or "uses:" in text
        assert all(re.fullmatch(r"\S+@sha256:[0-9a-f]{64}|.*RAILWEAVE_IMAGE.*", one) for one in images)
        installs = re.findall(r"(?:pip|apt-get|npm) install.*", text)
        assert installs
        assert all(
            "--require-hashes --only-binary=':all:' --no-binary=ncclient,pyeapi -r requirements.txt" in one
            for one in installs
        )
    assert len({image for text in texts for image in re.findall(r"python:\S+@sha256:\w+", text)}) == 1


PIPELINES = (".github/workflows/fabric.yml", ".gitlab-ci.yml", "Containerfile")


@pytest.mark.parametrize("altered", [False, True])
def test_a_package_of_another_hash_is_not_installed(altered: bool, repository: Path, tmp_path: Path) -> None:
    wheel = tmp_path / "dist/railweave-1-py3-none-any.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("railweave-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: railweave\nVersion: 1\n")
        archive.writestr(
            "railweave-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("railweave-1.dist-info/RECORD", "")
    sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if altered:
        wheel.write_bytes(wheel.read_bytes() + b"\0")
    (repository / "requirements.txt").write_text(f"railweave==1 --hash=sha256:{sha256}\n", encoding="utf-8")
    (install,) = re.findall(r"pip install.*", (repository / "Containerfile").read_text(encoding="utf-8"))
    pip = f'#!/bin/sh\nexec {sys.executable} -m pip "$@" --dry-run --no-index --find-links {wheel.parent}\n'
    done = ran(install, repository, {"pip": pip})
    assert (done.returncode == 0) is not altered, done.stderr
    assert altered == ("DO NOT MATCH THE HASHES" in done.stderr)


@pytest.mark.parametrize("jobs", [github, gitlab])
@pytest.mark.parametrize("job", ["plan", "deploy", "drift"])
def test_no_key_is_loaded_into_an_image_that_has_no_digest(
    jobs: Any, job: str, repository: Path, tmp_path: Path
) -> None:
    loaded = dict.fromkeys(("ssh-add", "ssh-agent"), f"#!/bin/sh\necho loaded >> {tmp_path}/keys\n")
    script = script_of(jobs(repository)[job], "Load the reader's key", "Load the SSH key")
    done = ran(script, repository, loaded, IMAGE="fabric:latest", RAILWEAVE_IMAGE="fabric:latest")
    assert done.returncode == 1
    assert "name the image by its digest" in done.stderr
    assert not (tmp_path / "keys").exists()


@pytest.mark.parametrize("jobs", [github, gitlab])
def test_a_plan_that_cannot_be_made_is_commented_with_its_reasons_and_the_findings_of_check(
    jobs: Any, repository: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    script = script_of(jobs(repository)["plan"], "Plan", "Result of the plan")
    environ = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary"), "CI_PIPELINE_SOURCE": "push"}
    agents = dict.fromkeys(("ssh-agent", "ssh-add", "chmod"), "#!/bin/sh\n")
    programs = {"railweave": SAYS_NO} | (agents if jobs is gitlab else {})
    assert ran(script, folder, programs, RAILWEAVE_IMAGE="fabric@sha256:0", **environ).returncode == 1
    comment = (folder / "comment.md").read_text(encoding="utf-8")
    assert "has no address for leaf9" in comment
    assert "warning[RW111]: a 'finding' of check" in comment, "text cannot end the block that it stands in"


SAYS_MUCH = f"""#!/bin/sh
case "$1" in
  check) for one in $(seq 999); do echo "warning: finding $one {"x" * 130}"; done ;;
  plan) printf '%{PLAN_CHARS}s' plan; for one in $(seq 999); do echo "problem $one {"x" * 130}" >&2; done; exit 1 ;;
esac
"""


@pytest.mark.parametrize("jobs", [github, gitlab])
def test_the_findings_of_check_stay_in_the_comment_beside_the_longest_plan(
    jobs: Any, repository: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    agents = dict.fromkeys(("ssh-agent", "ssh-add", "chmod"), "#!/bin/sh\n") if jobs is gitlab else {}
    programs = {"railweave": SAYS_MUCH, "curl": FORGE} | agents
    variables = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary"), "CI_PIPELINE_SOURCE": "push", "NUMBER": "7",
                 "MERGE_REQUEST": "7", "RAILWEAVE_IMAGE": "fabric@sha256:0"}  # fmt: skip
    script = script_of(jobs(repository)["plan"], "Plan", "Comment", "Result of the plan")
    assert ran(script, folder, programs, **variables).returncode == 1
    *_, comment = json.loads((tmp_path / "bin/comments.json").read_text(encoding="utf-8"))
    assert len(comment["body"]) < LIMIT_CHARS
    assert all(text in comment["body"] for text in (" plan", "finding 1 ", "finding 50 ", "problem 1 ", "problem 50 "))


TELLS = '#!/bin/sh\necho "$@" >> ../called\n'


@pytest.mark.parametrize("jobs", [github, gitlab])
@pytest.mark.parametrize("proposed", [True, False])
def test_only_what_is_reviewed_may_grow_by_switches_that_do_not_answer(
    jobs: Any, proposed: bool, repository: Path, tmp_path: Path
) -> None:
    job = jobs(repository)["plan"]
    if jobs is github:
        (step,) = (one for one in job["steps"] if one.get("name") == "Plan")
        expression = "github.event_name == 'pull_request_target' && '--skip-unreachable' || ''"
        assert step["env"] == {"REVIEW_FLAGS": f"${{{{ {expression} }}}}"}
        script, variables = step["run"], {"REVIEW_FLAGS": "--skip-unreachable" if proposed else ""}
    else:
        lines = [one for one in job["script"] if isinstance(one, str)]
        script = "\n".join(one for one in lines if "REVIEW_FLAGS" in one)
        variables = {"CI_PIPELINE_SOURCE": "trigger" if proposed else "push", "CI_PROJECT_ID": "3"}
    folder = proposal(repository, tmp_path, "fabric: proposed\n")
    summary = str(tmp_path / "summary")
    assert ran(script, folder, {"railweave": TELLS}, GITHUB_STEP_SUMMARY=summary, **event(tmp_path), **variables)
    called = (tmp_path / "called").read_text(encoding="utf-8").splitlines()
    flag = "--skip-unreachable " if proposed else ""
    assert [one for one in called if one.startswith(("plan", "rehearse"))] == [
        f"plan {flag}--out plan.json --job-output job.env --markdown",
        f"rehearse plan.json {flag}--markdown",
    ]


@pytest.mark.parametrize("jobs", [github, gitlab])
@pytest.mark.parametrize("good", [True, False])
def test_a_fork_gets_the_findings_and_the_difference_offline(
    jobs: Any, good: bool, repository: Path, tmp_path: Path
) -> None:
    """The real program runs the job's own words, where a namespace without any network can be made: in there."""
    git(repository, "init", "-q")
    git(repository, "add", "-A", "--force")
    git(repository, "commit", "-q", "-m", "main")
    base = git(repository, "rev-parse", "HEAD")
    intent = repository / "intent/fabric.yml"
    text = intent.read_text(encoding="utf-8")
    intent.write_text(re.sub(r"count: 32", "count: 28", text) if good else "fabric: [\n", encoding="utf-8")
    git(repository, "commit", "-q", "-a", "-m", "fork")
    job = jobs(repository)["check"]
    script = script_of(job, "Check and compare", "Render")
    here = Path(sys.executable).parent / "railweave"
    apart = ("unshare", "--user", "--net")
    offline = f"{' '.join(apart)} " if subprocess.run([*apart, "true"], check=False).returncode == 0 else ""
    programs = {"railweave": f'#!/bin/sh\nexec {offline}{here} "$@"\n', "pip": "#!/bin/sh\n"}
    summary = tmp_path / "summary"
    environ = {"GITHUB_STEP_SUMMARY": str(summary), "CI_MERGE_REQUEST_DIFF_BASE_SHA": base,
               "RAILWEAVE_INTENT": "intent/fabric.yml"}  # fmt: skip
    done = ran(script, repository, programs, **environ)
    assert (done.returncode == 0) is good, done.stderr
    shown = summary.read_text(encoding="utf-8") if jobs is github else done.stdout
    assert ("node ports" in shown) is good
    assert good == (repository / "build").exists()
    assert good or "error[RW" in shown


@pytest.mark.parametrize("jobs", [github, gitlab])
@pytest.mark.parametrize("source", ["push", "trigger", "no key"])
def test_the_plan_of_a_push_is_signed_where_there_is_a_key(
    jobs: Any, source: str, repository: Path, tmp_path: Path
) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "key")], check=True)
    (tmp_path / "signers").write_text(f"pipeline {(tmp_path / 'key.pub').read_text(encoding='utf-8')}")
    plan = repository / "plan.json"
    plan.write_text("{}", encoding="utf-8")
    if jobs is github:
        (step,) = (one for one in jobs(repository)["plan"]["steps"] if one.get("name") == "Sign the plan")
        assert step["if"] == "github.event_name == 'push'"
        script, key = step["run"], (tmp_path / "key").read_text(encoding="utf-8")
    else:
        script, key = str(jobs(repository)["plan"]["script"][-1]), str(tmp_path / "key")
    signs = source == "push" or (jobs is github and source == "trigger")
    variables = {"RAILWEAVE_SIGNING_KEY": "" if source == "no key" else key}
    done = ran(script, repository, {}, CI_PIPELINE_SOURCE="push" if source == "no key" else source, **variables)
    assert done.returncode == 0, done.stderr
    assert Path(f"{plan}.sig").exists() is signs
    assert not signs or read_signed(plan, tmp_path / "signers")[1] == "pipeline"


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


def proposal(repository: Path, tmp_path: Path, intent: str | None) -> Path:
    """Return a clone of ``main`` as the forge checks it out, beside a hostile request; ``intent`` None is a link."""
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
    git(repository, "update-ref", "refs/merge-requests/7/head", "HEAD")
    clone = tmp_path / "job"
    git(tmp_path, "clone", "-q", str(repository), str(clone))
    git(clone, "checkout", "-q", "origin/main")
    return clone


def event(tmp_path: Path, **changed: Any) -> dict[str, str]:
    """Return the variables of a job that a webhook of merge request 7 started."""
    told = {"iid": 7, "action": "update", "oldrev": "1" * 40, "target_branch": "main",
            "source_project_id": 3, "target_project_id": 3, "description": "$(touch evil)"}  # fmt: skip
    payload = tmp_path / "payload.json"
    payload.write_text(json.dumps({"object_attributes": {**told, **changed}}), encoding="utf-8")
    return {"TRIGGER_PAYLOAD": str(payload), "CI_DEFAULT_BRANCH": "main", "RAILWEAVE_INTENT": "intent/fabric.yml"}


def planned_from(
    jobs: Any, repository: Path, tmp_path: Path, intent: str | None, **changed: Any
) -> "subprocess.CompletedProcess[str]":
    """Run the steps of a job of the protected branch that take the intent of a hostile request."""
    clone = proposal(repository, tmp_path, intent)
    job = jobs(repository)["plan"]
    script = script_of({"steps": job["steps"]}, "Take the intent of the pull request as data") if jobs is github else (
        next(line for line in job["script"] if "git show" in line)
    )  # fmt: skip
    head = git(repository, "rev-parse", "HEAD")
    variables = {"HEAD": head, "CI_PIPELINE_SOURCE": "trigger", "CI_PROJECT_ID": "3", **event(tmp_path, **changed)}
    return ran(script, clone, **variables)


@pytest.mark.parametrize("jobs", [github, gitlab])
def test_of_a_hostile_pull_request_only_the_intent_reaches_its_plan(
    jobs: Any, repository: Path, tmp_path: Path
) -> None:
    done = planned_from(jobs, repository, tmp_path, "fabric: proposed\n")
    assert done.returncode == 0, done.stderr
    clone = tmp_path / "job"
    assert (clone / "intent/fabric.yml").read_text(encoding="utf-8") == "fabric: proposed\n"
    assert git(clone, "diff", "--name-only", "origin/main") == "intent/fabric.yml"
    for name, text in HOSTILE.items():
        assert not (clone / name).exists() or (clone / name).read_text(encoding="utf-8") != text
    (clone / "merge_request").unlink(missing_ok=True)
    assert git(clone, "status", "--porcelain", "--ignored") == "M intent/fabric.yml"


@pytest.mark.parametrize("jobs", [github, gitlab])
def test_the_models_of_a_request_are_taken_as_they_are_there(
    jobs: Any, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "catalog").mkdir()
    (repository / "catalog/nics.json").write_text("{}", encoding="utf-8")
    monkeypatch.setitem(HOSTILE, "catalog/switches/acme.json", '{"id": "acme"}')
    monkeypatch.setitem(HOSTILE, "catalog/nics.json", '{"nics": {}}')
    done = planned_from(jobs, repository, tmp_path, "fabric: proposed\n")
    assert done.returncode == 0, done.stderr
    taken = {one: (tmp_path / "job" / one).read_text(encoding="utf-8") for one in HOSTILE if one.startswith("catalog")}
    assert taken == {one: text for one, text in HOSTILE.items() if one.startswith("catalog")}


@pytest.mark.parametrize("jobs", [github, gitlab])
def test_models_that_are_no_plain_files_are_not_planned(jobs: Any, repository: Path, tmp_path: Path) -> None:
    (repository / "catalog").symlink_to("/etc")
    done = planned_from(jobs, repository, tmp_path, "fabric: proposed\n")
    assert done.returncode == 1
    assert "something else than plain files" in done.stderr


def test_every_trigger_on_files_names_all_that_a_fabric_is_made_of(repository: Path) -> None:
    workflow = yaml.safe_load((repository / ".github/workflows/fabric.yml").read_text(encoding="utf-8"))
    for event in ("pull_request", "pull_request_target", "push"):
        assert {"intent/**", "catalog/**"} <= set(workflow[True][event]["paths"]), event
    for event in ("pull_request", "push"):
        assert {"inventory/**", "templates/**"} <= set(workflow[True][event]["paths"]), event


@pytest.mark.parametrize("jobs", [github, gitlab])
def test_an_intent_that_is_a_link_is_not_planned(jobs: Any, repository: Path, tmp_path: Path) -> None:
    done = planned_from(jobs, repository, tmp_path, None)
    assert done.returncode == 1
    assert "is not a plain file" in done.stderr
    assert not (tmp_path / "job/intent/fabric.yml").is_symlink()


@pytest.mark.parametrize(
    "changed",
    [
        {"source_project_id": 9},
        {"target_branch": "topic"},
        {"action": "approved"},
        {"action": "update", "oldrev": None},
    ],
)
def test_a_fork_another_branch_and_an_event_without_a_commit_are_not_planned(
    changed: dict[str, Any], repository: Path, tmp_path: Path
) -> None:
    done = planned_from(gitlab, repository, tmp_path, "fabric: proposed\n", **changed)
    assert (done.returncode, done.stdout.partition(":")[0]) == (0, "nothing to plan")
    assert git(tmp_path / "job", "diff", "--name-only") == ""


FORGE = """#!/usr/bin/env python3
import json, os, pathlib, sys
token = os.environ.get("RAILWEAVE_TOKEN", "")
if token and (any(token in one for one in sys.argv) or token not in sys.stdin.read()):
    sys.exit("401")
store = pathlib.Path(__file__).with_name("comments.json")
writer = {"user": {"login": "github-actions[bot]"}, "author": {"id": 7}}
others = {"user": {"login": "mallory"}, "author": {"id": 8}}
questions = ["a question", "<!-- railweave -->\\nan earlier plan, says somebody"]
known = [{"id": number, "body": body, **others} for number, body in enumerate(questions, start=1)]
known = json.loads(store.read_text()) if store.exists() else known
data = next((pathlib.Path(one[1:]).read_text() for one in sys.argv if one.startswith("@")), None)
if data is None and sys.argv[-1].endswith("/user"):
    print(json.dumps(writer["author"]))
elif data is None:
    print(json.dumps(known))
elif "--request" in sys.argv:
    number = int(sys.argv[-1].rpartition("/")[2])
    known = [{**one, **(json.loads(data) if one["id"] == number else {})} for one in known]
else:
    known.append({"id": len(known) + 1, **writer, **json.loads(data)})
store.write_text(json.dumps(known))
"""


@pytest.mark.parametrize("jobs", [github, gitlab])
def test_a_later_plan_replaces_the_own_comment_of_the_earlier_one_and_no_argument_is_its_token(
    jobs: Any, repository: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    plan = jobs(repository)["plan"]
    script = script_of({"steps": plan.get("steps", ())}, "Comment") or (
        next(line for line in plan["script"] if "call()" in line)
    )
    for said in ("first plan", "second plan"):
        (folder / "comment.md").write_text(said, encoding="utf-8")
        done = ran(
            script,
            folder,
            {"curl": FORGE},
            NUMBER="7",
            MERGE_REQUEST="7",
            GITHUB_TOKEN="t0k3n",
            RAILWEAVE_TOKEN="t0k3n",
        )
        assert done.returncode == 0, done.stderr
    comments = json.loads((tmp_path / "bin/comments.json").read_text(encoding="utf-8"))
    assert [one["body"].splitlines()[-1] for one in comments] == [
        "a question",
        "an earlier plan, says somebody",
        "second plan",
    ]


RISKY = """#!/bin/sh
case "$1" in
  plan)
    echo '### a plan'
    while [ "$1" != --job-output ]; do shift; done
    printf 'risk=reload\\nchanges=3\\n' >> "$2" ;;
esac
"""
ASKED = """#!/bin/sh
cat > /dev/null
echo "$@" >> ../asked
echo '[]'
"""


@pytest.mark.parametrize("jobs", [github, gitlab])
def test_a_plan_says_its_risk_the_commit_it_was_made_on_and_that_main_moved(
    jobs: Any, repository: Path, tmp_path: Path
) -> None:
    folder = proposal(repository, tmp_path, "fabric: proposed\n")
    git(repository, "checkout", "-q", "main")
    (repository / "README.md").write_text("later\n", encoding="utf-8")
    git(repository, "commit", "-q", "-a", "-m", "later")
    agents = dict.fromkeys(("ssh-agent", "ssh-add", "chmod"), "#!/bin/sh\n") if jobs is gitlab else {}
    variables = {
        **event(tmp_path),
        **{"GITHUB_STEP_SUMMARY": str(tmp_path / "summary"), "GITHUB_OUTPUT": str(tmp_path / "outputs")},
        **{"GITHUB_SERVER_URL": "https://github.example.net", "GITHUB_REPOSITORY": "a/b", "GITHUB_RUN_ID": "42"},
        **{"CI_JOB_URL": "https://gitlab.example.net/jobs/42", "CI_PIPELINE_SOURCE": "push"},
        **{"NUMBER": "7", "MERGE_REQUEST": "7", "RAILWEAVE_IMAGE": "fabric@sha256:0"},
    }
    script = script_of(jobs(repository)["plan"], "Plan", "Comment")
    done = ran(script, folder, {"railweave": RISKY, "curl": ASKED} | agents, **variables)
    assert "### a plan" in (folder / "comment.md").read_text(encoding="utf-8"), done.stderr
    comment = (folder / "comment.md").read_text(encoding="utf-8")
    moved, planned = git(repository, "rev-parse", "main")[:12], git(folder, "rev-parse", "HEAD")[:12]
    assert f"> **`main` has moved to `{moved}` since this plan**: push again for a new one.\n" in comment
    assert f"risk: **reload** · planned on `main` at `{planned}` · [page with the plan](https://git" in comment
    asked = (tmp_path / "asked").read_text(encoding="utf-8")
    if jobs is github:
        assert (tmp_path / "outputs").read_text(encoding="utf-8") == "risk=reload\nchanges=3\n"
        assert jobs(repository)["plan"]["outputs"] == {"risk": "${{ steps.plan.outputs.risk }}"}
        assert '{"labels": ["risk:reload"]} /repos/a/b/issues/7/labels' in asked
        assert asked.count("--request DELETE") == 3
    else:
        assert jobs(repository)["plan"]["artifacts"]["reports"] == {"dotenv": "job.env"}
        assert '"add_labels": "risk:reload", "remove_labels": "risk:none,risk:disruptive,risk:lockout"' in asked


@pytest.mark.parametrize("jobs", [github, gitlab])
def test_a_push_marks_the_own_comments_of_open_requests_once(jobs: Any, repository: Path, tmp_path: Path) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    own = {"user": {"login": "github-actions[bot]"}, "author": {"id": 7}}
    plan = {"id": 3, "number": 7, "iid": 7, "body": "<!-- railweave -->\nthe plan", **own}
    other = {"id": 4, "body": "<!-- railweave -->\nof somebody", "user": {"login": "m"}, "author": {"id": 8}}
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/comments.json").write_text(json.dumps([other, plan]), encoding="utf-8")
    script = script_of(jobs(repository)["outdated"], "Mark earlier plans")
    for commit in ("a" * 40, "b" * 40):
        done = ran(script, folder, {"curl": FORGE}, GITHUB_SHA=commit, CI_COMMIT_SHA=commit, CI_DEFAULT_BRANCH="main",
                   RAILWEAVE_TOKEN="t0k3n", GITHUB_TOKEN="t0k3n", RAILWEAVE_IMAGE="fabric@sha256:0")  # fmt: skip
        assert done.returncode == 0, done.stderr
    bodies = [one["body"] for one in json.loads((tmp_path / "bin/comments.json").read_text(encoding="utf-8"))]
    mark = f"> **`main` has moved to `{'b' * 12}` since this plan**: push again for a new one."
    assert bodies == [other["body"], f"<!-- railweave -->\n{mark}\n\nthe plan"]
