"""Redis's commands on the databases of a switch, with Redis's refusals."""

import re
from collections.abc import Callable
from typing import NamedTuple

from sonic_sim.configdb import Hash
from sonic_sim.databases import CONFIG, rows_of_database
from sonic_sim.device import Device

# The value of CONFIG_DB that says that it is filled: every program of SONiC waits for it.
INITIALIZED = "CONFIG_DB_INITIALIZED"
LAST_DATABASE = 23
Answer = str | int | bool | list[str] | Hash | None


class RedisError(Exception):
    """Redis refuses a command; the text is its own."""


def execute(device: Device, number: int, words: list[str]) -> Answer:
    """Carry out a command of Redis. Raises RedisError."""
    name = words[0].upper()
    arguments = words[1:]
    if name not in _COMMANDS:
        shown = "".join(f"'{word}' " for word in arguments)
        raise RedisError(f"ERR unknown command '{words[0]}', with args beginning with: {shown}")
    command = _COMMANDS[name]
    # They take a key, then fields and values in pairs.
    lacks_value = name in ("HSET", "HMSET") and len(arguments) % 2 == 0
    is_count_allowed = command.least <= len(arguments) <= _MOST.get(name, command.least)
    if lacks_value or not is_count_allowed:
        raise RedisError(f"ERR wrong number of arguments for '{words[0].lower()}' command")
    if command.kind and _type(device, number, arguments[:1]) not in (command.kind, "none"):
        raise RedisError("WRONGTYPE Operation against a key holding the wrong kind of value")
    return command.function(device, number, arguments)


def rows_of(device: Device, number: int, pattern: str = "*") -> dict[str, Hash]:
    """Return the hashes of a database by key; of a computed database perhaps only those that a pattern matches."""
    return device.db.rows if number == CONFIG else rows_of_database(device, number, pattern)


def _row(device: Device, number: int, key: str) -> Hash:
    return rows_of(device, number, key).get(key, {})


def _strings(device: Device, number: int) -> dict[str, str]:
    """Return the plain values of a database by key; CONFIG_DB has CONFIG_DB_INITIALIZED once it is filled."""
    filled = {INITIALIZED: "1"} if number == CONFIG and device.initialized else {}
    return filled | device.plain.get(number, {})


def _set(device: Device, number: int, arguments: list[str]) -> Answer:
    if len(arguments) > 2:
        raise RedisError("ERR syntax error")
    _del(device, number, arguments[:1])
    if number == CONFIG and arguments[0] == INITIALIZED:
        device.initialized = bool(arguments[1])
    else:
        device.plain.setdefault(number, {})[arguments[0]] = arguments[1]
    return True


def _add(sign: int) -> "_Function":
    """Return the function of INCR and INCRBY (1), or DECR and DECRBY (-1)."""

    def function(device: Device, number: int, arguments: list[str]) -> Answer:
        key, *steps = arguments
        step = _integer(steps[0]) if steps else 1
        value = _integer(_strings(device, number).get(key, "0")) + sign * step
        if not _fits(value):
            raise RedisError("ERR increment or decrement would overflow")
        _set(device, number, [key, str(value)])
        return value

    return function


_OUT_OF_RANGE = "ERR value is not an integer or out of range"


def _integer(text: str, refusal: str = _OUT_OF_RANGE) -> int:
    """Return a number that is written as Redis reads it: 64 bits, without a plus sign and spaces.

    Raises RedisError with the text ``refusal`` for another text.
    """
    if not re.fullmatch("0|-?[1-9][0-9]*", text) or not _fits(int(text)):
        raise RedisError(refusal)
    return int(text)


def _fits(value: int) -> bool:
    return -(2**63) <= value < 2**63


def _select(device: Device, number: int, arguments: list[str]) -> Answer:
    if not 0 <= _integer(arguments[0], "ERR invalid DB index") <= LAST_DATABASE:
        raise RedisError("ERR DB index is out of range")
    return True


def _append(device: Device, number: int, arguments: list[str]) -> Answer:
    value = _strings(device, number).get(arguments[0], "") + arguments[1]
    _set(device, number, [arguments[0], value])
    return len(value)


def _set_new(device: Device, number: int, arguments: list[str]) -> Answer:
    new = _type(device, number, arguments[:1]) == "none"
    if new:
        _set(device, number, arguments)
    return int(new)


