"""FRR's daemons of a Debian package in a container without a network, asked and configured by its own vtysh."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

IMAGE = Path(__file__).parents[1] / "e2e" / "frr_image"
_START = """set -e; : > /etc/frr/vtysh.conf; rm -f /etc/frr/frr.conf
for daemon in mgmtd zebra staticd bgpd bfdd; do
  [ -x /usr/lib/frr/$daemon ] && /usr/lib/frr/$daemon -d -A 127.0.0.1 && sleep 0.3
done; sleep 1; vtysh -c 'show daemons'"""


@dataclass(frozen=True, slots=True)
class Given:
    """What vtysh answered to a file."""

    status: int
    said: str


@dataclass(frozen=True, slots=True)
class RealFrr:
    """A container that runs FRR; ``folder`` is its ``/texts``."""

    container: str
    folder: Path

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the container."""
        command = ["docker", "exec", self.container, *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def give(self, text: str) -> Given:
        """Load lines with ``vtysh -f``."""
        (self.folder / "given.conf").write_text(text, encoding="utf-8")
        done = self.run("vtysh", "-f", "/texts/given.conf")
        lines = (line for line in (done.stdout + done.stderr).splitlines() if re.match(r"line |%", line))
        return Given(done.returncode, "\n".join(dict.fromkeys(lines)))

    def shown(self) -> str:
        """Return ``show running-config``."""
        return self.run("vtysh", "-c", "show running-config").stdout

    def lines_to_add(self, text: str) -> str:
        """Return what FRR's own ``frr-reload.py --test`` would add for a file."""
        (self.folder / "wanted.conf").write_text(text, encoding="utf-8")
        done = self.run("/usr/lib/frr/frr-reload.py", "--test", "--stdout", "/texts/wanted.conf")
        assert done.returncode == 0, done.stderr
        return done.stdout.partition("Lines To Add\n============\n")[2].strip()


@contextmanager
def real_frr(suite: str, folder: Path) -> Iterator[RealFrr]:
    """Start FRR of a release of Debian; it ends with the block."""
    name = f"railweave-frr:{suite}"
    build = ["docker", "build", "-q", "--network", "host", "--build-arg", f"SUITE={suite}", "-t", name, str(IMAGE)]
    subprocess.run(build, capture_output=True, check=True)
    run = ["docker", "run", "-d", "--rm", "--network", "none", "--hostname", "leaf1", "--cap-add", "NET_ADMIN"]
    run += ["--cap-add", "SYS_ADMIN", "-v", f"{folder}:/texts", name, "sleep", "3600"]
    container = subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip()
    try:
        frr = RealFrr(container, folder)
        started = frr.run("bash", "-c", _START)
        assert "bgpd" in started.stdout, started.stderr
        yield frr
    finally:
        subprocess.run(["docker", "rm", "-f", container], capture_output=True, check=False)
