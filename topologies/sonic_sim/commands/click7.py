"""The click of SONiC's programs: version 7.0, here with the texts and habits of 7.0 on a current click.

SONiC pins click 7.0 (sonic-utilities, setup.py). Later versions word usage errors and help otherwise; all of that is
put right here and nowhere else. A program is a tree of groups that is built once; each run of it has a `Run` as the
object of its context, which holds the switch and collects what is printed.
"""

import importlib
import posixpath
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from sonic_sim.configdb import ConfigDb
from sonic_sim.device import Device
from sonic_sim.shell.programs import Call, ProgramError, Result, Wait

_HELP_NAMES = ["-h", "-?", "--help"]
# Settings of a program that leaves the name of its help to click: only ``--help``.
PLAIN_HELP = {"help_option_names": ["--help"]}
_WIDTH = 78


@dataclass(slots=True)
class Run:
    """One run of a program: its call, its output so far, and the seconds that it takes.

    ``ends`` give back what the run holds for these seconds."""

    call: Call
    out: list[str] = field(default_factory=list)
    err: list[str] = field(default_factory=list)
    seconds: float | Wait = 0.0
    ends: list[Callable[[], None]] = field(default_factory=list)

    @property
    def device(self) -> Device:
        """The switch."""
        return self.call.device

    @property
    def db(self) -> ConfigDb:
        """The rows of CONFIG_DB."""
        return self.call.device.db

    def say(self, text: str = "", end: str = "\n") -> None:
        """Print a line."""
        self.out.append(text + end)

    def complain(self, text: str) -> None:
        """Print a line on standard error."""
        self.err.append(text + "\n")

    def fail(self, message: str) -> NoReturn:
        """End as ``ctx.fail`` does: the usage line, the message, exit 2."""
        click.get_current_context().fail(message)

    def stop(self, text: str = "", status: int = 1) -> NoReturn:
        """End with a line on standard output."""
        if text:
            self.say(text)
        raise click.exceptions.Exit(status)

    def leave(self, text: str, status: int = 1) -> NoReturn:
        """End with a line on standard error, as Python's ``sys.exit(text)``."""
        self.complain(text)
        raise click.exceptions.Exit(status)

    def wait_for_ever(self) -> NoReturn:
        """Never end."""
        self.seconds = Wait.FOR_EVER
        raise click.exceptions.Exit(1)

    def confirm(self, question: str) -> None:
        """Ask; no, or no answer, aborts."""
        # click's prompt reads lines until one is an answer; the end of the input is an empty line.
        for line in (self.call.stdin + "\n").split("\n"):
            self.say(f"{question} [y/N]: ", end="")
            answer = line.strip().lower()
            if answer in ("y", "yes"):
                return
            if answer in ("", "n", "no"):
                break
            self.say("Error: invalid input")
        raise click.Abort

    def finish(self, result: Result) -> None:
        """Print another program's output, and end as it did if it failed."""
        self.out.append(result.out)
        self.err.append(result.err)
        if result.exit:
            raise click.exceptions.Exit(result.exit)

    def result(self, status: int = 0) -> Result:
        """Return the result of the run."""
        return Result(status, "".join(self.out), "".join(self.err), self.seconds, ends=tuple(self.ends))


class Argument(click.Argument):
    """An argument; the usage line shows it in brackets where it may be left out."""

    def make_metavar(self, ctx: click.Context | None = None) -> str:
        """Return how the usage line names it."""
        if self.metavar is not None:
            return self.metavar
        choices = getattr(self.type, "choices", None)
        name = (self.name or "").upper()
        if choices:
            name = f"[{'|'.join(choices)}]"
        if not self.required:
            name = f"[{name}]"
        if self.nargs != 1:
            name += "..."
        return name

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Return its name in an error."""
        return f'"{self.make_metavar()}"'


class Option(click.Option):
    """An option; errors name all its spellings."""

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Return its names in an error."""
        return " / ".join(f'"{name}"' for name in self.opts)


def argument(name: str, metavar: str | None = None, **settings: Any) -> click.Argument:
    """Return an argument; several commands may share it."""
    return Argument([name], metavar=metavar, **settings)


def option(*names: str, **settings: Any) -> click.Option:
    """Return an option; several commands may share it."""
    return Option(names, **settings)


def flag(*names: str, **settings: Any) -> click.Option:
    """Return an option without a value."""
    return Option(names, is_flag=True, **settings)


if TYPE_CHECKING:
    _Type = click.ParamType[Any]
else:
    # generic since 8.4; a node of the lab has Debian's 8.1
    _Type = click.ParamType


