"""Filters for the ends of pipes: head, tail, grep, sed, wc, sort, more."""

import re
from dataclasses import dataclass, field

from sonic_sim.commands.filetools import read_for
from sonic_sim.shell.programs import Call, Result, always, program


class _InputError(Exception):
    """A file that cannot be read; the text is the program's message."""


@dataclass(slots=True)
class _Extent:
    """How much ``head`` and ``tail`` print of which files: ``count`` lines, or bytes."""

    count: int
    in_bytes: bool = False
    names: list[str] = field(default_factory=list)


def _extent(call: Call) -> _Extent:
    """Return how much the words of a command line ask for."""
    # Ten lines by default.
    extent = _Extent(10)
    rest = iter(call.argv[1:])
    for word in rest:
        if word in ("-n", "-c"):
            extent.in_bytes = word == "-c"
            extent.count = int(next(rest, "0"))
        elif re.fullmatch(r"-[nc]?\d+", word):
            # ``-20`` is the old form of ``-n 20``, which engineers still type.
            extent.in_bytes = word.startswith("-c")
            extent.count = int(word.lstrip("-nc"))
        else:
            extent.names.append(word)
    return extent


def _input(call: Call, names: list[str]) -> str:
    """Return the text of files, or of standard input if none is named. Raises _InputError."""
    if not names:
        return call.stdin
    texts = []
    for name in names:
        text, error = read_for(call.device, name, call.user, call.cwd)
        if error:
            raise _InputError(f"{call.argv[0]}: {name}: {error}\n")
        texts.append(text)
    return "".join(texts)


@program("head", reads_stdin=lambda argv: not _names(argv))
def head(call: Call) -> Result:
    """Print the beginning."""
    extent = _extent(call)
    try:
        text = _input(call, extent.names)
    except _InputError as error:
        return Result(1, err=str(error))
    if extent.in_bytes:
        return Result(out=text[: extent.count])
    return Result(out="".join(text.splitlines(keepends=True)[: extent.count]))


@program("tail", reads_stdin=lambda argv: not _names(argv))
def tail(call: Call) -> Result:
    """Print the end."""
    extent = _extent(call)
    try:
        text = _input(call, extent.names)
    except _InputError as error:
        return Result(1, err=str(error))
    if extent.in_bytes:
        return Result(out=text[-extent.count :])
    return Result(out="".join(text.splitlines(keepends=True)[-extent.count :]))


def _names(argv: list[str]) -> list[str]:
    """Return the names of files among the words of a command line."""
    names = []
    rest = iter(argv[1:])
    for word in rest:
        if word in ("-n", "-c"):
            # The next word is its value.
            next(rest, "")
        elif not word.startswith("-"):
            names.append(word)
    return names


def _grep_reads(argv: list[str]) -> bool:
    return len(_operands(argv)) < 2


@program("grep", "egrep", "fgrep", reads_stdin=_grep_reads)
def grep(call: Call) -> Result:
    """Print matching lines: ``-c -v -i -q -E -F -o -A N``."""
    options = [word for word in call.argv[1:] if _GREP_FLAGS.fullmatch(word)]
    flags = set("".join(options)) - {"-"}
    words = [word for word in call.argv[1:] if word != "--" and word not in options]
    if not words:
        return Result(2, err="Usage: grep [OPTION]... PATTERNS [FILE]...\n")
    try:
        text = _input(call, words[1:])
    except _InputError as error:
        # 2 is an error; 1 says that no line matched.
        return Result(2, err=str(error))
    pattern = _grep_pattern(words[0], flags)
    lines = [line for line in text.splitlines() if bool(pattern.search(line)) != ("v" in flags)]
    return Result(int(not lines), out=_grep_output(lines, pattern, flags))


def _grep_output(lines: list[str], pattern: re.Pattern[str], flags: set[str]) -> str:
    """Return what grep prints of the matching lines: nothing, their number, what matched, or the lines."""
    if "q" in flags:
        return ""
    if "c" in flags:
        return f"{len(lines)}\n"
    if "o" in flags:
        lines = [match.group() for line in lines for match in pattern.finditer(line)]
    return "".join(line + "\n" for line in lines)


