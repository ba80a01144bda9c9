"""Cut a command line into pipelines: quotes, substitutions, ``;`` ``&&`` ``||`` ``|`` ``&``, redirections, loops."""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

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


class WordPart(NamedTuple):
    """A part of a word: its text and its quotes, none, ``'`` or ``"``; of a substituted command ``$`` or ``$"``."""

    text: str
    quote: str


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a command line."""

    parts: tuple[WordPart, ...]

    def raw(self) -> str:
        """Return the text without expansion."""
        return "".join(part.text for part in self.parts)

    def reserved(self) -> str:
        """Return the word if it is reserved in the shell's grammar, else an empty text."""
        # A quoted word is never one.
        is_plain = len(self.parts) == 1 and self.parts[0].quote == ""
        if is_plain and self.raw() in _RESERVED:
            return self.raw()
        return ""


class Redirection(NamedTuple):
    """A redirection: its operator, and the file that it names, None where it joins two streams."""

    operator: str
    target: Word | None


@dataclass(slots=True)
class Simple:
    """A command with its redirections."""

    words: list[Word] = field(default_factory=list)
    redirections: list[Redirection] = field(default_factory=list)


@dataclass(slots=True)
class Compound:
    """Lists that run as one command: of a loop over ``words``, of a condition with its branches, or in a subshell."""

    kind: str
    bodies: "list[list[Pipeline]]"
    name: str = ""
    words: list[Word] = field(default_factory=list)
    redirections: list[Redirection] = field(default_factory=list)


@dataclass(slots=True)
class Pipeline:
    """Commands joined by ``|``, and how the pipeline is joined to the one before: ``;``, ``&&`` or ``||``."""

    commands: list[Simple | Compound]
    join: str
    background: bool = False


def parse(line: str) -> list[Pipeline]:
    """Return the pipelines of a line. Raises ShellSyntaxError."""
    parser = _Parser(_tokens(line))
    pipelines = parser.pipelines()
    if parser.tokens:
        raise _unexpected(parser.tokens[0])
    return pipelines


def _tokens(line: str) -> list[Word | str]:
    """Return the words and operators of a line."""
    tokens: list[Word | str] = []
    # Of the word that is being read.
    parts: list[WordPart] = []
    position = 0
    while position < len(line):
        char = line[position]
        if char in " \t":
            _close(parts, tokens)
            position += 1
        elif char in "'\"":
            position = _quoted(line, position, parts)
        elif char == "\\" and position + 1 < len(line):
            parts.append(WordPart(line[position + 1], "'"))
            position += 2
        elif line.startswith("$(", position):
            position = _substitution(line, position, parts, "$")
        elif char == "#" and not parts:
            # A comment, up to the end of the line.
            position = (line + "\n").index("\n", position)
        elif operator := _operator(line, position, bool(parts)):
            _close(parts, tokens)
            tokens.append(operator)
            position += len(operator)
        elif plain := _PLAIN.match(line, position):
            _add_plain(parts, plain[0])
            position = plain.end()
    _close(parts, tokens)
    return tokens


def _operator(line: str, position: int, inside_word: bool) -> str:
    """Return the operator at a place of a line, empty for none."""
    if line[position] not in _FIRST:
        return ""
    for operator in _OPERATORS:
        # ``a2>file`` redirects standard output: a number counts only at the beginning of a word.
        if line.startswith(operator, position) and not (inside_word and operator[0].isdigit()):
            return operator
    return ""


def _add_plain(parts: list[WordPart], text: str) -> None:
    """Add unquoted text to a word."""
    if parts and parts[-1].quote == "":
        parts[-1] = WordPart(parts[-1].text + text, "")
    else:
        parts.append(WordPart(text, ""))


def _close(parts: list[WordPart], tokens: list[Word | str]) -> None:
    """End the word that is being read, if there is one."""
    if parts:
        tokens.append(Word(tuple(parts)))
        parts.clear()


def _quoted(line: str, start: int, parts: list[WordPart]) -> int:
    """Read up to the closing quote; return the place behind it. Raises ShellSyntaxError."""
    quote = line[start]
    text = ""
    position = start + 1
    while position < len(line) and line[position] != quote:
        if quote == '"' and line.startswith("$(", position):
            parts.append(WordPart(text, quote))
            text = ""
            position = _substitution(line, position, parts, '$"')
            continue
        # Inside double quotes a backslash stands for itself before anything but these (POSIX 2.2.3).
        is_escape = line[position] == "\\" and line[position + 1 : position + 2] in ('"', "\\", "$", "`")
        if quote == '"' and is_escape:
            position += 1
        text += line[position]
        position += 1
    if position >= len(line):
        raise _unclosed(quote)
    parts.append(WordPart(text, quote))
    return position + 1


