"""The list of commands: in groups, with summaries that fit a line, and what other tools call them."""

from collections.abc import Mapping
from typing import Any

from typer.core import TyperGroup

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Design": (
        *("init", "size", "check", "explain", "render", "diff", "phases"),
        *("bom", "compare", "failures", "draw", "report", "export", "telemetry"),
    ),
    "Change": ("plan", "rehearse", "deploy", "rollout", "rollback"),
    "Operate": (
        *("status", "verify", "health", "exporter", "drift", "drain", "undrain", "links", "replace", "retire"),
        *("acceptance", "recover", "hosts", "facts", "audit"),
    ),
    "Access": ("trust", "worker"),
    "Try": ("sim", "lab", "selftest"),
    "Reference": ("models", "schema", "codes"),
}
"""The commands of ``railweave --help`` by group, in the order of work."""

_COMMANDS_OF_OTHER_TOOLS = {
    "apply": "`railweave deploy`",
    "backup": "`railweave facts collect`",
    "build": "`railweave render`",
    "commit": "`railweave deploy`",
    "destroy": "`railweave sim down` or `railweave lab down`",
    "down": "`railweave sim down` or `railweave lab down`",
    "dry-run": "`railweave plan`",
    "fmt": "`railweave check`",
    "generate": "`railweave render`",
    "graph": "`railweave draw`",
    "help": "`railweave --help`",
    "history": "`railweave rollout list` or `railweave audit`",
    "lint": "`railweave check`",
    "login": "`railweave trust`",
    "output": "`railweave size --json`",
    "providers": "`railweave models`",
    "refresh": "`railweave drift`",
    "resume": "`railweave deploy --resume`",
    "revert": "`railweave rollback`",
    "run": "`railweave deploy`",
    "show": "`railweave status`, `railweave rollout show` or `railweave explain`",
    "state": "`railweave status`",
    "simulate": "`railweave rehearse`",
    "stop": "`railweave rollout abort`",
    "test": "`railweave rehearse` or `railweave verify`",
    "undo": "`railweave rollback`",
    "up": "`railweave sim up` or `railweave lab up`",
    "validate": "`railweave check`",
    "version": "`railweave --version`",
}
"""Words of Terraform, Ansible and other tools, and the command that does the same here."""

_IN_GROUPS = {
    "deploy": "up",
    "start": "up",
    "destroy": "down",
    "stop": "down",
    "inspect": "status",
}
"""Words of Containerlab and other tools, and the command of ``sim`` or ``lab`` that does the same."""

_DRY_RUNS = {"deploy": "`railweave plan`", "apply": "`railweave hosts plan`", "rehearse": "`railweave plan`"}
"""The dry run of a command that changes something."""

_OPTIONS_OF_OTHER_TOOLS = {
    "--auto-approve": "--yes",
    "--detailed-exitcode": "--exit-code",
    "--extra-vars": "the intent file",
    "--inventory": "--target",
    "--inventory-file": "--target",
    "--output": "--json",
    "--format": "--json",
    "--verbose": "RAILWEAVE_DEBUG=1",
}
_DRY_RUN_OPTIONS = ("--dry-run", "--check", "--diff", "--noop")


class CommandGroup(TyperGroup):
    """The group of all commands: lists them by section, and knows what other tools call them."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands section by section, all names in one column."""
        width = max(map(len, self.commands))
        # click too leaves 6 columns for the indent and the gaps.
        summary_width = formatter.width - width - 6
        for section, names in SECTIONS.items():
            present = [name for name in names if name in self.commands]
            rows = [(f"{name:{width}}", self.commands[name].get_short_help_str(summary_width)) for name in present]
            if rows:
                with formatter.section(section):
                    formatter.write_dl(rows)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first word names; a word of another tool ends with the command of ours."""
        word = args[0]
        if word not in self.commands and word in _COMMANDS_OF_OTHER_TOOLS:
            ctx.fail(f"No such command {word!r}. Did you mean {_COMMANDS_OF_OTHER_TOOLS[word]}?")
        return super().resolve_command(ctx, args)


class SubcommandGroup(TyperGroup):
    """A group of commands below ``railweave``, such as ``railweave lab …``."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first word names; a word of another tool ends with the command of ours."""
        word = args[0]
        own_command = _IN_GROUPS.get(word, "")
        if word not in self.commands and own_command in self.commands:
            ctx.fail(f"No such command {word!r}. Did you mean {own_command!r}?")
        return super().resolve_command(ctx, args)


class LinksGroup(SubcommandGroup):
    """``railweave links …``, where `show` may be left out: ``railweave links [INTENT]``."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Put `show` before the words if none of them is a command."""
        if not any(word in self.commands or word in ctx.help_option_names for word in args):
            args = ["show", *args]
        return super().parse_args(ctx, args)


def option_hint(command: str, option: str, accepted: set[str]) -> str:
    """Return a sentence on what to use for an option of another tool, empty where nothing does the same.

    Args:
        command: The name of the command, such as ``deploy``.
        option: The unknown option, such as ``--dry-run``.
        accepted: The names of the options that the command has.

    """
    is_dry_run = option in _DRY_RUN_OPTIONS
    if is_dry_run and command == "plan":
        return "Omit it: `plan` changes nothing."
    if is_dry_run:
        replacement = _DRY_RUNS.get(command, "")
    else:
        replacement = _OPTIONS_OF_OTHER_TOOLS.get(option, "")
    lacks_option = replacement.startswith("--") and replacement not in accepted
    if not replacement or lacks_option:
        return ""
    return f"Did you mean {replacement}?"
