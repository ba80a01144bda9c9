"""The command line: reads options, calls the engine and the tasks, shows what they return."""

import gc
import os
import sys

from railweave import __version__


def run() -> None:
    """Run the command line and exit the process with its status; the version is printed at once."""
    if sys.argv[1:] == ["--version"]:
        print(f"railweave {__version__}")
        return
    # Values are frozen and refer to nothing that refers back: to search them for garbage is time lost.
    gc.set_threshold(200_000, 20, 100)
    # No package extends our models: pydantic would read the metadata of every package that is installed to know.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from railweave.cli.main import run as run_commands

    run_commands()
