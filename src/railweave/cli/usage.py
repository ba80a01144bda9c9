"""Wrong usage of the command line: the parser's message, and what it would accept instead."""

import shutil
import sys
import textwrap
from typing import Any

from railweave.cli.groups import option_hint


def show_usage_error(problem: Any) -> None:
    """Print a usage error on standard error, and what is accepted where its message names nothing."""
    hint = _option_hint(problem)
    if hint:
        # Options of a similar spelling would mislead: the option of another tool is known.
        problem.possibilities = None
        problem.message = f"{problem.message}. {hint}"
    problem.show()
    accepted = _accepted(problem)
    if accepted:
        columns = shutil.get_terminal_size().columns
        print(textwrap.fill(accepted, columns, break_long_words=False, break_on_hyphens=False), file=sys.stderr)


def _option_hint(problem: Any) -> str:
    """Return what to use in place of an unknown option that other tools have, empty for any other problem."""
    command = getattr(problem.ctx, "command", None)
    if command is None or getattr(problem, "possibilities", None) is None:
        return ""
    accepted = {name for param in command.params for name in param.opts}
    return option_hint(command.name, problem.option_name, accepted)


def _accepted(problem: Any) -> str:
    """Return the commands, the options or the meaning of the argument that a usage error is about."""
    command = getattr(problem.ctx, "command", None)
    param = getattr(problem, "param", None)
    if command is None:
        return _meaning(param)
    param = param or _named_option(problem, command)
    if param:
        return _meaning(param)
    # click sets this for an unknown option; empty when no option is similar.
    if getattr(problem, "possibilities", None) == []:
        options = [param.opts[0] for param in command.params if param.param_type_name == "option"]
        return f"options: {', '.join(options)}"
    # click has no class for an unknown command, only this message, and adds its own hint where a name is similar.
    if problem.message.startswith("No such command") and "Did you mean" not in problem.message:
        return f"commands: {', '.join(command.commands)}"
    return ""


def _named_option(problem: Any, command: Any) -> Any:
    """Return the option of ``command`` that a usage error names without holding it, None if there is none."""
    # click's BadOptionUsage, such as of an option without its value, has only the name.
    name = getattr(problem, "option_name", None)
    return next((param for param in command.params if name in param.opts), None)


def _meaning(param: Any) -> str:
    """Return the name of an option or argument with its help, empty without help and for None."""
    if param is None or not param.help:
        return ""
    name = param.metavar or param.name.upper()
    if param.param_type_name == "option":
        name = f"{param.opts[0]} {name}"
    return f"{name}: {param.help}"
