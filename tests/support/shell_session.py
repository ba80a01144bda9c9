"""Pages that show a shell session: their commands run in order, and what they print is compared with the page.

A page is Markdown. `<!-- session: clone -->` begins a session in a folder of its own; SETTINGS lists the kinds. In it

- a block ``console`` runs: each line ``$ COMMAND`` in bash, and the lines below it are its output. ``…`` stands for any
  text within a line, a line ``…`` for any lines. A ``\\`` at the end continues a command. One that fails states it:
  ``$ railweave check  # exit status 1``;
- a block that begins with ``# PATH`` is the text of that file;
- a block ``diff`` that begins with ``--- PATH`` edits that file: the lines of `` `` and ``-`` must be there once, and
  become those of `` `` and ``+``. Without any, the lines are appended.

A page for readers says in words what its session begins with (NEEDS), and every command of its set-up is shown.

`<!-- run by FILE -->` before a block leaves it to that script of the repository. With
``RAILWEAVE_UPDATE_SESSIONS=1`` the shown output becomes the real one, where they differ.
"""

import os
import re
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import pytest
from in_process import run_here

from nornir_railweave.lab.laboratory import ensure_image
from railweave.api.lab import image_sources
from sonic_sim import control

ROOT = Path(__file__).resolve().parents[2]
NEEDS = {
    "clone": "clone of",
    "lab clone": "Docker",
    "installed": "railweave installed",
    "root clone": "as root on Linux",
    "YANG clone": "/usr/local/yang-models",
    "switch": "scp switch/sudoers-railweave",
}
"""The sessions of pages for readers, and words by which such a page says what the session begins with."""

SETTINGS = {
    "clone": "a fresh clone of this repository, with its environment in .venv",
    "lab clone": "the same; runs with the tests of the lab",
    "root clone": "a clone; runs where the simulator may run GPU nodes",
    "YANG clone": "a clone with SONiC's models in yang/, a folder for each release",
    "installed": "an empty folder, and railweave is on the PATH",
    "switch": "the home of a switch's account, with what `railweave init` makes for it; runs with the tests of the lab",
    # Journeys are not typed by readers: they begin where the steps of other pages end.
    "installed clone": "a clone, and railweave is on the PATH",
    "installed lab clone": "the same; runs with the tests of the lab",
    "deployed clone": "an installed clone with RAILWEAVE_INTENT=intent/lab-4.yml, deployed on the simulator",
}
ON_PATH = {"installed", "installed clone", "installed lab clone", "deployed clone"}
"""Sessions that have railweave on the PATH; in the others the page activates the environment."""

DEPLOYED = (
    "$ make setup",
    "…",
    "$ . .venv/bin/activate",
    "$ export RAILWEAVE_INTENT=intent/lab-4.yml",
    "$ make deploy INTENT=intent/lab-4.yml",
    "…",
    "✓ verified: 88 checks passed on 4 devices",
    "…",
)
"""The block that many pages begin with. It runs once, and each of these pages continues in a copy of what it left."""

ON_DOCKER = {"lab clone", "installed lab clone", "switch"}
"""Sessions that run with the tests of the lab."""
YANG_MODELS = Path(os.environ.get("RAILWEAVE_YANG_MODELS", ROOT.parent / "shared" / "sonic-yang"))


def yang_folders() -> list[Path]:
    """Return the folders of YANG models, one a release: those that were there first, and the later ones beside them."""
    folders = (YANG_MODELS, YANG_MODELS.with_name(f"{YANG_MODELS.name}-next"))
    return sorted(release for folder in folders for release in folder.glob("20*") if release.is_dir())


COMMAND_SECONDS = 600
COLUMNS = "110"
UPDATE = os.environ.get("RAILWEAVE_UPDATE_SESSIONS") == "1"

_NOT_CLONED = shutil.ignore_patterns(".*", "__pycache__", "tests", "build", "dist", "*.egg-info")
_GIT = "[user]\nname = engineer\nemail = engineer@example.net\n[init]\ndefaultBranch = main\n"
_SESSION = re.compile(r"<!-- session: (.+) -->")
_RUN_BY = re.compile(r"<!-- run by (.+) -->")
_FENCE = re.compile(r"( *)```(\w*)")
_STATUS = re.compile(r"# exit status (\d+)$")
_FILE = re.compile(r"# ([\w./-]*\w\.\w+)")
_VARYING = re.compile(
    r"\d{8}T\d{6}Z-\w+-[0-9a-f]{6}|(?<=process )\d+|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|127\.\d+\.\d+\.\d+(?::\d+)?"
)
_MOST_LINES = 24
_SHELL = re.compile(r"[|&;<>$`(){}*?\n]")
_QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\]*\"")


