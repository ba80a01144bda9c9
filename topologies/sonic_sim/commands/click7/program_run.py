"""One run of a program of SONiC: what a command prints into, and how it ends."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

import click

from sonic_sim.configdb import ConfigDb
from sonic_sim.device import Device
from sonic_sim.shell.programs import Call, Result, Wait


@dataclass(slots=True)
class Run:
    """One run of a program."""

    call: Call
    # The output so far.
    out: list[str] = field(default_factory=list)
    err: list[str] = field(default_factory=list)
    # How long the run takes.
    seconds: float | Wait = 0.0
    # Called after these seconds; they release what the run holds meanwhile.
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
        """Ask a question, and abort the run unless the answer is yes."""
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
