"""Slurm's controller of Debian, unpacked into a folder of a test: nothing is installed, it listens on loopback only."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import debian_packages

PACKAGES = ("slurmctld", "slurm-client", "slurm-wlm-basic-plugins", "libmunge2")
LIBRARIES = "usr/lib/x86_64-linux-gnu"
WAIT_S = 30
PORT = 26817
"""Outside of the range that Linux gives to clients, and not Slurm's own 6817."""

CONFIGURATION = """\
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={other}
AuthType=auth/none
CredType=cred/none
SlurmUser={user}
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/pid
SlurmctldLogFile={folder}/log
PluginDir={plugins}
TopologyPlugin=topology/tree
ProctrackType=proctrack/linuxproc
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
CommunicationParameters=NoInAddrAny
NodeName={nodes} NodeAddr=127.0.0.1 CPUs=1 State=FUTURE
PartitionName=all Nodes=ALL Default=YES
"""


def unpacked(folder: Path) -> Path:
    """Return a folder with Slurm's files."""
    return debian_packages.unpacked(folder, PACKAGES)


@contextmanager
def controller(root: Path, folder: Path, topology: str, nodes: str) -> Iterator["Scontrol"]:
    """Run the controller on a topology until the block ends; it is ended by its id."""
    folder.mkdir()
    (folder / "state").mkdir()
    plugins = root / LIBRARIES / "slurm-wlm"
    (folder / "topology.conf").write_text(topology, encoding="utf-8")
    (folder / "slurm.conf").write_text(
        CONFIGURATION.format(
            port=PORT, other=PORT + 1, user=os.environ.get("USER", "root"), folder=folder, plugins=plugins, nodes=nodes
        ),
        encoding="utf-8",
    )
    environ = {
        **os.environ,
        "LD_LIBRARY_PATH": f"{root / LIBRARIES}:{plugins}",
        "SLURM_CONF": str(folder / "slurm.conf"),
    }
    with (folder / "out").open("wb") as out:
        words = [str(root / "usr/sbin/slurmctld-wlm"), "-D", "-c"]
        process = subprocess.Popen(words, env=environ, stdout=out, stderr=out)
        try:
            yield Scontrol(root, folder, environ, process)
        finally:
            process.terminate()
            process.wait(WAIT_S)


class Scontrol:
    """Slurm's own tool, which asks the running controller."""

    def __init__(self, root: Path, folder: Path, environ: dict[str, str], process: "subprocess.Popen[bytes]") -> None:
        self._program = str(root / "usr/bin/scontrol")
        self._folder = folder
        self._environ = environ
        self._process = process

    @property
    def log(self) -> str:
        return (self._folder / "out").read_text(encoding="utf-8", errors="replace")

    def show(self, *words: str) -> str:
        """Return what ``scontrol show`` prints once the controller answers."""
        end = time.monotonic() + WAIT_S
        while True:
            shown = subprocess.run(
                [self._program, "show", *words], env=self._environ, capture_output=True, text=True, check=False
            )
            if not shown.returncode:
                return shown.stdout
            assert self._process.poll() is None, self.log
            assert time.monotonic() < end, shown.stderr + self.log
