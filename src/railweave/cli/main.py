"""The `railweave` command: registers the commands and turns every failure into a message and an exit status.

Exit status: 0 done, 1 refused or failed, 2 only with ``--exit-code`` for changes found, 64 wrong usage,
130 interrupted.
"""

import copy
import gc
import io
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

import typer

from railweave.cli import (
    acceptance_commands,
    design_commands,
    export_commands,
    exporter_commands,
    fabric_commands,
    health_commands,
    lab_commands,
    links_commands,
    node_commands,
    operation_commands,
    picture_commands,
    rehearse_commands,
    rollout_commands,
    sim_commands,
    telemetry_commands,
    weighing_commands,
)
from railweave.cli.groups import CommandGroup
from railweave.cli.options import IntentCommand, UsageProblem
from railweave.cli.status import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE
from railweave.cli.usage import show_usage_error
from railweave.diagnostics import Diagnostic
from railweave.errors import RailweaveError, RefusedError
from railweave.masking import forget_resolved

app = typer.Typer(
    name="railweave",
    cls=CommandGroup,
    help="Infrastructure as Code for the Ethernet fabrics of GPU clusters: one intent file to a running SONiC fabric.",
    no_args_is_help=True,
    # Plain help: the boxes of rich need its import, and cannot be copied from.
    rich_markup_mode=None,
    # `main` shows failures itself, without a traceback.
    pretty_exceptions_enable=False,
    # click folds help at 80 columns, however wide the terminal is, unless it may take more.
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)


@app.callback(invoke_without_command=True)
def options(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    """Infrastructure as Code for the Ethernet fabrics of GPU clusters: one intent file to a running SONiC fabric."""
    if version:
        from railweave import __version__

        print(f"railweave {__version__}")
        raise typer.Exit


for module in (
    design_commands,
    weighing_commands,
    fabric_commands,
    rehearse_commands,
    rollout_commands,
    operation_commands,
    health_commands,
    exporter_commands,
    acceptance_commands,
    picture_commands,
    export_commands,
    telemetry_commands,
    sim_commands,
    lab_commands,
    links_commands,
    node_commands,
):
    module.register(app)

for commands in (app, *(group.typer_instance for group in app.registered_groups if group.typer_instance)):
    for registered in commands.registered_commands:
        # typer takes a class for each command, not one for all commands of an app.
        registered.cls = IntentCommand


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit the process with its status."""
    # A canceled pipeline sends SIGTERM: it ends a rollout as Ctrl-C does, after the current devices.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # A terminal without UTF-8 shows `?` for a character that it lacks.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    if arguments is None:
        arguments = sys.argv[1:]
    status = main(arguments)
    if status == EXIT_INTERRUPTED:
        # Python would wait for the threads of busy devices; the timers of the switches finish what these leave behind.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    # Python would search all values for garbage once more before it exits.
    gc.freeze()
    sys.exit(status)


def _open_closed_streams() -> None:
    """Open standard streams that the caller has closed (``>&-``), without content.

    Python has None in their place, and the next file or socket would get their number.
    """
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit status. This is the only catch-all handler of the program."""
    # Tests run several commands in one process: the secrets of one mask nothing in the output of the next.
    forget_resolved()
    try:
        run_command = _narrowed(arguments)
        # In its standalone mode click would exit with statuses of its own, such as 2 for wrong usage.
        status = run_command(list(arguments), standalone_mode=False)
        if status == EXIT_INTERRUPTED:
            # typer turns a KeyboardInterrupt into this status, and prints nothing.
            print("interrupted", file=sys.stderr)
        # Here rather than at exit, where nobody could handle that the reader has closed the pipe.
        sys.stdout.flush()
    except UsageProblem as exc:
        show_usage_error(exc)
        return EXIT_USAGE
    except (KeyboardInterrupt, typer.Abort):
        print("interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader (`head`, a pager) has closed the pipe; nothing more can be written, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except RailweaveError as failure:
        _show_failure(failure, as_json="--json" in arguments)
        return failure.exit_status
    except Exception as exc:
        _show_fault(exc)
        return EXIT_FAILED
    # A command without a status of its own returns None.
    return status or EXIT_OK


def _narrowed(arguments: Sequence[str]) -> typer.Typer:
    """Return the command line with the command or group alone that its first word names, else with all of them.

    The other commands take time to build.
    """
    name = _first_word(arguments)
    commands = [command for command in app.registered_commands if getattr(command.callback, "__name__", "") == name]
    groups = [group for group in app.registered_groups if group.name == name]
    if not commands and not groups:
        return app
    narrow = copy.copy(app)
    narrow.registered_commands = commands
    narrow.registered_groups = groups
    return narrow


def _first_word(arguments: Sequence[str]) -> str:
    """Return the first word that is typed after `railweave`, also in a shell's completion; empty if there is none."""
    typed = arguments
    if "_RAILWEAVE_COMPLETE" in os.environ:
        # click's completion: the shell passes the line in a variable, with the program as its first word.
        typed = os.environ.get("COMP_WORDS", "").split()[1:]
    return next(iter(typed), "")


def _show_failure(failure: RailweaveError, *, as_json: bool) -> None:
    """Print why a command was refused or failed: as a document, or its diagnostics or message on standard error."""
    from railweave.cli.show import print_diagnostics, print_document, print_error
    from railweave.report.diagnostics import diagnostics_json

    diagnostics: Sequence[Diagnostic] = ()
    if isinstance(failure, RefusedError):
        diagnostics = failure.diagnostics
    if as_json:
        print_document({"error": str(failure), **diagnostics_json(diagnostics)})
    elif isinstance(failure, RefusedError):
        print_diagnostics(diagnostics)
    else:
        print_error(str(failure))


def _show_fault(exc: Exception) -> None:
    """Print an unexpected exception on standard error: as a failed write if it is one, else as a bug."""
    from railweave.cli.show import print_error, print_text
    from railweave.files import cannot_write, is_of_disk

    if os.environ.get("RAILWEAVE_DEBUG"):
        print_text("".join(traceback.format_exception(exc)), end="", stderr=True)
        return
    # A full or closed disk is no mistake of the program.
    if isinstance(exc, OSError) and is_of_disk(exc):
        # A failed write names no file; the state of a project is below the working directory.
        print_error(cannot_write(exc.filename or f"the output, or a file below {Path.cwd()},", exc))
        return
    print_text(
        f"railweave: this is a bug in railweave: {type(exc).__name__}: {exc}\n"
        "The command stopped. Run it again with RAILWEAVE_DEBUG=1 and report its output.",
        stderr=True,
    )