@dataclass(frozen=True)
class Block:
    """A fenced block: the line of its first line, its language, its lines, and the script that runs it."""

    line: int
    indent: str
    language: str
    lines: tuple[str, ...]
    run_by: str | None


@dataclass(frozen=True)
class Section:
    """A session: its setting and its blocks."""

    setting: str
    blocks: list[Block]


@dataclass(frozen=True)
class Command:
    """A command, its exit status, and the numbers of the page's lines that show its output."""

    line: int
    text: str
    status: int
    shown: tuple[str, ...]
    place: tuple[int, int]
    indent: str


@dataclass(frozen=True)
class FileText:
    """A file that the reader writes."""

    line: int
    path: str
    text: str


@dataclass(frozen=True)
class FileEdit:
    """Lines of a file that the reader replaces."""

    line: int
    path: str
    before: str
    after: str


Step = Command | FileText | FileEdit


class SessionError(AssertionError):
    """A page shows something else than what happens."""


def sections(text: str) -> list[Section]:
    """Return the fenced blocks of a page by session; those before the first session have the setting ``""``."""
    found, run_by = [Section("", [])], None
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if fence := _FENCE.match(line):
            start, indent = number, fence[1]
            while lines[number].strip() != "```":
                number += 1
            body = tuple(one.removeprefix(indent) for one in lines[start:number])
            found[-1].blocks.append(Block(start, indent, fence[2], body, run_by))
            number += 1
            run_by = None
        elif session := _SESSION.fullmatch(line.strip()):
            found.append(Section(session[1], []))
        elif script := _RUN_BY.fullmatch(line.strip()):
            run_by = script[1]
    return found


def steps(block: Block) -> list[Step]:
    """Return what a block asks the reader to do; nothing where it only shows something."""
    first = block.lines[0] if block.lines else ""
    body = "".join(f"{line}\n" for line in block.lines[1:])
    if block.run_by:
        return []
    if block.language == "console":
        return list(_commands(block))
    if block.language == "diff" and first.startswith("--- "):
        kept = [(line[:1], line[1:]) for line in block.lines[1:]]
        before, after = ("".join(f"{text}\n" for sign, text in kept if sign != other) for other in "+-")
        return [FileEdit(block.line, first[4:], before, after)]
    if named := _FILE.fullmatch(first):
        return [FileText(block.line, named[1], body)]
    return []


def _commands(block: Block) -> list[Command]:
    found, number = [], 0
    if not block.lines or not block.lines[0].startswith("$ "):
        raise SessionError(f"line {block.line + 1}: a console block begins with `$ COMMAND`")
    while number < len(block.lines):
        start, text = number, block.lines[number][2:]
        while text.endswith("\\"):
            number += 1
            text += f"\n{block.lines[number]}"
        number += 1
        output = number
        while number < len(block.lines) and not block.lines[number].startswith("$ "):
            number += 1
        status = _STATUS.search(text)
        shown = block.lines[output:number]
        place = (block.line + output, block.line + number)
        found.append(Command(block.line + start + 1, text, int(status[1]) if status else 0, shown, place, block.indent))
    return found


def pattern(shown: tuple[str, ...]) -> re.Pattern[str]:
    """Return what matches the shown output: ``…`` is any text of a line, a line ``…`` any lines."""
    parts = [
        r"(?:[^\n]*\n)*?" if line.strip() == "…" else r"[^\n]*".join(map(re.escape, line.rstrip().split("…"))) + "\n"
        for line in shown
    ]
    return re.compile("".join(parts))


