"""Cut a command line into pipelines: quotes, substitutions, ``;`` ``&&`` ``||`` ``|`` ``&``, redirections, loops."""

import re
from dataclasses import dataclass, field

DESCRIPTORS = tuple(f"{number}{operator}" for number in range(3, 10) for operator in (">>", ">", "<"))
_OPERATORS = (
    *DESCRIPTORS,
    "&&",
    "||",
    "2>&1",
    ">&2",
    "1>&2",
    "2>>",
    "2>",
    "1>",
    "&>",
    ">>",
    ">",
    "<",
    ";",
    "|",
    "&",
    "(",
    ")",
    "\n",
)
_FIRST = frozenset(operator[0] for operator in _OPERATORS)
# A character that stands for itself, and those after it that do so in any word: most of a line in one step.
_PLAIN = re.compile(r".[^ \t\n'\"\\$#&<>;|()]*", re.DOTALL)
_REDIRECTIONS = frozenset({*DESCRIPTORS, "2>>", "2>", "1>", "&>", ">>", ">", "<"})
_JOINS = frozenset({"2>&1", ">&2", "1>&2"})
_RESERVED = frozenset({"for", "in", "do", "done", "if", "then", "else", "fi"})


class ShellSyntaxError(Exception):
    """A syntax error; the text is bash's message."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word: its parts, each with its quotes: none, ``'`` or ``"``; of a substituted command ``$`` or ``$"``."""

    parts: tuple[tuple[str, str], ...]

    def raw(self) -> str:
        """Return the text without expansion."""
        return "".join(text for text, _ in self.parts)

    def reserved(self) -> str:
        """Return the word if it is reserved in the shell's grammar, else an empty text."""
        # A quoted word is never one.
        is_plain = len(self.parts) == 1 and self.parts[0][1] == ""
        if is_plain and self.raw() in _RESERVED:
            return self.raw()
        return ""


@dataclass(slots=True)
class Simple:
    """A command with its redirections: (operator, target)."""

    words: list[Word] = field(default_factory=list)
    redirections: list[tuple[str, Word | None]] = field(default_factory=list)


@dataclass(slots=True)
class Compound:
    """Lists that run as one command: of a loop over ``words``, of a condition with its branches, or in a subshell."""

    kind: str
    bodies: "list[list[Pipeline]]"
    name: str = ""
    words: list[Word] = field(default_factory=list)
    redirections: list[tuple[str, Word | None]] = field(default_factory=list)


@dataclass(slots=True)
class Pipeline:
    """Commands joined by ``|``, and how the pipeline is joined to the one before: ``;``, ``&&`` or ``||``."""

    commands: list[Simple | Compound]
    join: str
    background: bool = False


def parse(line: str) -> list[Pipeline]:
    """Return the pipelines of a line. Raises ShellSyntaxError."""
    parser = _Parser(_tokens(line))
    pipelines = parser.list()
    if parser.tokens:
        raise _unexpected(parser.tokens[0])
    return pipelines


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
            position = _quoted(line, position, parts)
        elif char == "\\" and position + 1 < len(line):
            parts.append((line[position + 1], "'"))
            position += 2
        elif line.startswith("$(", position):
            position = _substitution(line, position, parts, "$")
        elif char == "#" and not parts:
            position = (line + "\n").index("\n", position)
        elif operator := _operator(line, position, bool(parts)):
            _close(parts, tokens)
            tokens.append(operator)
            position += len(operator)
        elif plain := _PLAIN.match(line, position):
            _plain(parts, plain[0])
            position = plain.end()
    _close(parts, tokens)
    return tokens


def _operator(line: str, position: int, inside_word: bool) -> str:
    if line[position] not in _FIRST:
        return ""
    for operator in _OPERATORS:
        # ``a2>file`` redirects standard output: a number counts only at the beginning of a word.
        if line.startswith(operator, position) and not (inside_word and operator[0].isdigit()):
            return operator
    return ""


def _plain(parts: list[tuple[str, str]], text: str) -> None:
    if parts and parts[-1][1] == "":
        parts[-1] = (parts[-1][0] + text, "")
    else:
        parts.append((text, ""))


def _close(parts: list[tuple[str, str]], tokens: list[Word | str]) -> None:
    if parts:
        tokens.append(Word(tuple(parts)))
        parts.clear()


def _quoted(line: str, start: int, parts: list[tuple[str, str]]) -> int:
    """Read up to the closing quote; return the place behind it."""
    quote = line[start]
    text = ""
    position = start + 1
    while position < len(line) and line[position] != quote:
        if quote == '"' and line.startswith("$(", position):
            parts.append((text, quote))
            text = ""
            position = _substitution(line, position, parts, '$"')
            continue
        # Inside double quotes a backslash stands for itself before anything but these (POSIX 2.2.3).
        if quote == '"' and line[position] == "\\" and line[position + 1 : position + 2] in ('"', "\\", "$", "`"):
            position += 1
        text += line[position]
        position += 1
    if position >= len(line):
        raise _unclosed(quote)
    parts.append((text, quote))
    return position + 1


