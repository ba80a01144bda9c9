"""Run command lines on a simulated switch."""

import asyncio
import fnmatch
import posixpath
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sonic_sim.device import Device
from sonic_sim.faults import FaultKind
from sonic_sim.files import canonical, home_of, words_of
from sonic_sim.shell.programs import Call, OpenFile, Result, Wait, find_command
from sonic_sim.shell.streams import Captured, Streams, TextStdin
from sonic_sim.shell.syntax import (
    DESCRIPTORS,
    Compound,
    Pipeline,
    Redirection,
    ShellSyntaxError,
    Simple,
    Word,
    WordPart,
    parse,
)

_VARIABLE = re.compile(r"\$(\?|\w+|\{\w+(?:\[\d+\])?\})")


class SessionDroppedError(Exception):
    """A fault cuts the session here."""


@dataclass(slots=True)
class Shell:
    """A login of one user: directory, variables, last exit status, open files by their numbers from 3 on."""

    device: Device
    user: str = "admin"
    cwd: str = "/home/admin"
    terminal: bool = False
    variables: dict[str, str] = field(default_factory=dict)
    status: int = 0
    tasks: set["asyncio.Task[int]"] = field(default_factory=set)
    when_done: Callable[[], None] | None = None
    opened: dict[str, OpenFile] = field(default_factory=dict)
    jobs: list["asyncio.Task[int]"] = field(default_factory=list)

    def child(self, user: str | None = None) -> "Shell":
        """Return a shell for a command inside this one, perhaps of another user."""
        inner = Shell(self.device, user or self.user, self.cwd, self.terminal, dict(self.variables))
        inner.tasks = self.tasks
        inner.when_done = self.when_done
        # A copy: what a subshell opens or closes stays as it is out here.
        inner.opened = dict(self.opened)
        return inner

    async def run_line(self, line: str, streams: Streams) -> int:
        """Run a command line; return the exit status."""
        try:
            pipelines = parse(line)
        except ShellSyntaxError as error:
            streams.err(f"{error}\n")
            self.status = 2
            return 2
        return await self._list(pipelines, streams)

    async def _list(self, pipelines: list[Pipeline], streams: Streams) -> int:
        for pipeline in pipelines:
            has_failed = self.status != 0
            if pipeline.join == "&&" and has_failed:
                continue
            if pipeline.join == "||" and not has_failed:
                continue
            if pipeline.background:
                self.start(pipeline)
                self.status = 0
            else:
                self.status = await self._pipeline(pipeline, streams)
        return self.status

    def start(self, pipeline: Pipeline) -> None:
        """Run a pipeline in the background, output to nowhere."""
        self.jobs.append(self.spawn(self.child()._pipeline(pipeline, Captured().streams)))

    def spawn(self, work: Coroutine[Any, Any, int]) -> "asyncio.Task[int]":
        """Let something run that outlives this command and the session."""
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: "asyncio.Task[int]") -> None:
        self.tasks.discard(task)
        if self.when_done is not None:
            self.when_done()

    async def _pipeline(self, pipeline: Pipeline, streams: Streams) -> int:
        stdin = streams.stdin
        statuses = []
        # One after the other, each with the whole output of the one before: no command here reads without end.
        for command in pipeline.commands[:-1]:
            captured = Captured(stdin)
            captured.streams.err = streams.err
            statuses.append(await self._command(command, captured.streams))
            stdin = TextStdin(captured.stdout)
        last = Streams(stdin, streams.out, streams.err, terminal=streams.terminal)
        statuses.append(await self._command(pipeline.commands[-1], last))
        self.variables["PIPESTATUS"] = " ".join(map(str, statuses))
        return statuses[-1]

    async def _command(self, command: Simple | Compound, streams: Streams) -> int:
        """Run a command with its redirections; return the exit status."""
        files_before = dict(self.opened)
        redirected = await self._redirect(command.redirections, streams)
        argv: list[str] = []
        status = 0
        try:
            if redirected is None:
                return 1
            if isinstance(command, Compound):
                status = await self._compound(command, redirected.streams)
            else:
                argv = await self._words(command.words)
                if argv:
                    status = await self.execute(argv, redirected.streams)
            for file in redirected.files:
                self._write(file.path, file.texts)
        finally:
            # The redirections of ``exec`` without a command are the shell's from then on.
            if argv != ["exec"]:
                self._close_all_but(files_before)
        return status

    def _write(self, path: str, texts: list[str]) -> None:
        now = self.device.clock.now()
        self.device.files.write(path, "".join(texts).encode(), user=self.user, now=now)

    async def _words(self, words: list[Word]) -> list[str]:
        """Return the expanded words of a command."""
        expanded: list[str] = []
        for word in words:
            expanded += await self._expand(word)
        return expanded

    def _close_all_but(self, kept: dict[str, OpenFile]) -> None:
        for number, file in self.opened.items():
            # A lock taken by ``flock NUMBER`` ends as its file is closed.
            if kept.get(number) is not file and file.holder is not None:
                self.device.locks.release(file.holder)
        self.opened = kept

    async def _compound(self, command: Compound, streams: Streams) -> int:
        if command.kind == "(":
            return await self.child()._list(command.bodies[0], streams)
        if command.kind == "for":
            status = 0
            for text in await self._words(command.words):
                self.variables[command.name] = text
                status = await self._list(command.bodies[0], streams)
            return status
        condition, *branches = command.bodies
        if await self._list(condition, streams) == 0:
            return await self._list(branches[0], streams)
        if len(branches) > 1:
            return await self._list(branches[1], streams)
        return 0

    async def execute(self, argv: list[str], streams: Streams) -> int:
        """Run one command by its words."""
        name, equals, value = argv[0].partition("=")
        if equals and name.isidentifier():
            # Unlike in bash a variable before a command stays: nobody here relies on its end.
            self.variables[name] = value
            if len(argv) == 1:
                return 0
            return await self.execute(argv[1:], streams)
        if argv[0] == "export":
            for word in argv[1:]:
                name, equals, value = word.partition("=")
                if equals:
                    self.variables[name] = value
        command = find_command(argv[0], self.device)
        if command is None:
            streams.err(f"bash: {argv[0]}: command not found\n")
            return 127
        if command.runs is not None:
            return await command.runs(self, argv, streams)
        stdin = await streams.stdin.read() if command.reads_stdin(argv) else ""
        terminal = self.terminal and streams.terminal
        call = Call(
            device=self.device,
            argv=argv,
            stdin=stdin,
            user=self.user,
            cwd=self.cwd,
            terminal=terminal,
            variables=self.variables,
        )
        if command.handler is None:
            return 126
        return await self._finish(command.handler(call), streams)

    async def _finish(self, result: Result, streams: Streams) -> int:
        """Let a program take its time, write its texts, and return its exit status."""
        if result.cwd is not None:
            self.cwd = result.cwd
        try:
            await self._let_pass(result.seconds)
        finally:
            for end in result.ends:
                end()
        if result.out:
            streams.out(result.out)
        if result.err:
            # On a terminal both streams are one, in the order in which they are written.
            write = streams.out if streams.terminal else streams.err
            write(result.err)
        self.device.react()
        return result.exit

    async def _let_pass(self, seconds: float | Wait) -> None:
        """Let the time pass that a program takes, in which others run."""
        if seconds is Wait.FOR_EVER:
            await asyncio.Event().wait()
        elif isinstance(seconds, float) and seconds > 0:
            self.device.busy_s += seconds
            await asyncio.sleep(self.device.clock.real_s(seconds))

    async def _expand(self, word: Word) -> list[str]:
        """Return the words that a word becomes: a substituted command and a pattern of names may make several."""
        text = ""
        has_pattern = False
        for part in word.parts:
            expanded = await self._expand_part(part)
            if part.quote == "":
                has_pattern = has_pattern or any(char in expanded for char in "*?[")
                # A tilde counts only at the beginning of a word.
                if not text and (expanded == "~" or expanded.startswith("~/")):
                    expanded = home_of(self.user) + expanded.removeprefix("~")
            text += expanded
        # Only a substitution that is a word of its own is split into several.
        if len(word.parts) == 1 and word.parts[0].quote == "$":
            return text.split()
        names = self._names(text) if has_pattern else []
        # A pattern that no name matches stands for itself.
        return names or [text]

    async def _expand_part(self, part: WordPart) -> str:
        """Return a part of a word with its variables, or the output of the command that it substitutes."""
        if part.quote == "'":
            return part.text
        if part.quote == '$"':
            return await self._output_of(part.text)
        if part.quote == "$":
            output = await self._output_of(part.text)
            return " ".join(output.split())
        return _VARIABLE.sub(self._value, part.text)

    async def _output_of(self, line: str) -> str:
        """Run a command line in a subshell; return what it writes, without line ends at the end."""
        captured = Captured()
        await self.child().run_line(line, captured.streams)
        return captured.stdout.rstrip("\n")

    def _value(self, match: re.Match[str]) -> str:
        """Return the value of a variable, empty where it is not set."""
        name = match.group(1).strip("{}")
        if name == "?":
            return str(self.status)
        name, bracket, place = name.partition("[")
        if bracket:
            # Of arrays there is PIPESTATUS alone.
            values = self.variables.get(name, "").split()
            number = int(place[:-1])
            return values[number] if number < len(values) else ""
        defaults = {"HOME": home_of(self.user), "USER": self.user, "PWD": self.cwd, "HOSTNAME": self.device.hostname}
        return self.variables.get(name, defaults.get(name, ""))

    def _names(self, pattern: str) -> list[str]:
        """Return the paths that a pattern matches in its last part, without hidden files."""
        folder, last = posixpath.split(pattern)
        absolute_folder = canonical(folder or ".", self.cwd)
        if not self.device.files.is_directory(absolute_folder):
            return []
        names = fnmatch.filter(self.device.files.listing(absolute_folder), last)
        return [posixpath.join(folder, name) for name in names if not name.startswith(".")]

    def _open(self, path: str, operator: str) -> list[str]:
        """Open a file for a redirection; return the texts to which the command adds its own. Raises OSError."""
        files = self.device.files
        reads = operator.endswith("<")
        texts = []
        if reads or (operator.endswith(">>") and files.exists(path)):
            texts.append(files.read(path, self.user).decode())
        if not reads:
            # As in a shell the file is there, and empty, before the command runs.
            self._write(path, texts)
        return texts

    async def _redirect(self, redirections: list[Redirection], streams: Streams) -> "_Redirected | None":
        """Return the streams with the redirections in place, None where a file cannot be opened."""
        result = Streams(streams.stdin, streams.out, streams.err, terminal=streams.terminal)
        written: list[_WrittenFile] = []
        # In their order: ``2>&1 >file`` and ``>file 2>&1`` differ.
        for operator, target in redirections:
            if target is None:
                _join(result, operator)
                continue
            path = canonical((await self._expand(target))[0], self.cwd)
            try:
                if operator == "<":
                    content = self.device.files.read(path, self.user)
                    result.stdin = TextStdin(content.decode(errors="replace"))
                    continue
                texts = self._open(path, operator)
            except OSError as error:
                streams.err(f"bash: {target.raw()}: {words_of(error)}\n")
                return None
            if operator in DESCRIPTORS:
                self.opened[operator[0]] = OpenFile(path)
            else:
                written.append(_WrittenFile(path, texts))
                _send(result, operator, texts.append)
        return _Redirected(result, written)


