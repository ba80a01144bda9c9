"""Run the scenarios of the simulator and of the lab at the same time: the lab mostly waits for timers of real daemons.

Called by `make e2e`; what is marked nightly is left to `make e2e-nightly`. Targets of make that are named as arguments
follow the simulator's part, while the lab's goes on.
Their output and the simulator's is printed as it comes, the lab's as a whole at the end. The lab goes first where both
want the processor, for there real time counts. Fails when any part fails.
"""

import subprocess
import sys
import tempfile

PYTEST = [sys.executable, "-m", "pytest", "-q", "-m", "e2e and not nightly"]
LAB = [*PYTEST, "-n", "2", "tests/e2e/lab"]
# The seeded rollouts are a run of their own (`make rollouts`): they keep every processor busy for minutes.
_ELSEWHERE = ("tests/e2e/lab", "tests/e2e/test_e2e_rollouts.py")
# In the order of tests/e2e/conftest.py.
SIMULATOR = [*PYTEST, "-n", "3", "--dist", "loadscope", "tests/e2e", *(f"--ignore={path}" for path in _ELSEWHERE)]


_BEHIND_THE_LAB = ["nice", "-n", "10"]


def main(targets: list[str]) -> int:
    """Return 0 where all parts passed."""
    with tempfile.TemporaryFile() as said:
        lab = subprocess.Popen(LAB, stdout=said, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        passed = True
        for command in (SIMULATOR, *(["make", target] for target in targets)):
            passed = _passes(subprocess.Popen([*_BEHIND_THE_LAB, *command]))
            if not passed:
                break
        passed = _passes(lab) and passed
        said.seek(0)
        print("\n--- the lab ---", flush=True)
        sys.stdout.buffer.write(said.read())
        sys.stdout.flush()
    return 0 if passed else 1


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
