"""git, which holds the revisions of an intent and its templates."""

import subprocess

from railweave.errors import RailweaveError

NO_REPOSITORY = "not a git repository"
DUBIOUS_OWNERSHIP = "dubious ownership"


def run_git(*words: str, stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    """Run git in the working directory and return how it ended; raises RailweaveError where it is not installed."""
    try:
        return subprocess.run(["git", *words], capture_output=True, check=False, input=stdin)
    except OSError as fault:
        raise RailweaveError(
            f"git cannot be run ({fault.strerror}), and a revision of the intent is read with it: install git, or name"
            " a file in place of the revision"
        ) from fault
