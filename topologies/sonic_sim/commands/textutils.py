"""Filters for the ends of pipes: head, tail, grep, sed, wc, sort, more."""

import re

from sonic_sim.commands.filetools import read_for
from sonic_sim.shell.programs import Call, Result, always, program


def _number(call: Call, default: int) -> tuple[str, int, list[str]]:
    """Return (kind, count, files) of ``head`` and ``tail``; the kind is ``-n`` for lines or ``-c`` for bytes."""
    kind = "-n"
    count = default
    names = []
    rest = iter(call.argv[1:])
    for word in rest:
        if word in ("-n", "-c"):
            kind = word
            count = int(next(rest, "0"))
        elif re.fullmatch(r"-[nc]?\d+", word):
            # ``-20`` is the old form of ``-n 20``, which engineers still type.
            kind = "-c" if word[1] == "c" else "-n"
            count = int(word.lstrip("-nc"))
        else:
            names.append(word)
    return kind, count, names


def _input(call: Call, names: list[str]) -> tuple[str, Result | None]:
    if not names:
        return call.stdin, None
    texts = []
    for name in names:
        text, error = read_for(call.device, name, call.user, call.cwd)
        if error:
            return "", Result(1, err=f"{call.argv[0]}: {name}: {error}\n")
        texts.append(text)
    return "".join(texts), None


@program("head", reads_stdin=lambda argv: not _names(argv))
def head(call: Call) -> Result:
    """Print the beginning."""
    kind, count, names = _number(call, 10)
    text, failed = _input(call, names)
    if failed:
        return failed
    if kind == "-c":
        return Result(out=text[:count])
    return Result(out="".join(text.splitlines(keepends=True)[:count]))


@program("tail", reads_stdin=lambda argv: not _names(argv))
def tail(call: Call) -> Result:
    """Print the end."""
    kind, count, names = _number(call, 10)
    text, failed = _input(call, names)
    if failed:
        return failed
    if kind == "-c":
        return Result(out=text[-count:])
    return Result(out="".join(text.splitlines(keepends=True)[-count:]))


def _names(argv: list[str]) -> list[str]:
    names = []
    skip = False
    for word in argv[1:]:
        if skip:
            skip = False
        elif word in ("-n", "-c"):
            skip = True
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
    text, failed = _input(call, words[1:])
    if failed:
        # 2 is an error; 1 says that no line matched.
        return Result(2, err=failed.err)
    pattern = _grep_pattern(words[0], flags)
    lines = [line for line in text.splitlines() if bool(pattern.search(line)) != ("v" in flags)]
    return Result(int(not lines), out=_grep_output(lines, pattern, flags))


def _grep_output(lines: list[str], pattern: re.Pattern[str], flags: set[str]) -> str:
    """Return what is printed of the matching lines: nothing, their number, what matched, or the lines."""
    if "q" in flags:
        return ""
    if "c" in flags:
        return f"{len(lines)}\n"
    if "o" in flags:
        lines = [match.group() for line in lines for match in pattern.finditer(line)]
    return "".join(line + "\n" for line in lines)


_GREP_FLAGS = re.compile(r"-[cviqEFow]+")


def _grep_pattern(text: str, flags: set[str]) -> re.Pattern[str]:
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
    in_place = "-i" in call.argv
    printed = ""
    for group in [[name] for name in names] if in_place else [names]:
        text, failed = _input(call, group)
        if failed:
            return failed
        changed = _substituted(call, command, text)
        if in_place:
            path = call.path(group[0])
            call.device.files.write(path, changed.encode(), user=call.user, now=call.device.clock.now())
        else:
            printed += changed
    return Result(out=printed)


def _substituted(call: Call, command: re.Match[str], text: str) -> str:
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
    text, failed = _input(call, _names(call.argv))
    if failed:
        return failed
    counts = {"-l": text.count("\n"), "-w": len(text.split()), "-c": len(text.encode())}
    asked = [str(counts[word]) for word in call.argv[1:] if word in counts]
    return Result(out=" ".join(asked or [str(value) for value in counts.values()]) + "\n")


@program("sort", reads_stdin=lambda argv: not _names(argv))
def sort(call: Call) -> Result:
    """Sort lines."""
    text, failed = _input(call, _names(call.argv))
    if failed:
        return failed
    lines = sorted(text.splitlines(), reverse="-r" in call.argv)
    if "-u" in call.argv:
        lines = list(dict.fromkeys(lines))
    return Result(out="".join(line + "\n" for line in lines))


@program("more", "less", reads_stdin=always)
def more(call: Call) -> Result:
    """Print it all: there is no terminal to fill."""
    return Result(out=call.stdin)
