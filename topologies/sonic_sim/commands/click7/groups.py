"""Commands, and groups of them that take beginnings of their names, with the help of click 7.0."""

import importlib
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from sonic_sim.commands.click7.parameters import Option


class Command(click.Command):
    """A command whose help is printed into its run."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Return the help option, with those of its names that no other option has."""
        if self._help is None:
            names_of_params = {name for param in self.params for name in param.opts}
            names = [name for name in ctx.help_option_names if name not in names_of_params]
            help_text = "Show this message and exit."
            self._help = Option(
                names, is_flag=True, is_eager=True, expose_value=False, callback=_show_help, help=help_text
            )
        return self._help

    _help: click.Option | None = None

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return the help's first sentence, cut at a word."""
        if self.short_help:
            return self.short_help
        line = ""
        for word in (self.help or "").split():
            longer = f"{line} {word}" if line else word
            if len(longer) > limit:
                return f"{line}..."
            line = longer
            if word.endswith("."):
                break
        return line

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help, as much narrower as it is indented."""
        formatter.width -= formatter.indent_increment
        super().format_help_text(ctx, formatter)
        formatter.width += formatter.indent_increment

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the section of the options."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        records = [option.get_help_record(ctx) for option in options]
        with formatter.section("Options"):
            formatter.write_dl([record for record in records if record])


Made = TypeVar("Made")
Register = Callable[[Callable[..., None]], Made]


class Group(Command, click.Group):
    """A group that takes beginnings of its commands' names (AliasedGroup of utilities_common/cli.py)."""

    # Whether the shortest command is meant where all that match begin with it (AbbreviationGroup).
    shortest_wins = False

    def leaf(self, name: str, text: str, *params: click.Parameter, **settings: Any) -> Register[click.Command]:
        """Return a decorator that registers a function as a command; ``text`` is the help.

        The function is called with its run and the values of the parameters.
        """

        def register(function: Callable[..., None]) -> click.Command:
            command = Command(name, callback=with_run(function), help=text, params=list(params), **settings)
            self.add_command(command)
            return command

        return register

    def branch(self, name: str, text: str, cls: "type[Group] | None" = None, **settings: Any) -> "Group":
        """Add a group below this one."""
        # click 7.0 shows the words also for a group that needs no command.
        settings.setdefault("subcommand_metavar", "COMMAND [ARGS]...")
        group_class = cls or type(self)
        group = group_class(name, help=text, **settings)
        self.add_command(group)
        return group

    def branching(self, name: str, text: str, *params: click.Parameter, **settings: Any) -> "Register[Group]":
        """Return a decorator that registers a function which runs before the commands of a new group below this one."""
        return lambda function: self.branch(name, text, params=list(params), callback=with_run(function), **settings)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with this name, or the one whose name begins with it; None if there is none.

        Several that match are a usage error.
        """
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        matches = sorted(name for name in self.commands if name.lower().startswith(cmd_name.lower()))
        if not matches:
            return None
        shortest = min(matches, key=len)
        all_begin_with_it = all(name.startswith(shortest) for name in matches)
        is_clear = len(matches) == 1 or (self.shortest_wins and all_begin_with_it)
        if not is_clear:
            ctx.fail(f"Too many matches: {', '.join(matches)}")
        return self.commands[shortest]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the next word names."""
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            ctx.fail(f'No such command "{args[0]}".')
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words; without any a group shows its help."""
        if not args and self.no_args_is_help:
            _show_help(ctx, None, True)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections of options and commands."""
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


class AbbreviationGroup(Group):
    """A group of ``config``."""

    shortest_wins = True


class GroupOfModules(AbbreviationGroup):
    """A group whose commands are registered by modules, which are imported when one of their commands is named."""

    def __init__(self, name: str, **settings: Any) -> None:
        """Begin with no module."""
        super().__init__(name, **settings)
        self._modules: dict[str, list[str]] = {}

    def add_module(self, module: str, names: Iterable[str]) -> None:
        """Remember that a module registers the commands ``names``, or parts of them."""
        for name in names:
            self._modules.setdefault(name, []).append(module)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name or of its beginning."""
        if cmd_name in self._modules:
            self._import((cmd_name,))
        else:
            self._import([name for name in self._modules if name.lower().startswith(cmd_name.lower())])
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        self._import(tuple(self._modules))
        return super().list_commands(ctx)

    def _import(self, names: Iterable[str]) -> None:
        for name in names:
            for module in self._modules.pop(name, ()):
                importlib.import_module(module)


class PlainGroup(Group):
    """A group whose commands are to be spelled out."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name."""
        return self.commands.get(cmd_name)


def with_run(function: Callable[..., None]) -> Callable[..., None]:
    """Return a callback that calls ``function`` with the run of the program before the values."""
    return lambda **values: function(click.get_current_context().find_root().obj, **values)


def _show_help(ctx: click.Context, param: click.Parameter | None, value: Any) -> None:
    """Print the help into the run and end it, if the option was given."""
    if value:
        ctx.find_root().obj.say(ctx.get_help())
        ctx.exit()