def _substitution(line: str, start: int, parts: list[WordPart], quote: str) -> int:
    """Read ``$(…)``; return the place behind it. Raises ShellSyntaxError."""
    depth = 1
    position = start + len("$(")
    while position < len(line) and depth:
        if line[position] == "(":
            depth += 1
        elif line[position] == ")":
            depth -= 1
        position += 1
    if depth:
        raise _unclosed(")")
    inside = line[start + len("$(") : position - len(")")]
    parts.append(WordPart(inside, quote))
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

    def _expect(self, token: str) -> None:
        """Consume the next token if it is this one. Raises ShellSyntaxError."""
        if not self.tokens:
            raise ShellSyntaxError("bash: -c: line 2: syntax error: unexpected end of file")
        if token not in (self._reserved(), self.tokens[0]):
            raise _unexpected(self.tokens[0])
        self.tokens.pop(0)

    def pipelines(self) -> list[Pipeline]:
        """Return the pipelines up to the end, a closing parenthesis or a word that ends a body."""
        pipelines: list[Pipeline] = []
        join = ";"
        while True:
            # After && or || a pipeline must come: neither an end nor a further separator is allowed.
            if join == ";":
                while self.tokens and self.tokens[0] in (";", "\n"):
                    self.tokens.pop(0)
                if self._is_at_end():
                    return pipelines
            commands = self._commands()
            operator = self.tokens[0] if self.tokens else "\n"
            pipelines.append(Pipeline(commands, join, background=operator == "&"))
            if operator not in (";", "&", "&&", "||", "\n"):
                return pipelines
            del self.tokens[:1]
            join = str(operator) if operator in ("&&", "||") else ";"

    def _is_at_end(self) -> bool:
        """Tell whether a list of pipelines ends here."""
        if not self.tokens or self.tokens[0] == ")":
            return True
        # These begin a command, all other reserved words end a body.
        return self._reserved() not in ("", "for", "if")

    def _commands(self) -> list[Simple | Compound]:
        """Return the commands of one pipeline."""
        commands = [self._command()]
        while self.tokens and self.tokens[0] == "|":
            self.tokens.pop(0)
            commands.append(self._command())
        return commands

    def _command(self) -> Simple | Compound:
        """Return the next command with its redirections. Raises ShellSyntaxError."""
        if not self.tokens:
            raise ShellSyntaxError("bash: -c: line 2: syntax error: unexpected end of file")
        command: Simple | Compound = self._compound() or Simple()
        while self.tokens:
            token = self.tokens[0]
            if isinstance(token, Word) and isinstance(command, Simple):
                command.words.append(token)
            elif isinstance(token, str) and token in _JOINS:
                command.redirections.append(Redirection(token, None))
            elif isinstance(token, str) and token in _REDIRECTIONS:
                command.redirections.append(Redirection(token, self._target()))
            else:
                break
            self.tokens.pop(0)
        if isinstance(command, Simple) and not command.words and not command.redirections:
            raise _unexpected(self.tokens[0])
        return command

    def _target(self) -> Word:
        """Return where a redirection leads; it stays the next token."""
        self.tokens.pop(0)
        target = self.tokens[0] if self.tokens else "\n"
        if not isinstance(target, Word):
            raise _unexpected(target)
        return target

    def _compound(self) -> Compound | None:
        """Return the loop, condition or subshell that comes next, None where there is none."""
        if self.tokens[0] == "(":
            self.tokens.pop(0)
            body = self.pipelines()
            self._expect(")")
            return Compound("(", [body])
        if self._reserved() == "for":
            return self._loop()
        if self._reserved() == "if":
            self.tokens.pop(0)
            bodies = [self.pipelines()]
            self._expect("then")
            bodies.append(self.pipelines())
            if self._reserved() == "else":
                self.tokens.pop(0)
                bodies.append(self.pipelines())
            self._expect("fi")
            return Compound("if", bodies)
        return None

    def _loop(self) -> Compound:
        self.tokens.pop(0)
        name = self.tokens.pop(0) if self.tokens else "\n"
        if not isinstance(name, Word):
            raise _unexpected(name)
        self._expect("in")
        words: list[Word] = []
        while self.tokens:
            token = self.tokens[0]
            if not isinstance(token, Word):
                break
            words.append(token)
            self.tokens.pop(0)
        # The separator before ``do``.
        del self.tokens[:1]
        self._expect("do")
        body = self.pipelines()
        self._expect("done")
        return Compound("for", [body], name.raw(), words)
