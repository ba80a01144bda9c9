"""Run the scenarios of the simulator and of the lab at the same time: the lab mostly waits for timers of real daemons.

The tests of acceptance runs are a part of their own: their rounds follow the clock, whatever else runs.
Called by `make e2e`; what is marked nightly is run by `make e2e-nightly`, with ``--nightly``. Targets of make that are
named as arguments follow the simulator's part, while the others go on.
Their output and the simulator's is printed as it comes, that of the others as a whole at the end. These go first where
all want the processor, for there real time counts. Fails when any part fails.
"""

import contextlib
import subprocess
import sys
import tempfile
from typing import BinaryIO

ACCEPTANCE_FILES = ("tests/e2e/test_e2e_acceptance_run.py",)
NIGHTLY_ACCEPTANCE_FILES = (
    "tests/e2e/test_e2e_acceptance_faults.py",
    "tests/e2e/test_e2e_acceptance_bad_input.py",
)
# The seeded rollouts are a run of their own (`make rollouts`): they keep every processor busy for minutes.
_ELSEWHERE = ("tests/e2e/lab", "tests/e2e/test_e2e_rollouts.py", *ACCEPTANCE_FILES, *NIGHTLY_ACCEPTANCE_FILES)
# In the order of tests/e2e/conftest.py, which knows what one process has to run.
_IN_ORDER = ("--dist", "loadscope")
NIGHTLY = "--nightly"

# A priority far below would leave a deployment of 40 switches too little for its own timers.
_BEHIND_THE_TIMED = ["nice", "-n", "5"]


def timed_parts(*, nightly: bool) -> dict[str, list[str]]:
    """Return the commands of what follows timers of real daemons, or the clock."""
    acceptance = [*_pytest(nightly=nightly), *ACCEPTANCE_FILES]
    if nightly:
        acceptance += [*NIGHTLY_ACCEPTANCE_FILES, "-n", "2", *_IN_ORDER]
    return {"acceptance": acceptance, "the lab": [*_pytest(nightly=nightly), "-n", "2", "tests/e2e/lab"]}


def simulator_part(*, nightly: bool) -> list[str]:
    """Return the command of all other scenarios."""
    ignored = (f"--ignore={path}" for path in _ELSEWHERE)
    return [*_pytest(nightly=nightly), "-n", "3", *_IN_ORDER, "tests/e2e", *ignored]


def _pytest(*, nightly: bool) -> list[str]:
    marked = "e2e and not nightly and not weekly"
    if nightly:
        marked = "e2e and nightly and not weekly"
    return [sys.executable, "-m", "pytest", "-q", "--tb=short", "-m", marked]


def main(words: list[str]) -> int:
    """Return 0 where all parts passed."""
    nightly = NIGHTLY in words
    targets = [word for word in words if word != NIGHTLY]
    parts = timed_parts(nightly=nightly)
    with contextlib.ExitStack() as files:
        outputs = {name: files.enter_context(tempfile.TemporaryFile()) for name in parts}
        timed = {name: _start(command, outputs[name]) for name, command in parts.items()}
        passed = True
        for command in (simulator_part(nightly=nightly), *(["make", target] for target in targets)):
            passed = _passes(subprocess.Popen([*_BEHIND_THE_TIMED, *command]))
            if not passed:
                break
        for name, part in timed.items():
            passed = _passes(part) and passed
            _print(name, outputs[name])
    return 0 if passed else 1


def _start(command: list[str], output: BinaryIO) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)


def _print(name: str, output: BinaryIO) -> None:
    output.seek(0)
    print(f"\n--- {name} ---", flush=True)
    sys.stdout.buffer.write(output.read())
    sys.stdout.flush()


def _passes(part: subprocess.Popen[bytes]) -> bool:
    """Wait for a part and tell whether it passed; one that was interrupted did not."""
    interrupted = False
    while part.poll() is None:
        try:
            part.wait()
        except KeyboardInterrupt:
            # the part was interrupted as well, and cleans up before it ends
            interrupted = True
    return part.returncode == 0 and not interrupted


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
