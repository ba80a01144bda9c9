"""``jq``: paths, ``keys``, ``length`` and pipes of them."""

import json
import re
from itertools import chain
from typing import Any

from sonic_sim.commands.filetools import read_for
from sonic_sim.configdb import to_json
from sonic_sim.shell.programs import Call, Result, program

_STEP = re.compile(r"""\.?\[(?:"(?P<quoted>[^"]*)"|(?P<index>-?\d+)|)\]|\.(?P<name>[A-Za-z_]\w*)|\.""")


_OPTION = re.compile(r"-[a-zA-Z]+")


class _JqError(Exception):
    """The program is not one of those that are simulated, or does not fit the document."""


def _operands(argv: list[str]) -> list[str]:
    return [word for word in argv[1:] if not _OPTION.fullmatch(word)]


@program("jq", reads_stdin=lambda argv: len(_operands(argv)) < 2)
def jq(call: Call) -> Result:
    """Run ``jq [-c] [-r] [-S] FILTER [FILE]``."""
    options = [word for word in call.argv[1:] if _OPTION.fullmatch(word)]
    flags = set("".join(options)) - {"-"}
    filters, *names = _operands(call.argv) or ["."]
    text = call.stdin
    if names:
        text, error = read_for(call.device, names[0], call.user, call.cwd)
        if error:
            return Result(2, err=f"jq: error: Could not open {names[0]}: {error}\n")
    try:
        values = [json.loads(text)] if text.strip() else []
        for part in filters.split("|"):
            values = list(chain.from_iterable(_apply(value, part.strip()) for value in values))
    except json.JSONDecodeError as wrong:
        return Result(2, err=f"jq: parse error: {wrong}\n")
    except _JqError as wrong:
        return Result(5, err=f"jq: error (at <stdin>:0): {wrong}\n")
    return Result(out="".join(_shown(value, flags) + "\n" for value in values))


def _shown(value: Any, flags: set[str]) -> str:
    """Return a result as it is printed with the options ``flags``."""
    if "r" in flags and isinstance(value, str):
        return value
    if "c" in flags:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys="S" in flags)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return to_json(value, step="  ")


def _apply(value: Any, text: str) -> list[Any]:
    """Return the results of a filter without pipes. Raises _JqError."""
    if text == "keys":
        return [sorted(value) if isinstance(value, dict) else list(range(len(value)))]
    if text == "length":
        return [0 if value is None else len(value)]
    values = [value]
    position = 0
    while position < len(text):
        step = _STEP.match(text, position)
        if step is None:
            raise _JqError(f"the simulator has no filter {text}")
        values = list(chain.from_iterable(_results_of_step(inner, step) for inner in values))
        position = step.end()
    return values


def _results_of_step(value: Any, step: re.Match[str]) -> list[Any]:
    """Return the results of one step of a path for ``value``. Raises _JqError for a key of what has no keys.

    A step is a key, an index, all members (``[]``) or the value itself (``.``).
    """
    key = step["name"] or step["quoted"]
    if key is not None:
        if not isinstance(value, dict | None):
            raise _JqError(f'Cannot index {type(value).__name__} with "{key}"')
        # null has no keys, which jq answers with null.
        return [(value or {}).get(key)]
    if step["index"]:
        index = int(step["index"])
        is_in_range = -len(value) <= index < len(value)
        return [value[index] if is_in_range else None]
    if step.group().endswith("]"):
        return list(value.values()) if isinstance(value, dict) else list(value)
    return [value]