class _WrittenFile(NamedTuple):
    """A file that a command writes: its path, and the texts so far, of which it consists at the end."""

    path: str
    texts: list[str]


class _Redirected(NamedTuple):
    """The streams of a command with its redirections, and the files to write when it ends."""

    streams: Streams
    files: list[_WrittenFile]


async def run_command(shell: Shell, line: str, streams: Streams) -> int:
    """Run the command of one SSH request, with the faults of the switch. Raises SessionDroppedError."""
    device = shell.device
    slow = device.faults.strike(FaultKind.SLOW, line)
    if slow is not None:
        await asyncio.sleep(slow.seconds)
    drop = device.faults.strike(FaultKind.DROP_SESSION, line)
    if drop is None:
        return await shell.run_line(line, streams)
    if drop.moment == "before":
        raise SessionDroppedError
    device.faults.halfway = drop.moment == "during"
    try:
        await shell.run_line(line, Captured(streams.stdin).streams)
    finally:
        device.faults.halfway = False
    raise SessionDroppedError


def _join(streams: Streams, operator: str) -> None:
    """Let one of the streams go where the other one goes."""
    if operator == "2>&1":
        streams.err = streams.out
    else:
        streams.out = streams.err


def _send(streams: Streams, operator: str, write: Callable[[str], None]) -> None:
    """Let the stream of a redirection, or both, go into a file."""
    if operator.startswith("2"):
        streams.err = write
        return
    streams.out = write
    streams.terminal = False
    if operator == "&>":
        streams.err = write