def _substitution(line: str, start: int, parts: list[tuple[str, str]], kind: str) -> int:
    """Read ``$(…)``; return the place behind it."""
    depth = 1
    position = start + 2
    while position < len(line) and depth:
        depth += {"(": 1, ")": -1}.get(line[position], 0)
        position += 1
    if depth:
        raise _unclosed(")")
    parts.append((line[start + 2 : position - 1], kind))
    return position


def _unclosed(mark: str) -> ShellSyntaxError:
    return ShellSyntaxError(f"bash: -c: line 1: unexpected EOF while looking for matching `{mark}'")


def _unexpected(token: Word | str) -> ShellSyntaxError:
    text = token.raw() if isinstance(token, Word) else token
    if text == "\n":
        text = "newline"
    return ShellSyntaxError(f"bash: -c: line 1: syntax error near unexpected token `{text}'")


class _Parser:
    """A parser by recursive descent over the remaining tokens."""

    def __init__(self, tokens: list[Word | str]) -> None:
        self.tokens = tokens

    def _reserved(self) -> str:
        if self.tokens and isinstance(self.tokens[0], Word):
            return self.tokens[0].reserved()
        return ""

    def _expect(self, wanted: str) -> None:
        if not self.tokens:
            raise ShellSyntaxError("bash: -c: line 2: syntax error: unexpected end of file")
        if wanted not in (self._reserved(), self.tokens[0]):
            raise _unexpected(self.tokens[0])
        self.tokens.pop(0)

    def list(self) -> list[Pipeline]:
        """Return the pipelines up to the end, a closing parenthesis or a word that ends a body."""
        done: list[Pipeline] = []
        join = ";"
        while True:
            while self.tokens and self.tokens[0] in (";", "\n") and join == ";":
                self.tokens.pop(0)
            ended = not self.tokens or self.tokens[:1] == [")"] or self._reserved() not in ("", "for", "if")
            if ended and join == ";":
                return done
            commands = [self._command()]
            while self.tokens and self.tokens[0] == "|":
                self.tokens.pop(0)
                commands.append(self._command())
            operator = self.tokens[0] if self.tokens else "\n"
            done.append(Pipeline(commands, join, operator == "&"))
            if operator not in (";", "&", "&&", "||", "\n"):
                return done
            del self.tokens[:1]
            join = str(operator) if operator in ("&&", "||") else ";"

    def _command(self) -> Simple | Compound:
        if not self.tokens:
            raise ShellSyntaxError("bash: -c: line 2: syntax error: unexpected end of file")
        result: Simple | Compound = self._compound() or Simple()
        while self.tokens:
            token = self.tokens[0]
            if isinstance(token, Word) and isinstance(result, Simple):
                result.words.append(token)
            elif isinstance(token, str) and token in _JOINS:
                result.redirections.append((token, None))
            elif isinstance(token, str) and token in _REDIRECTIONS:
                result.redirections.append((token, self._target()))
            else:
                break
            self.tokens.pop(0)
        if isinstance(result, Simple) and not result.words and not result.redirections:
            raise _unexpected(self.tokens[0])
        return result

    def _target(self) -> Word:
        """Return where a redirection leads; it stays the next token."""
        self.tokens.pop(0)
        target = self.tokens[0] if self.tokens else "\n"
        if not isinstance(target, Word):
            raise _unexpected(target)
        return target

    def _compound(self) -> Compound | None:
        if self.tokens[0] == "(":
            self.tokens.pop(0)
            body = self.list()
            self._expect(")")
            return Compound("(", [body])
        if self._reserved() == "for":
            return self._loop()
        if self._reserved() == "if":
            self.tokens.pop(0)
            bodies = [self.list()]
            self._expect("then")
            bodies.append(self.list())
            if self._reserved() == "else":
                self.tokens.pop(0)
                bodies.append(self.list())
            self._expect("fi")
            return Compound("if", bodies)
        return None

    def _loop(self) -> Compound:
        self.tokens.pop(0)
        name = self.tokens.pop(0) if self.tokens else "\n"
        if not isinstance(name, Word):
            raise _unexpected(name)
        self._expect("in")
        words = []
        while self.tokens and isinstance(self.tokens[0], Word):
            words.append(self.tokens.pop(0))
        del self.tokens[:1]
        self._expect("do")
        body = self.list()
        self._expect("done")
        return Compound("for", [body], name.raw(), [word for word in words if isinstance(word, Word)])