_GREP_FLAGS = re.compile(r"-[cviqEFow]+")


def _grep_pattern(text: str, flags: set[str]) -> re.Pattern[str]:
    """Return a pattern of grep as one of Python; ``flags`` are the letters of its options."""
    # In basic expressions the bar of a choice is the one with a backslash.
    source = re.escape(text) if "F" in flags else text.replace(r"\|", "|")
    return re.compile(source, re.IGNORECASE if "i" in flags else 0)


def _operands(argv: list[str]) -> list[str]:
    return [word for word in argv[1:] if not word.startswith("-")]


_SED = re.compile(
    r"s(?P<mark>[^\w\s])(?P<old>(?:\\.|(?!(?P=mark)).)*)(?P=mark)(?P<new>.*?)(?P=mark)(?P<flags>[gp]*)", re.S
)


@program("sed", reads_stdin=lambda argv: len(_operands(argv)) < 2)
def sed(call: Call) -> Result:
    """Substitute in each line: ``sed [-n] [-E] [-i] s/OLD/NEW/[g][p]``."""
    script, *names = _operands(call.argv) or [""]
    command = _SED.fullmatch(script)
    if command is None:
        return Result(1, err=f"sed: -e expression #1: the simulator only substitutes, not '{script}'\n")
    try:
        if "-i" not in call.argv:
            return Result(out=_substitute(call, command, _input(call, names)))
        for name in names:
            text = _substitute(call, command, _input(call, [name]))
            call.device.files.write(call.path(name), text.encode(), user=call.user, now=call.device.clock.now())
    except _InputError as error:
        return Result(1, err=str(error))
    return Result()


def _substitute(call: Call, command: re.Match[str], text: str) -> str:
    """Return what sed prints of a text; ``command`` is its substitution."""
    old = command["old"].replace("\\" + command["mark"], command["mark"])
    if "-E" not in call.argv:
        # In basic expressions the signs of repetition and grouping are those with a backslash.
        old = re.sub(r"\\?[(){}+?|]", lambda sign: sign[0][1:] or "\\" + sign[0], old)
    new = re.sub(r"(?<!\\)&", r"\\g<0>", command["new"].replace("\\" + command["mark"], command["mark"]))
    prints_all = "-n" not in call.argv
    prints_changed = "p" in command["flags"]
    out = ""
    for line in text.splitlines(keepends=True):
        changed, count = re.subn(old, new, line, count=0 if "g" in command["flags"] else 1)
        if prints_all:
            out += changed
        if prints_changed and count:
            # Without -n a line that ``p`` prints comes twice, as from sed.
            out += changed
    return out


@program("wc", reads_stdin=lambda argv: not _names(argv))
def wc(call: Call) -> Result:
    """Count lines, words and bytes."""
    try:
        text = _input(call, _names(call.argv))
    except _InputError as error:
        return Result(1, err=str(error))
    counts = {"-l": text.count("\n"), "-w": len(text.split()), "-c": len(text.encode())}
    options = [word for word in call.argv[1:] if word in counts]
    # Without an option all three, in this order.
    return Result(out=" ".join(str(counts[option]) for option in options or counts) + "\n")


@program("sort", reads_stdin=lambda argv: not _names(argv))
def sort(call: Call) -> Result:
    """Sort lines."""
    try:
        text = _input(call, _names(call.argv))
    except _InputError as error:
        return Result(1, err=str(error))
    lines = sorted(text.splitlines(), reverse="-r" in call.argv)
    if "-u" in call.argv:
        lines = list(dict.fromkeys(lines))
    return Result(out="".join(line + "\n" for line in lines))


@program("more", "less", reads_stdin=always)
def more(call: Call) -> Result:
    """Print it all: there is no terminal to fill."""
    return Result(out=call.stdin)