@dataclass
class Session:
    """A folder and an environment in which the steps of a page run one after the other."""

    work: Path
    setting: str
    deployed: Path | None = None
    """A clone that `deployed_clone` made."""
    environ: dict[str, str] = field(init=False)
    folder: Path = field(init=False)
    container: str = field(init=False, default="")

    def __post_init__(self) -> None:
        if self.setting not in SETTINGS:
            raise SessionError(f"no such session: {self.setting!r}; there are {', '.join(SETTINGS)}")
        self.folder = self.work / ("railweave" if "clone" in self.setting else "work")
        home = self.work / "home"
        home.mkdir(parents=True)
        (home / ".gitconfig").write_text(_GIT, encoding="utf-8")
        path = os.environ["PATH"].split(os.pathsep)
        binaries = str(Path(sys.executable).parent)
        path = [one for one in path if one != binaries]
        if self.setting in ON_PATH:
            path.insert(0, binaries)
        self.environ = {
            "PATH": os.pathsep.join(path),
            "PWD": str(self.folder),
            "HOME": str(home),
            "USER": "engineer",
            "LOGNAME": "engineer",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "NO_COLOR": "1",
            "COLUMNS": COLUMNS,
            "PYTHONUNBUFFERED": "1",
        }
        if self.setting == "deployed clone" and self.deployed:
            shutil.copytree(self.deployed, self.folder, symlinks=True)
            self.environ["RAILWEAVE_INTENT"] = "intent/lab-4.yml"
            self.run("railweave sim up")
        else:
            self.folder.mkdir()
            if "clone" in self.setting:
                self._clone()
        if self.setting == "root clone" and os.geteuid() != 0:
            pytest.skip("GPU nodes of the simulator need root")
        if self.setting == "YANG clone":
            if not YANG_MODELS.is_dir() or find_spec("libyang") is None:
                pytest.skip("needs libyang, and SONiC's YANG models in ../shared/sonic-yang")
            (self.folder / "yang").mkdir()
            for release in yang_folders():
                (self.folder / "yang" / release.name).symlink_to(release)
        elif self.setting == "switch":
            self._start_switch()

    def _clone(self) -> None:
        shutil.copytree(ROOT, self.folder, ignore=_NOT_CLONED, dirs_exist_ok=True)
        shutil.copy2(ROOT / ".gitignore", self.folder)
        # Older than the environment, so that `make` never installs the copy into the environment of the tests.
        for name in ("pyproject.toml", "constraints.txt"):
            os.utime(self.folder / name, (0, 0))
        if not Path(sys.prefix, ".ready").exists():
            raise SessionError("the environment is not ready: run `make setup`")
        (self.folder / ".venv").symlink_to(sys.prefix)
        self._bash("git init -q && git add -A && git commit -q -m 'A clone'")

    def _start_switch(self) -> None:
        """Start a container of the lab's node image with nothing but its account."""
        self.container = f"railweave-switch-{secrets.token_hex(4)}"
        start = (
            "run",
            "-d",
            "--rm",
            "--name",
            self.container,
            "--hostname",
            "localhost",
            "--network",
            "none",
            "--entrypoint",
            "sleep",
        )
        _docker(*start, ensure_image(image_sources()), "600")
        given = ROOT / "src" / "railweave" / "starter" / "gitops" / "switch"
        _docker("cp", "-q", f"{given}/.", f"{self.container}:/home/admin")

    def close(self) -> None:
        """Stop what the session started."""
        if self.container:
            _docker("rm", "-f", self.container)
        for project in {path.parent for path in self.work.rglob(".railweave") if (path / "sim").is_dir()}:
            run_here(["sim", "down", "--all"], project, self.environ, COMMAND_SECONDS)
        if "lab clone" in self.setting:
            run_here(["lab", "down", "--all"], self.folder, self.environ, COMMAND_SECONDS)

    def change(self, step: FileText | FileEdit) -> None:
        """Write or edit a file. Raises SessionError where the lines to replace are not in it exactly once."""
        path = Path(self.environ["PWD"]) / step.path
        if isinstance(step, FileText):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.text, encoding="utf-8")
            return
        text = path.read_text(encoding="utf-8")
        if not step.before:
            path.write_text(text + step.after, encoding="utf-8")
        elif text.count(step.before) != 1:
            raise SessionError(f"{step.path} has these lines {text.count(step.before)} times:\n{step.before}\n{text}")
        else:
            path.write_text(text.replace(step.before, step.after), encoding="utf-8")

    def run(self, text: str) -> tuple[int, str]:
        """Return the exit status of a command and what it printed."""
        if self.container:
            done = _docker(
                "exec", "-u", "admin", "-w", "/home/admin", self.container, "bash", "-c", f"{text} 2>&1", check=False
            )
            return done.returncode, _plain(done.stdout)
        words = shlex.split(text, comments=True)
        on_path = shutil.which("railweave", path=self.environ["PATH"])
        if words[0] == "railweave" and on_path and not _SHELL.search(_QUOTED.sub("", text)):
            done = run_here(words[1:], Path(self.environ["PWD"]), self.environ, COMMAND_SECONDS, together=True)
            return done.returncode, _plain(done.stdout)
        return self._bash(text)

    def _bash(self, text: str) -> tuple[int, str]:
        """Run a command in bash; what it exports and where it goes holds for the next one."""
        state = self.work / "environ"
        script = f"{text}\nstatus=$?\nenv -0 >{shlex.quote(str(state))}\nexit $status"
        # A process in the background keeps the output open: a pipe would be waited for.
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-c", script],
                cwd=self.environ["PWD"],
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=COMMAND_SECONDS,
                check=False,
            )
            output.seek(0)
            printed = output.read().decode("utf-8", errors="replace")
        kept = state.read_text(encoding="utf-8").rstrip("\0").split("\0")
        self.environ = dict(one.split("=", 1) for one in kept)
        return done.returncode, _plain(printed)


