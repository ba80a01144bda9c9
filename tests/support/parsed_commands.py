"""A command line of railweave, parsed and not run."""

from typing import Any

import typer

from railweave.cli.main import app

# typer re-exports one subclass of its usage error, not the class itself.
ERRORS = (*typer.BadParameter.__mro__[1].__subclasses__(), *typer.BadParameter.__subclasses__())
NAMED_ONLY = tuple(one for one in ERRORS if one.__name__ in {"MissingParameter", "NoArgsIsHelpError"})
"""What is wrong with a command that is only named: its arguments are missing."""

COMMAND: Any = typer.main.get_command(app)
"""The whole command line."""
for _option in COMMAND.params:
    if _option.name in {"install_completion", "show_completion"}:
        _option.callback = None  # it acts while the words are parsed: writes the user's ~/.bashrc


def parse(words: list[str]) -> Any:
    """Parse what follows ``railweave`` and return the context of the command; raises its usage error."""
    return _parsed(COMMAND, words)


def _parsed(command: Any, words: list[str], parent: Any = None) -> Any:
    context = command.make_context(command.name, words, parent=parent)
    if not hasattr(command, "commands"):
        return context
    _, inner, rest = command.resolve_command(context, [*context._protected_args, *context.args])
    return _parsed(inner, rest, context)
