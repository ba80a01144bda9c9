"""Options that several commands share, declared once, and groups of commands."""

from pathlib import Path
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperOption

from railweave import api
from railweave.api.operator import SILENT, Operator
from railweave.cli import completion
from railweave.cli.groups import SubcommandGroup
from railweave.errors import UsageError
from railweave.intent.reference import file_of, names_intent, reference
from railweave.wording import commands_name

IntentArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="INTENT",
        help="Intent file; default: RAILWEAVE_INTENT, else the only file in intent/.",
        autocompletion=completion.intents,
    ),
]
IntentOption = Annotated[
    Path | None, typer.Option("--intent", metavar="FILE", help="Intent file.", autocompletion=completion.intents)
]
AllowLockout = Annotated[
    bool, typer.Option("--allow-lockout", help="Allow changes to who can log in to switches (AAA, ACLs, SSH).")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON; `railweave schema` has the schemas.")]
DiscardNewer = Annotated[
    bool, typer.Option("--discard-newer", help="Deploy even if the switches run a newer or diverged commit.")
]
ExitCode = Annotated[bool, typer.Option("--exit-code", help="Exit with status 2 if there are changes.")]
SwitchLimit = Annotated[
    str,
    typer.Option(
        "--limit",
        "-l",
        metavar="NAMES",
        help="Only these switches: names, patterns or tiers, comma-separated.",
        autocompletion=completion.switches_listed,
    ),
]
Since = Annotated[
    str,
    typer.Option(
        "--since",
        metavar="BASE",
        help="Read only switches whose configuration differs from that of BASE, a git revision or file.",
    ),
]
MaxFailures = Annotated[
    int | None,
    typer.Option("--max-failures", min=1, metavar="N", help="Stop after N failed devices; default: from the target."),
]
Provision = Annotated[bool, typer.Option("--provision", help="Allow devices to be reloaded.")]
From = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="BASE",
        help="Work in phases, starting from BASE: the running intent, as a git revision or file.",
    ),
]
PhaseNumber = Annotated[int | None, typer.Option("--phase", metavar="N", min=1, help="Only this phase (with --from).")]
NodesDone = Annotated[
    bool,
    typer.Option(
        "--nodes-done",
        help="Confirm that all nodes have finished the previous phases and no job uses the old values.",
    ),
]
RemoveConflicting = Annotated[
    bool, typer.Option("--remove-conflicting", help="Remove unmanaged rows that hold a fabric port.")
]
RemoveLive = Annotated[
    bool, typer.Option("--remove-live", help="Shut down ports permanently even if nodes or switches use them.")
]
Renumber = Annotated[
    bool, typer.Option("--renumber", help="Allow changes to existing names, AS numbers and addresses.")
]
SingleStep = Annotated[
    bool, typer.Option("--single-step", help="Deploy in one step a change that needs phases under live traffic.")
]
SkipUnreachable = Annotated[bool, typer.Option("--skip-unreachable", help="Skip devices that do not answer.")]
TargetOption = Annotated[
    str,
    typer.Option(
        "--target",
        "-t",
        envvar="RAILWEAVE_TARGET",
        metavar="TARGET",
        help="The target: inventory/TARGET.yml.",
        autocompletion=completion.targets,
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]

# typer re-exports one subclass of its usage error, not the class itself.
UsageProblem = cast("type[typer.BadParameter]", typer.BadParameter.__mro__[1])


# click shares ``Context.meta`` with extensions: the key names whose it is.
_FABRIC = "railweave.fabric"


def _fabric_option(intent: Any) -> TyperOption:
    """Return ``--fabric``, an option of every command that takes an intent.

    Its type is that of ``intent``, the option ``--intent`` that typer made from a Python parameter.
    """

    def remember_name(ctx: Any, _: Any, name: object) -> None:
        ctx.meta[_FABRIC] = str(name or "")

    return TyperOption(
        param_decls=["--fabric"],
        type_descriptor=intent.type_descriptor,
        metavar="NAME",
        help="Name of the fabric, if the intent has several.",
        expose_value=False,
        callback=remember_name,
    )


class IntentCommand(TyperCommand):
    """A command that takes its intent as an argument too where it declares only ``--intent``, and one of the fabrics of
    a file by ``--fabric``."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        """Add ``--fabric`` to the options of a command that has ``--intent``."""
        super().__init__(*args, **settings)
        if "--intent" in self._options:
            self.params.append(_fabric_option(self._options["--intent"]))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read an argument that names a YAML file as the intent."""
        # click parses a line that a shell completes in this way.
        if ctx.resilient_parsing:
            args = self._without_open_option(args)
        # A command whose own argument is an intent, or a revision of one, reads that argument itself.
        takes_intent = any(parameter.metavar in ("INTENT", "BASE") for parameter in self.params)
        if "--intent" in self._options and not takes_intent:
            args = self._with_intent(list(args), interspersed=ctx.allow_interspersed_args)
        try:
            return super().parse_args(ctx, args)
        except UsageProblem as problem:
            # click does not set the context of an option without its value, and usage.py needs the command.
            problem.ctx = problem.ctx or ctx
            raise

    def _without_open_option(self, args: list[str]) -> list[str]:
        """Return the arguments of a line that is being completed, without a last option that lacks its value.

        The shell completes that value. An option without one would make the parser drop the arguments before it.
        """
        if not args:
            return args
        last = args[-1]
        lacks_value = last in self._options and not self._is_flag(last)
        if lacks_value:
            return args[:-1]
        return args

    def invoke(self, ctx: Any) -> Any:
        """Run the command so that the commands that it suggests name the intent and the target that it was given."""
        self._choose_fabric(ctx)
        intent = str(ctx.params.get("option") or ctx.params.get("intent") or "")
        # The argument `intent` may also be a plan or a rollout.
        if not names_intent(intent):
            intent = ""
        with commands_name(intent, ctx.params.get("target") or ""):
            return super().invoke(ctx)

    def _choose_fabric(self, ctx: Any) -> None:
        """Add the fabric that ``--fabric`` names to the intent that was given, else to the project's."""
        name = ctx.meta.get(_FABRIC)
        if not name:
            return
        # The argument `intent` may also be a plan or a rollout, which have no fabric to choose.
        argument = str(ctx.params.get("intent") or "")
        is_argument = ctx.params.get("option") is None and names_intent(argument)
        parameter = "intent" if is_argument else "option"
        intent = ctx.params[parameter] or api.open_project().intent
        ctx.params[parameter] = reference(intent, name)

    @property
    def _options(self) -> dict[str, Any]:
        """Return the options by each of their names, such as ``--target`` and ``-t``."""
        return {name: option for option in self.params for name in option.opts if name.startswith("-")}

    def _is_flag(self, name: str) -> bool:
        return bool(getattr(self._options[name], "is_flag", False))

    def _with_intent(self, args: list[str], *, interspersed: bool) -> list[str]:
        """Return ``args`` with the first argument that names an intent in front, as the value of ``--intent``.

        Without ``interspersed`` only the first argument can be one: what follows is a command for a switch.
        """
        options = self._options
        index = 0
        while index < len(args):
            argument = args[index]
            if argument == "--":
                break
            is_option = argument.startswith("-")
            if not is_option and names_intent(argument):
                return ["--intent", argument, *args[:index], *args[index + 1 :]]
            if not is_option and not interspersed:
                break
            index += 1
            # The next argument is the value of the option.
            if argument in options and not self._is_flag(argument):
                index += 1
        return args


def intent_or_plan(argument: Path | None) -> tuple[Path | None, Path | None]:
    """Return the intent and the plan's file that an argument names: by its ending one of them, None for the other."""
    if argument is not None and argument.suffix == ".json":
        return None, argument
    return argument, None


def open_compared(option: Path | None, head: str, operator: Operator = SILENT) -> "api.Project":
    """Return the project of a comparison.

    Without ``option`` a file ``head`` is the intent if the project has none, or if it names one of several fabrics.
    """
    file = file_of(Path(head))
    may_be_intent = option is None and file.is_file()
    names_fabric = file != Path(head)
    if may_be_intent and names_fabric:
        return api.open_project(head, operator)
    try:
        return api.open_project(option, operator)
    except UsageError:
        # The project has no intent of its own, or several.
        if may_be_intent:
            return api.open_project(head, operator)
        raise


def group(app: typer.Typer, name: str, purpose: str) -> typer.Typer:
    """Return a new group of commands ``railweave NAME …``."""
    commands = typer.Typer(cls=SubcommandGroup, help=purpose, no_args_is_help=True, rich_markup_mode=None)
    app.add_typer(commands, name=name)
    return commands
