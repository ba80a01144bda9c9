"""Wrong usage of the command line: the parser's message, and what it would accept instead."""

import shutil
import sys
import textwrap
from typing import Any


def show_usage_error(problem: Any) -> None:
    """Print a usage error on standard error, and what is accepted where its message names nothing."""
    problem.show()
    if accepted := _accepted(problem):
        columns = shutil.get_terminal_size().columns
        print(textwrap.fill(accepted, columns, break_long_words=False, break_on_hyphens=False), file=sys.stderr)


def _accepted(problem: Any) -> str:
    """Return the commands, the options or the meaning of the argument that a usage error is about."""
    command = getattr(problem.ctx, "command", None)
    params = command.params if command else ()
    named = [one for one in params if getattr(problem, "option_name", None) in one.opts]
    if param := getattr(problem, "param", None) or next(iter(named), None):
        meaning = param.metavar or param.name.upper()
        name = f"{param.opts[0]} {meaning}" if param.param_type_name == "option" else meaning
        return f"{name}: {param.help}" if param.help else ""
    if getattr(problem, "possibilities", None) == []:
        return f"options: {', '.join(one.opts[0] for one in params if one.param_type_name == 'option')}"
    unknown = problem.message.startswith("No such command") and "Did you mean" not in problem.message
    return f"commands: {', '.join(command.commands)}" if command and unknown else ""
