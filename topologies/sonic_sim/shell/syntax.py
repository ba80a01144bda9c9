"""Cut a command line into pipelines: quotes, ``;`` ``&&`` ``||`` ``|`` ``&``, and redirections."""

from dataclasses import dataclass, field

_OPERATORS = ("&&", "||", "2>&1", ">&2", "1>&2", "2>>", "2>", "1>", "&>", ">>", ">", "<", ";", "|", "&", "\n")
_REDIRECTIONS = frozenset({"2>>", "2>", "1>", "&>", ">>", ">", "<"})
_JOINS = frozenset({"2>&1", ">&2", "1>&2"})


class ShellSyntaxError(Exception):
    """The line is no shell command; the text is what bash prints."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word: its parts with whether each was quoted (then no expansion), single (``'``) or double (``"``)."""

    parts: tuple[tuple[str, str], ...]

    def raw(self) -> str:
        """Return the text without expansion."""
        return "".join(text for text, _ in self.parts)


@dataclass(slots=True)
class Simple:
    """A command with its redirections: (operator, target)."""

    words: list[Word] = field(default_factory=list)
    redirections: list[tuple[str, Word | None]] = field(default_factory=list)


@dataclass(slots=True)
class Pipeline:
    """Commands joined by ``|``, and how the pipeline is joined to the one before: ``;``, ``&&`` or ``||``."""

    commands: list[Simple]
    join: str
    background: bool = False


def _tokens(line: str) -> list[Word | str]:
    tokens: list[Word | str] = []
    parts: list[tuple[str, str]] = []
    position = 0
    while position < len(line):
        char = line[position]
        if char in " \t":
            _close(parts, tokens)
            position += 1
        elif char in "'\"":
            text, position = _quoted(line, position)
            parts.append((text, char))
        elif char == "\\" and position + 1 < len(line):
            parts.append((line[position + 1], "'"))
            position += 2
        elif char == "#" and not parts:
            position = (line + "\n").index("\n", position)
        else:
            operator = _operator(line, position, bool(parts))
            if operator:
                _close(parts, tokens)
                tokens.append(operator)
                position += len(operator)
            else:
                _plain(parts, char)
                position += 1
    _close(parts, tokens)
    return tokens


def _operator(line: str, position: int, inside_word: bool) -> str:
    for operator in _OPERATORS:
        if line.startswith(operator, position) and not (inside_word and operator[0].isdigit()):
            return operator
    return ""


def _plain(parts: list[tuple[str, str]], char: str) -> None:
    if parts and parts[-1][1] == "":
        parts[-1] = (parts[-1][0] + char, "")
    else:
        parts.append((char, ""))


def _close(parts: list[tuple[str, str]], tokens: list[Word | str]) -> None:
    if parts:
        tokens.append(Word(tuple(parts)))
        parts.clear()


def _quoted(line: str, start: int) -> tuple[str, int]:
    quote, text, position = line[start], "", start + 1
    while position < len(line) and line[position] != quote:
        if quote == '"' and line[position] == "\\" and line[position + 1 : position + 2] in ('"', "\\", "$", "`"):
            position += 1
        text += line[position]
        position += 1
    if position >= len(line):
        raise ShellSyntaxError(f"bash: -c: line 1: unexpected EOF while looking for matching `{quote}'")
    return text, position + 1


def parse(line: str) -> list[Pipeline]:
    """Return the pipelines of a line. Raises ShellSyntaxError."""
    parser = _Parser()
    words = iter(_tokens(line))
    for piece in words:
        if isinstance(piece, Word):
            parser.commands[-1].words.append(piece)
        elif piece in _REDIRECTIONS:
            target = next(words, None)
            if not isinstance(target, Word):
                raise ShellSyntaxError("bash: -c: line 1: syntax error near unexpected token `newline'")
            parser.commands[-1].redirections.append((piece, target))
        elif piece in _JOINS:
            parser.commands[-1].redirections.append((piece, None))
        else:
            parser.operator(piece)
    return parser.end()


class _Parser:
    """Pipelines found so far, and the one that grows."""

    def __init__(self) -> None:
        self.done: list[Pipeline] = []
        self.commands = [Simple()]
        self.join = ";"

    def _is_empty(self) -> bool:
        return not self.commands[-1].words and not self.commands[-1].redirections

    def operator(self, operator: str) -> None:
        """Take an operator between commands."""
        if self._is_empty():
            if operator in (";", "\n") and len(self.commands) == 1:
                return
            raise ShellSyntaxError(f"bash: -c: line 1: syntax error near unexpected token `{operator}'")
        if operator == "|":
            self.commands.append(Simple())
            return
        self.done.append(Pipeline(self.commands, self.join, operator == "&"))
        self.join = ";" if operator in ("&", "\n") else operator
        self.commands = [Simple()]

    def end(self) -> list[Pipeline]:
        """Return all pipelines."""
        if not self._is_empty():
            self.done.append(Pipeline(self.commands, self.join))
        elif len(self.commands) > 1 or (self.done and self.join in ("&&", "||")):
            raise ShellSyntaxError("bash: -c: line 2: syntax error: unexpected end of file")
        return self.done
