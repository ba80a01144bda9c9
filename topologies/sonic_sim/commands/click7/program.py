"""Running a program from its command line, with the usage errors of click 7.0."""

import posixpath

import click

from sonic_sim.commands.click7.program_run import Run
from sonic_sim.shell.programs import Call, ProgramError, Result

_HELP_NAMES = ["-h", "-?", "--help"]
# Settings of a program that leaves the name of its help to click: only ``--help``.
PLAIN_HELP = {"help_option_names": ["--help"]}
_WIDTH = 78


def run(root: click.Command, call: Call) -> Result:
    """Run a command line of the program whose top command is ``root``, and return its result."""
    if (call.variables or {}).get("SONIC_CLI_IFACE_MODE") == "alias":
        return Result(1, err=f"{call.argv[0]}: ports named by their aliases are not simulated\n")
    program_run = Run(call)
    settings = {
        "help_option_names": _HELP_NAMES,
        **root.context_settings,
        "obj": program_run,
        "terminal_width": _WIDTH,
    }
    status = 0
    try:
        with root.make_context(posixpath.basename(call.argv[0]), call.argv[1:], **settings) as context:
            root.invoke(context)
    except click.UsageError as error:
        program_run.complain(f"{_usage(error)}Error: {_message(error)}")
        status = error.exit_code
    except click.exceptions.Exit as end:
        status = end.exit_code
    except click.Abort:
        program_run.complain("Aborted!")
        status = 1
    except ProgramError as error:
        program_run.err.append(error.traceback())
        status = 1
    return program_run.result(status)


def _usage(error: click.UsageError) -> str:
    """Return the usage lines before an error; empty for an error outside of any command."""
    if error.ctx is None:
        return ""
    usage = f"{error.ctx.get_usage()}\n"
    # Click adds a context to an error made without one, which gives the usage, but not the command to ask for help.
    if error.cmd:
        usage += f'Try "{error.ctx.command_path} {error.ctx.help_option_names[0]}" for help.\n'
    return f"{usage}\n"


def _message(error: click.UsageError) -> str:
    """Return a usage error in the words of click 7.0."""
    if isinstance(error, click.NoSuchOption):
        return f"no such option: {error.option_name}{_near_options(error)}"
    if isinstance(error, click.BadOptionUsage):
        fault = "requires an argument" if "requires" in error.message else "does not take a value"
        return f"{error.option_name} option {fault}"
    if isinstance(error, click.MissingParameter) and error.param is not None:
        choices = getattr(error.param.type, "choices", ())
        hint = f"Missing {error.param.param_type_name} {error.param.get_error_hint(error.ctx)}."
        if choices:
            hint += "  Choose from:\n\t" + ",\n\t".join(choices) + "."
        return hint
    return error.format_message()


def _near_options(error: click.NoSuchOption) -> str:
    """Return the hint at options that begin with the unknown one; empty if there are none."""
    if error.ctx is None:
        return ""
    options = [name for param in error.ctx.command.params for name in param.opts]
    similar = sorted(name for name in options if name.startswith("--") and name.startswith(error.option_name))
    if not similar:
        return ""
    if len(similar) == 1:
        return f"  Did you mean {similar[0]}?"
    return f"  (Possible options: {', '.join(similar)})"
