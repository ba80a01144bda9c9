"""Run the scenarios of the simulator and of the lab at the same time: the lab mostly waits for timers of real daemons.

Called by `make e2e`. What the simulator's part prints is seen as it comes, what the lab's part printed is shown whole
after it. The lab goes first where both want the processor, for there real time counts. Fails when either part fails.
"""

import subprocess
import sys
import tempfile

PYTEST = [sys.executable, "-m", "pytest", "-q", "-m", "e2e"]
LAB = [*PYTEST, "-n", "2", "tests/e2e/lab"]
# The seeded rollouts are a run of their own (`make rollouts`): they keep every processor busy for minutes.
_ELSEWHERE = ("tests/e2e/lab", "tests/e2e/test_e2e_rollouts.py")
SIMULATOR = [*PYTEST, "-n", "3", "--dist", "worksteal", "tests/e2e", *(f"--ignore={path}" for path in _ELSEWHERE)]


def main() -> int:
    """Return 0 where both parts passed."""
    with tempfile.TemporaryFile() as said:
        lab = subprocess.Popen(LAB, stdout=said, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        simulator = subprocess.Popen(["nice", "-n", "5", *SIMULATOR])
        interrupted = False
        for part in (simulator, lab):
            while part.poll() is None:
                try:
                    part.wait()
                except KeyboardInterrupt:
                    # both were interrupted as well, and clean up before they end
                    interrupted = True
        said.seek(0)
        print("\n--- the lab ---", flush=True)
        sys.stdout.buffer.write(said.read())
        sys.stdout.flush()
    return 1 if interrupted or simulator.returncode or lab.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