def _flush(device: Device, number: int, arguments: list[str]) -> Answer:
    for key in _keys(device, number, ["*"]):
        _del(device, number, [key])
    return True


def _rename(device: Device, number: int, arguments: list[str]) -> Answer:
    """Give a key another name, which may be in use. Raises RedisError if there is no such key."""
    old, new = arguments
    kind = _type(device, number, [old])
    row = dict(_row(device, number, old))
    value = _strings(device, number).get(old)
    if kind == "none":
        raise RedisError("ERR no such key")
    _del(device, number, [old, new])
    if value is not None:
        _set(device, number, [new, value])
        return True
    key_and_fields = [new]
    for field, text in row.items():
        key_and_fields += (field, text)
    _hset(device, number, key_and_fields)
    return True


def _increase_field(device: Device, number: int, arguments: list[str]) -> Answer:
    key, name, step_text = arguments
    step = _integer(step_text)
    value = _integer(_row(device, number, key).get(name, "0"), "ERR hash value is not an integer") + step
    if not _fits(value):
        raise RedisError("ERR increment or decrement would overflow")
    _hset(device, number, [key, name, str(value)])
    return value


# What a pattern of Redis is made of: ``\x``, ``[^x-y]``, ``*`` and ``?``, any other character.
_GLOB = re.compile(
    r"\\(?P<escaped>.)|\[(?P<negation>\^?)(?P<characters>(?:\\.|[^]\\])*)\]?|(?P<wildcard>[*?])|(?P<plain>.)", re.DOTALL
)


def _as_expression(part: re.Match[str]) -> str:
    """Return a part of a pattern of Redis as a regular expression."""
    if part["wildcard"]:
        return ".*" if part["wildcard"] == "*" else "."
    characters = part["characters"]
    if characters is None:
        return re.escape(part["escaped"] or part["plain"])
    if not characters:
        # Redis takes ``[]`` for nothing and ``[^]`` for any character, where Python would look for a closing bracket.
        return "." if part["negation"] else "(?!)"
    inside = re.sub(r"([\[&~|^])", r"\\\1", characters)
    return f"[{part['negation']}{inside}]"


def _keys(device: Device, number: int, arguments: list[str]) -> list[str]:
    """Return the keys that a pattern of Redis matches."""
    pattern = arguments[0]
    # Databases are computed for simple patterns, so what comes after an escape is left to the expression.
    simple_pattern = pattern.partition("\\")[0] + "*"
    keys = [*rows_of(device, number, simple_pattern), *_strings(device, number)]
    expression = re.compile(_GLOB.sub(_as_expression, pattern), re.DOTALL)
    return [key for key in keys if expression.fullmatch(key)]


def _hset(device: Device, number: int, arguments: list[str]) -> int:
    """Set fields of a hash, given after its key in pairs; return how many are new."""
    fields = dict(zip(arguments[1::2], arguments[2::2], strict=True))
    if number == CONFIG:
        return device.db.set_fields(arguments[0], fields)
    row = device.other.setdefault(number, {}).setdefault(arguments[0], {})
    new = sum(1 for name in fields if name not in row)
    row.update(fields)
    return new


def _hmset(device: Device, number: int, arguments: list[str]) -> Answer:
    _hset(device, number, arguments)
    return True


def _hdel(device: Device, number: int, arguments: list[str]) -> Answer:
    if number == CONFIG:
        return device.db.delete_fields(arguments[0], arguments[1:])
    row = device.other.get(number, {}).get(arguments[0], {})
    return sum(1 for name in arguments[1:] if row.pop(name, None) is not None)


def _del(device: Device, number: int, arguments: list[str]) -> int:
    """Delete keys; return how many of them there were."""
    deleted = 0
    for key in arguments:
        if key in _strings(device, number):
            # CONFIG_DB_INITIALIZED is not among the plain values.
            if device.plain.get(number, {}).pop(key, None) is None:
                device.initialized = False
            deleted += 1
        elif number == CONFIG:
            deleted += device.db.delete(key)
        elif device.other.get(number, {}).pop(key, None) is not None:
            deleted += 1
    return deleted


def _type(device: Device, number: int, arguments: list[str]) -> str:
    if arguments[0] in _strings(device, number):
        return "string"
    return "hash" if _row(device, number, arguments[0]) else "none"


