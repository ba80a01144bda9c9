"""``config`` and ``show`` are click programs: groups of subcommands with click 7's usage errors and abbreviations."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from sonic_sim.shell.programs import Call, Result


class UsageError(Exception):
    """Wrong usage; ``usage`` is the line before the error."""

    def __init__(self, message: str) -> None:
        """Keep the message."""
        super().__init__(message)
        self.message = message


@dataclass(frozen=True, slots=True)
class Option:
    """An option; ``value`` where it takes one, ``many`` where it may stand more than once."""

    names: tuple[str, ...]
    value: bool = False
    many: bool = False

    @property
    def key(self) -> str:
        """The name under which the parsed value stands."""
        return max(self.names, key=len).lstrip("-").replace("_", "-")


@dataclass(frozen=True, slots=True)
class Argument:
    """A positional argument, named as in the usage line."""

    name: str
    required: bool = True
    many: bool = False


@dataclass(frozen=True, slots=True)
class Parsed:
    """What the words of a leaf command say. ``typed``: the command as typed, for usage lines."""

    call: Call
    typed: str
    usage: str
    values: dict[str, str]
    flags: frozenset[str]
    lists: dict[str, list[str]]

    def fail(self, message: str) -> Result:
        """Return click's usage error: exit 2."""
        return usage_error(self.typed, self.usage, message)


LeafHandler = Callable[[Parsed], Result]


@dataclass(slots=True)
class Leaf:
    """A command at the end of a path."""

    handler: LeafHandler
    usage: str
    arguments: tuple[Argument, ...]
    options: tuple[Option, ...]


@dataclass(slots=True)
class Group:
    """A command with subcommands. ``leaf`` is called where no subcommand follows."""

    children: dict[str, "Group"] = field(default_factory=dict)
    leaf: Leaf | None = None


ROOTS: dict[str, Group] = {"config": Group(), "show": Group()}


def leaf(
    path: str, usage: str = "[OPTIONS]", *, options: tuple[Option, ...] = (), arguments: tuple[Argument, ...] = ()
) -> Callable[[LeafHandler], LeafHandler]:
    """Register a leaf command under its full path (``config interface ip add``)."""

    def register(handler: LeafHandler) -> LeafHandler:
        first, *rest = path.split()
        group = ROOTS[first]
        for word in rest:
            group = group.children.setdefault(word, Group())
        group.leaf = Leaf(handler, usage, arguments, options)
        return handler

    return register


def usage_error(typed: str, usage: str, message: str) -> Result:
    """Return the result of ``ctx.fail`` in click 7."""
    return Result(2, err=f'Usage: {typed} {usage}\nTry "{typed} -h" for help.\n\nError: {message}\n')


def dispatch(root: str, call: Call) -> Result:
    """Run a ``config`` or ``show`` command line."""
    group, typed, words = ROOTS[root], root, call.argv[1:]
    while words and group.children and not words[0].startswith("-"):
        found = _child(group, words[0])
        if found is None:
            if group.leaf is not None:
                break
            return usage_error(typed, "[OPTIONS] COMMAND [ARGS]...", f'No such command "{words[0]}".')
        if isinstance(found, str):
            return usage_error(typed, "[OPTIONS] COMMAND [ARGS]...", found)
        typed, group, words = f"{typed} {words[0]}", found, words[1:]
    if group.leaf is None:
        return _help(typed, group, words)
    return _run(group.leaf, typed, words, call)


def _child(group: Group, word: str) -> Group | str | None:
    if word in group.children:
        return group.children[word]
    matches = sorted(name for name in group.children if name.startswith(word))
    if not matches:
        return None
    if len(matches) > 1:
        return f"Too many matches: {', '.join(matches)}"
    return group.children[matches[0]]


def _help(typed: str, group: Group, words: list[str]) -> Result:
    if words and words[0] not in ("-h", "-?", "--help"):
        return usage_error(typed, "[OPTIONS] COMMAND [ARGS]...", f"no such option: {words[0]}")
    lines = [f"Usage: {typed} [OPTIONS] COMMAND [ARGS]...", "", "Options:"]
    lines += ["  -h, -?, --help  Show this message and exit.", "", "Commands:"]
    lines += [f"  {name}" for name in sorted(group.children)]
    return Result(out="\n".join(lines) + "\n")


def _run(found: Leaf, typed: str, words: list[str], call: Call) -> Result:
    if any(word in ("-h", "-?", "--help") for word in words):
        return Result(out=f"Usage: {typed} {found.usage}\n")
    try:
        return found.handler(_parse(found, typed, words, call))
    except UsageError as error:
        return usage_error(typed, found.usage, error.message)


def _parse(found: Leaf, typed: str, words: list[str], call: Call) -> Parsed:
    values: dict[str, str] = {}
    lists: dict[str, list[str]] = {}
    flags: set[str] = set()
    positional: list[str] = []
    rest = iter(words)
    for word in rest:
        if word.startswith("-") and len(word) > 1:
            _option(found, word, rest, values, lists, flags)
        else:
            positional.append(word)
    _place(found.arguments, positional, values, lists)
    return Parsed(call, typed, found.usage, values, frozenset(flags), lists)


def _option(
    found: Leaf, word: str, rest: Iterator[str], values: dict[str, str], lists: dict[str, list[str]], flags: set[str]
) -> None:
    name, equals, inline = word.partition("=")
    option = next((one for one in found.options if name in one.names), None)
    if option is None:
        raise UsageError(f"no such option: {word}")
    if not option.value:
        flags.add(option.key)
        return
    value = inline if equals else next(rest, None)
    if value is None:
        raise UsageError(f"{word} option requires an argument")
    if option.many:
        lists.setdefault(option.key, []).append(value)
    else:
        values[option.key] = value


def _place(
    arguments: tuple[Argument, ...], positional: list[str], values: dict[str, str], lists: dict[str, list[str]]
) -> None:
    left = list(positional)
    for argument in arguments:
        if argument.many:
            lists[argument.name] = left
            left = []
        elif left:
            values[argument.name] = left.pop(0)
        elif argument.required:
            raise UsageError(f'Missing argument "{argument.name}".')
    if left:
        several = "s" if len(left) > 1 else ""
        raise UsageError(f"Got unexpected extra argument{several} ({' '.join(left)})")
