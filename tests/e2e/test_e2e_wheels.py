"""The wheels in empty environments, as a user installs them: railweave without extras, its scaffold, and the packages
that work alone."""

import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
import typer
from by_night import nightly_except

from railweave.cli.main import app

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[2]
PYTHON_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


class Environment:
    """An environment in a folder, and commands in it that see nothing of this one."""

    def __init__(self, folder: Path, *packages: str, like: "Environment | None" = None) -> None:
        """Create it with ``packages`` of the wheels that `wheels` built, in the locked versions.

        It begins with the packages of ``like``, whose scripts stay behind, or with none.
        """
        self.bin = folder / "bin"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        if like is not None:
            shutil.copytree(like.bin.parent / "lib", folder / "lib", dirs_exist_ok=True)
        versions = re.findall(r"^\S+==\S+", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
        self.locked = folder / "versions.txt"
        self.locked.write_text("\n".join(one for one in versions if "@" not in one), encoding="utf-8")
        if packages:
            self.install(*packages)

    def install(self, *packages: str) -> None:
        """Install packages in the locked versions; they are not compiled, for few of their modules are used."""
        self.pip("install", "--quiet", "--no-compile", "--constraint", str(self.locked), *packages)

    def pip(self, *words: str, cwd: Path | None = None) -> str:
        """Run the pip that runs here on this environment, which needs none of its own."""
        return self.run(sys.executable, "-m", "pip", "--python", str(self.bin / "python"), *words, cwd=cwd)

    def run(
        self, program: str, *words: str, cwd: Path | None = None, home: Mapping[str, str] | None = None, status: int = 0
    ) -> str:
        """Run a program of the environment and return both its outputs; ``home`` adds to what it sees."""
        outer = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        own = {"PATH": f"{self.bin}:/usr/bin:/bin", "NO_COLOR": "1", "RAILWEAVE_INTENT": "", "COLUMNS": "200"}
        done = subprocess.run(
            [str(self.bin / program) if (self.bin / program).exists() else program, *words],
            env={**outer, **own, **(home or {})}, cwd=cwd, capture_output=True, text=True, check=False,
        )  # fmt: skip
        text = done.stdout + done.stderr
        assert done.returncode == status, text
        assert "No module named" not in text
        return text


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the wheels that `make wheels` builds."""
    folder = tmp_path_factory.mktemp("wheels") / "dist"
    subprocess.run(["make", "wheels", f"DIST={folder}"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return folder


@pytest.fixture(scope="module")
def railweave(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with railweave and no extra."""
    return Environment(tmp_path_factory.mktemp("alone"), *map(str, wheels.glob("railweave-*.whl")))


def test_every_command_explains_itself_without_any_extra(railweave: Environment) -> None:
    def words(command: object, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
        inner = getattr(command, "commands", {})
        return [path, *(one for name, below in inner.items() for one in words(below, (*path, name)))]

    commands = words(typer.main.get_command(app))
    assert len(commands) > 40
    script = (
        "import sys\nfrom railweave.cli.main import main\n"
        f"sys.exit(max(main([*words, '--help']) for words in {commands!r}))"
    )
    assert railweave.run("python", "-c", script).count("Usage: ") == len(commands)


def test_a_project_is_created_checked_sized_and_rendered(railweave: Environment, tmp_path: Path) -> None:
    railweave.run("railweave", "init", "fabric", cwd=tmp_path)
    project = tmp_path / "fabric"
    assert "no errors, no warnings" in railweave.run("railweave", "check", cwd=project)
    assert "4 leaves, 4 spines" in railweave.run("railweave", "size", cwd=project)
    assert "402 files of 8 switches" in railweave.run("railweave", "render", "--out", "build", cwd=project)
    assert railweave.run("make", "check", cwd=project)


def test_a_model_of_the_project_is_found_rendered_and_refused_at_its_place(
    railweave: Environment, tmp_path: Path
) -> None:
    """The switch and the NIC of the guide on own models, which a wheel reads from the project's folder."""
    guide = (ROOT / "docs/how-to/own-models.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(?:json|yaml)\n# (catalog\S+|intent\S+)\n(.*?)```", guide, re.DOTALL)
    assert len(blocks) == 3
    railweave.run("railweave", "init", "fabric", "--template", "minimal", cwd=tmp_path)
    project = tmp_path / "fabric"
    for name, text in blocks:
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text, encoding="utf-8")
    refused = railweave.run("railweave", "check", cwd=project, status=1)
    assert "error[RW017]: lane 4 is used twice" in refused
    assert "--> catalog/switches/acme-4.json:" in refused
    switch = project / "catalog/switches/acme-4.json"
    switch.write_text(switch.read_text(encoding="utf-8").replace("4,5,6,7", "5,6,7,8"), encoding="utf-8")
    assert "0 errors" in railweave.run("railweave", "check", cwd=project)
    assert "acme-4" in railweave.run("railweave", "models", cwd=project)
    railweave.run("railweave", "render", "--out", "build", cwd=project)
    config = json.loads((project / "build/switches/pod1-leaf1/config_db.json").read_text(encoding="utf-8"))
    assert config["PORT"]["Ethernet4"]["lanes"] == "5,6,7,8"


LACKING = {
    "sim up": "sim",
    "sim down": "sim",
    "sim status": "sim",
    "check --yang yang": "yang",
    "hosts plan --target nodes": "hosts",
    "rollout list": "journals",
}


@pytest.mark.parametrize(("words", "extra"), LACKING.items())
def test_a_command_names_the_extra_that_it_lacks(
    words: str, extra: str, railweave: Environment, tmp_path: Path
) -> None:
    railweave.run("railweave", "init", "fabric", cwd=tmp_path)
    project = tmp_path / "fabric"
    nodes = "source: addresses\naddress: 192.0.2.{number}\nhosts: {address: '{name}.example.net'}\n"
    (project / "inventory/nodes.yml").write_text(nodes, encoding="utf-8")
    (project / "yang").mkdir()
    (project / "yang/sonic-port.yang").write_text("module sonic-port {}", encoding="utf-8")
    home = {"RAILWEAVE_JOURNALS": "s3://journals/fabric"} if extra == "journals" else {}
    assert f"railweave[{extra}]" in railweave.run("railweave", *words.split(), cwd=project, home=home, status=1)


@pytest.fixture(scope="module")
def simulated(railweave: Environment, wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with railweave and its simulator."""
    [wheel] = wheels.glob("railweave-*.whl")
    environment = Environment(tmp_path_factory.mktemp("sim"), like=railweave)
    environment.pip("uninstall", "--quiet", "--yes", "railweave")
    environment.install(f"{wheel}[sim]")
    return environment


@pytest.mark.parametrize("source", nightly_except(["file", "index"], daily=["index"]))
def test_the_scaffold_installs_and_deploys(source: str, simulated: Environment, wheels: Path, tmp_path: Path) -> None:
    """``requirements.in`` of the scaffold is installed from its folder ``wheels``, or from an index on loopback."""
    [wheel] = wheels.glob("railweave-*.whl")
    simulated.run("railweave", "init", "fabric", cwd=tmp_path)
    project = tmp_path / "fabric"
    asked = project / "requirements.in"
    simulated.pip("uninstall", "--quiet", "--yes", "railweave")
    if source == "file":
        (project / "wheels").mkdir()
        shutil.copy(wheel, project / "wheels")
        simulated.pip("install", "--quiet", "--no-deps", "--no-index", "-r", asked.name, cwd=project)
    else:
        index = tmp_path / "index/simple/railweave"
        index.mkdir(parents=True)
        shutil.copy(wheel, index)
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / "index"))
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            address = f"http://127.0.0.1:{server.server_port}/simple/"
            _, _, own = asked.read_text(encoding="utf-8").partition("#   --index-url")
            line = own.splitlines()[1].removeprefix("#   ")
            asked.write_text(f"--index-url {address}\n{line}\n", encoding="utf-8")
            simulated.pip("install", "--quiet", "--no-deps", "-r", asked.name, cwd=project)
            server.shutdown()
    try:
        assert "verified: 2,064 checks passed" in simulated.run("make", "deploy", cwd=project)
    finally:
        simulated.run("make", "sim-down", cwd=project)


def test_the_completion_that_is_installed_completes_a_command(railweave: Environment, tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "SHELL": "/bin/bash"}
    (tmp_path / ".bashrc").touch()
    railweave.run("bash", "-c", "railweave --install-completion; exit $?", home=home)
    script = (
        "source ~/.bashrc; COMP_WORDS=(railweave si); COMP_CWORD=1; "
        "$(complete -p railweave | sed 's/.*-F \\([^ ]*\\).*/\\1/') railweave; echo ${COMPREPLY[@]}"
    )
    assert railweave.run("bash", "-c", script, home=home).split() == ["size", "sim"]


def test_the_driver_changes_a_simulated_switch_with_nothing_else_installed(wheels: Path, tmp_path: Path) -> None:
    """The examples of both packages' pages, one after the other; the address and login are those of the simulator."""
    files = (str(wheel) for wheel in wheels.iterdir() if not wheel.name.startswith("railweave-"))
    environment = Environment(tmp_path / "env", *files)
    assert "railweave " not in environment.pip("list")
    start, stop, faults = PYTHON_BLOCK.findall((ROOT / "packages/sonic-sim/README.md").read_text(encoding="utf-8"))
    change, login = PYTHON_BLOCK.findall((ROOT / "packages/napalm-sonic/README.md").read_text(encoding="utf-8"))
    of_the_page = 'driver("leaf1.example.net", "admin", "", optional_args={"key_file": "~/.ssh/id_ed25519"})'
    assert of_the_page in change
    imports = "from napalm import get_network_driver\n\ndriver = get_network_driver('sonic')\n"
    again = "with device as leaf1:\n    print(leaf1.get_config()['running'].count('gpu1'))\n"
    script = tmp_path / "script.py"
    script.write_text(
        start + imports + login + change.replace(of_the_page, "device") + again + faults, encoding="utf-8"
    )
    try:
        printed = environment.run("python", "-P", str(script), cwd=tmp_path)
    finally:
        (tmp_path / "stop.py").write_text(
            f"from pathlib import Path\nfrom sonic_sim import control\nfolder = Path('sim')\n{stop}"
        )
        environment.run("python", "-P", str(tmp_path / "stop.py"), cwd=tmp_path)
    assert "\n@@ PORT|Ethernet0 @@ patch\n+  description: gpu1\n" in printed
    assert printed.rstrip().endswith("1")