def _hsetnx(device: Device, number: int, arguments: list[str]) -> Answer:
    if arguments[1] in _row(device, number, arguments[0]):
        return 0
    return _hset(device, number, arguments)


_MANY = 1 << 20
# The most words that a command takes, where it is more than the least.
_MOST = dict.fromkeys(("MGET", "HMGET", "UNLINK", "EXISTS", "HSET", "HMSET", "HDEL", "DEL", "SET"), _MANY) | {"PING": 1}
_Function = Callable[[Device, int, list[str]], Answer]


class _RedisCommand(NamedTuple):
    """A command: its function, its least number of arguments, and the type of the first one's value if it matters."""

    function: _Function
    least: int
    kind: str


_COMMANDS: dict[str, _RedisCommand] = {
    "PING": _RedisCommand(lambda device, number, words: words[0] if words else "PONG", 0, ""),
    "ECHO": _RedisCommand(lambda device, number, words: words[0], 1, ""),
    "GET": _RedisCommand(lambda device, number, words: _strings(device, number).get(words[0]), 1, "string"),
    "MGET": _RedisCommand(
        lambda device, number, words: [_strings(device, number).get(word, "") for word in words], 1, ""
    ),
    "SET": _RedisCommand(_set, 2, ""),
    "SETNX": _RedisCommand(_set_new, 2, ""),
    "INCR": _RedisCommand(_add(1), 1, "string"),
    "DECR": _RedisCommand(_add(-1), 1, "string"),
    "INCRBY": _RedisCommand(_add(1), 2, "string"),
    "DECRBY": _RedisCommand(_add(-1), 2, "string"),
    "APPEND": _RedisCommand(_append, 2, "string"),
    "STRLEN": _RedisCommand(lambda device, number, words: len(_strings(device, number).get(words[0], "")), 1, "string"),
    "RENAME": _RedisCommand(_rename, 2, ""),
    "FLUSHDB": _RedisCommand(_flush, 0, ""),
    "TTL": _RedisCommand(lambda device, number, words: -2 if _type(device, number, words) == "none" else -1, 1, ""),
    "PERSIST": _RedisCommand(lambda device, number, words: 0, 1, ""),
    "SELECT": _RedisCommand(_select, 1, ""),
    "HMGET": _RedisCommand(
        lambda device, number, words: [_row(device, number, words[0]).get(name, "") for name in words[1:]],
        2,
        "hash",
    ),
    "HINCRBY": _RedisCommand(_increase_field, 3, "hash"),
    "HSETNX": _RedisCommand(_hsetnx, 3, "hash"),
    "HSTRLEN": _RedisCommand(
        lambda device, number, words: len(_row(device, number, words[0]).get(words[1], "")), 2, "hash"
    ),
    "UNLINK": _RedisCommand(_del, 1, ""),
    "HGET": _RedisCommand(lambda device, number, words: _row(device, number, words[0]).get(words[1]), 2, "hash"),
    "HGETALL": _RedisCommand(lambda device, number, words: dict(_row(device, number, words[0])), 1, "hash"),
    "HKEYS": _RedisCommand(lambda device, number, words: list(_row(device, number, words[0])), 1, "hash"),
    "HVALS": _RedisCommand(lambda device, number, words: list(_row(device, number, words[0]).values()), 1, "hash"),
    "HEXISTS": _RedisCommand(lambda device, number, words: int(words[1] in _row(device, number, words[0])), 2, "hash"),
    "HLEN": _RedisCommand(lambda device, number, words: len(_row(device, number, words[0])), 1, "hash"),
    "EXISTS": _RedisCommand(
        lambda device, number, words: sum(_type(device, number, [key]) != "none" for key in words), 1, ""
    ),
    "KEYS": _RedisCommand(_keys, 1, ""),
    "HSET": _RedisCommand(_hset, 3, "hash"),
    "HMSET": _RedisCommand(_hmset, 3, "hash"),
    "HDEL": _RedisCommand(_hdel, 2, "hash"),
    "DEL": _RedisCommand(_del, 1, ""),
    "TYPE": _RedisCommand(_type, 1, ""),
    "PUBLISH": _RedisCommand(lambda device, number, words: 0, 2, ""),
    "DBSIZE": _RedisCommand(
        lambda device, number, words: len(rows_of(device, number)) + len(_strings(device, number)), 0, ""
    ),
}
