"""The command line: reads options, calls the engine and the tasks, shows what they return."""

import sys

from railweave import __version__


def run() -> None:
    """Run the command line and exit the process with its status; the version is printed at once."""
    if sys.argv[1:] == ["--version"]:
        print(f"railweave {__version__}")
        return
    from railweave.cli.main import run as run_commands

    run_commands()