def _docker(*words: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["docker", *words], capture_output=True, text=True, timeout=COMMAND_SECONDS, check=check)


def _plain(printed: str) -> str:
    """Return an output as a page shows it: no blank line around it, no space at the end of a line."""
    return "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").splitlines())


def deployed_clone(work: Path) -> Path:
    """Return a clone in which intent/lab-4.yml was deployed, without the simulator's process."""
    session = Session(work, "clone")
    try:
        for step in steps(Block(0, "", "console", DEPLOYED, None)):
            _checked(session, step, Path(__file__))
    finally:
        for state in (session.folder / ".railweave" / "sim").glob("*"):
            control.down(state, keep_state=True)
    return session.folder


def run_page(page: Path, work: Path, deployed: Callable[[], Path], *, lab: bool = False) -> None:
    """Run the sessions of a page, those of the lab or the others; ``deployed`` gives a clone of `deployed_clone`.

    Raises SessionError at the first step that does not do what the page shows, except while output is updated.
    """
    real: dict[Command, str] = {}
    try:
        for number, written in enumerate(sections(page.read_text(encoding="utf-8"))):
            section = _continued(written)
            if section.setting and (section.setting in ON_DOCKER) is lab:
                session = Session(
                    work / str(number), section.setting, deployed() if section.setting == "deployed clone" else None
                )
                try:
                    for step in (step for block in section.blocks for step in steps(block)):
                        real |= _checked(session, step, page)
                finally:
                    session.close()
    finally:
        if UPDATE:
            _update(page, real)


def _continued(section: Section) -> Section:
    """Return a session that begins with the block DEPLOYED as one that continues in a copy of what that left."""
    blocks = [block for block in section.blocks if steps(block)]
    if section.setting == "clone" and blocks and blocks[0].lines == DEPLOYED:
        return Section("deployed clone", blocks[1:])
    return Section(section.setting, blocks)


def _checked(session: Session, step: Step, page: Path) -> dict[Command, str]:
    """Do a step; return its command and output where the page is to be updated by it."""
    try:
        if not isinstance(step, Command):
            session.change(step)
            return {}
        status, printed = session.run(step.text)
        if "Traceback (most recent call last)" in printed:
            raise SessionError(f"`{step.text}` ends in a traceback:\n{printed}")
        if status == step.status and pattern(step.shown).fullmatch(printed):
            return {}
        if UPDATE:
            return {step: printed if status == step.status else f"{printed}STATUS {status}\n"}
        shown = "\n".join(step.shown)
        raise SessionError(
            f"`{step.text}` exits with {status} and prints\n{printed}\n"
            f"and the page shows exit status {step.status} and\n{shown}"
        )
    except SessionError as error:
        raise SessionError(f"{os.path.relpath(page, ROOT)}:{step.line}: {error}") from None


def _update(page: Path, real: dict[Command, str]) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    for command, printed in sorted(real.items(), key=lambda item: -item[0].line):
        first, end = command.place
        shown = _VARYING.sub("…", printed).splitlines()
        if len(shown) > _MOST_LINES:
            shown[_MOST_LINES // 2 : -_MOST_LINES // 2] = ["…"]
        lines[first:end] = [f"{command.indent}{line}".rstrip() for line in shown]
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