class Integer(_Type):
    """A whole number."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value} is not a valid integer", param, ctx)


class Range(Integer):
    """A whole number between two others."""

    name = "integer range"

    def __init__(self, low: int, high: int | None = None) -> None:
        """Take the bounds; there may be no upper one."""
        self.low = low
        self.high = high

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if self.high is None and number < self.low:
            self.fail(f"{number} is smaller than the minimum valid value {self.low}.", param, ctx)
        if self.high is not None and not self.low <= number <= self.high:
            self.fail(f"{number} is not in the valid range of {self.low} to {self.high}.", param, ctx)
        return number


class Choice(_Type):
    """One of some words."""

    name = "choice"

    def __init__(self, choices: Sequence[str], case_sensitive: bool = True) -> None:
        """Take the words."""
        self.choices = tuple(choices)
        self.case_sensitive = case_sensitive

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return how help names it."""
        return f"[{'|'.join(self.choices)}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word."""
        if value in self.choices:
            return str(value)
        # click 7.0 returns a word in lower case where case does not matter, whatever the choice looks like.
        if self.case_sensitive or value.lower() not in [word.lower() for word in self.choices]:
            self.fail(f"invalid choice: {value}. (choose from {', '.join(self.choices)})", param, ctx)
        return str(value.lower())


class Command(click.Command):
    """A command whose help is printed into its run."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Return the help option with the spellings that no other option has."""
        if self._help is None:
            taken = {name for param in self.params for name in param.opts}
            names = [name for name in ctx.help_option_names if name not in taken]
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
        """Register a function as a command; it gets its run and the values of its parameters. ``text`` is the help."""

        def register(function: Callable[..., None]) -> click.Command:
            made = Command(name, callback=with_run(function), help=text, params=list(params), **settings)
            self.add_command(made)
            return made

        return register

    def branch(self, name: str, text: str, cls: "type[Group] | None" = None, **settings: Any) -> "Group":
        """Add a group below this one."""
        # click 7.0 shows the words also for a group that needs no command.
        settings.setdefault("subcommand_metavar", "COMMAND [ARGS]...")
        made = (cls or type(self))(name, help=text, **settings)
        self.add_command(made)
        return made

    def branching(self, name: str, text: str, *params: click.Parameter, **settings: Any) -> "Register[Group]":
        """Register a function that runs before the commands of a group below this one."""
        return lambda function: self.branch(name, text, params=list(params), callback=with_run(function), **settings)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name or of its beginning."""
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        matches = sorted(name for name in self.commands if name.lower().startswith(cmd_name.lower()))
        if not matches:
            return None
        shortest = min(matches, key=len)
        if len(matches) > 1 and not (self.shortest_wins and all(name.startswith(shortest) for name in matches)):
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
        """Parse; without any word a group shows its help."""
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
        """Tell which commands a module registers, or parts of which."""
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
    """Return a callback that hands a function its run."""
    return lambda **values: function(click.get_current_context().find_root().obj, **values)


def _show_help(ctx: click.Context, param: click.Parameter | None, value: Any) -> None:
    if value:
        ctx.find_root().obj.say(ctx.get_help())
        ctx.exit()


def run(root: click.Command, call: Call) -> Result:
    """Run a command line of a program."""
    if (call.variables or {}).get("SONIC_CLI_IFACE_MODE") == "alias":
        return Result(1, err=f"{call.argv[0]}: ports named by their aliases are not simulated\n")
    made = Run(call)
    settings = {"help_option_names": _HELP_NAMES, **root.context_settings, "obj": made, "terminal_width": _WIDTH}
    status = 0
    try:
        with root.make_context(posixpath.basename(call.argv[0]), call.argv[1:], **settings) as context:
            root.invoke(context)
    except click.UsageError as error:
        made.complain(f"{_usage(error)}Error: {_message(error)}")
        status = error.exit_code
    except click.exceptions.Exit as end:
        status = end.exit_code
    except click.Abort:
        made.complain("Aborted!")
        status = 1
    except ProgramError as error:
        made.err.append(error.traceback())
        status = 1
    return made.result(status)


def _usage(error: click.UsageError) -> str:
    """Return the usage lines before an error, empty for one outside of any command."""
    if error.ctx is None:
        return ""
    usage = f"{error.ctx.get_usage()}\n"
    # An error that was made without a context gets its usage on the way out, but not the command to ask for help.
    if error.cmd:
        usage += f'Try "{error.ctx.command_path} {error.ctx.help_option_names[0]}" for help.\n'
    return f"{usage}\n"


def _message(error: click.UsageError) -> str:
    """Return a usage error in the words of click 7.0."""
    if isinstance(error, click.NoSuchOption):
        return f"no such option: {error.option_name}{_near_options(error)}"
    if isinstance(error, click.BadOptionUsage):
        what = "requires an argument" if "requires" in error.message else "does not take a value"
        return f"{error.option_name} option {what}"
    if isinstance(error, click.MissingParameter) and error.param is not None:
        choices = getattr(error.param.type, "choices", ())
        hint = f"Missing {error.param.param_type_name} {error.param.get_error_hint(error.ctx)}."
        if choices:
            hint += "  Choose from:\n\t" + ",\n\t".join(choices) + "."
        return hint
    return error.format_message()


def _near_options(error: click.NoSuchOption) -> str:
    """Return the hint at options that begin as the unknown one does, empty if there is none."""
    if error.ctx is None:
        return ""
    options = [name for param in error.ctx.command.params for name in param.opts]
    near = sorted(name for name in options if name.startswith("--") and name.startswith(error.option_name))
    if not near:
        return ""
    if len(near) == 1:
        return f"  Did you mean {near[0]}?"
    return f"  (Possible options: {', '.join(near)})"
