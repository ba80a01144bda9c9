"""``sonic-db-cli``, ``redis-cli`` and ``sonic-db-dump``: the databases, each program with its own way of printing."""

import fnmatch
import json
import re
from collections.abc import Callable

from sonic_sim.configdb import Hash, to_json
from sonic_sim.databases import CONFIG, NUMBERS, rows_of_database
from sonic_sim.device import Device
from sonic_sim.shell.programs import Call, Result, program

_INITIALIZED = "CONFIG_DB_INITIALIZED"
_DATABASES = 23
_USAGE = r"""usage: sonic-db-cli [-h] [-s] [-n NAMESPACE] db_or_op [cmd [cmd ...]]

SONiC DB CLI:

positional arguments:
  db_or_op              Database name Or Unary operation(only PING/SAVE/FLUSHALL supported)
  cmd                   Command to execute in database

optional arguments:
  -h, --help            show this help message and exit
  -s, --unixsocket      Override use of tcp_port and use unixsocket
  -n NAMESPACE, --namespace NAMESPACE
                        Namespace string to use asic0/asic1.../asicn

**sudo** needed for commands accesing a different namespace [-n], or using unixsocket connection [-s]

Example 1: sonic-db-cli -n asic0 CONFIG_DB keys \*
Example 2: sonic-db-cli -n asic2 APPL_DB HGETALL VLAN_TABLE:Vlan10
Example 3: sonic-db-cli APPL_DB HGET VLAN_TABLE:Vlan10 mtu
Example 4: sonic-db-cli -n asic3 APPL_DB EVAL "return {KEYS[1],KEYS[2],ARGV[1],ARGV[2]}" 2 k1 k2 v1 v2
Example 5: sonic-db-cli PING | sonic-db-cli -s PING
Example 6: sonic-db-cli SAVE | sonic-db-cli -s SAVE
Example 7: sonic-db-cli FLUSHALL | sonic-db-cli -s FLUSHALL
"""
_NOTHING = "basic_string: construction from null is not valid"
_OF_ALL = ("PING", "SAVE", "FLUSHALL")
_YES_OR_NO = ("HEXISTS", "PERSIST", "SETNX")
"""Numbers that the program prints as True and False, of the commands here (swss-common, redisreply.cpp)."""
Answer = str | int | bool | list[str] | Hash | None


class RedisError(Exception):
    """Redis refuses a command; the text is its own."""


@program("sonic-db-cli")
def sonic_db_cli(call: Call) -> Result:
    """Run ``sonic-db-cli [-s] [-n NS] DB COMMAND…``."""
    try:
        words, namespace, wants_help = _options(call.argv[1:])
    except ValueError as error:
        return Result(255, _USAGE, f"{error}\n")
    if wants_help or not words or (len(words) == 1 and words[0] not in _OF_ALL):
        return Result(out=_USAGE)
    if len(words) == 1:
        return _of_all_databases(call, words[0], namespace)
    if namespace or words[0] not in NUMBERS:
        no_namespace = f"Key :{namespace} is not a valid key name in config file"
        why = no_namespace if namespace else f"Failed to find {words[0]} database in : key"
        return Result(1, err=f"Invalid database name input : '{words[0]}'\n{why}\n")
    try:
        answer, name = execute(call.device, NUMBERS[words[0]], words[1:]), words[1].upper()
        answer = answer == "PONG" if name == "PING" else bool(answer) if name in _YES_OR_NO else answer
        return Result(out=_python_text(answer) + "\n")
    except RedisError as error:
        protocol = "".join(f"${len(word.encode())}\\r\\n{word}\\r\\n" for word in words[1:])
        sent = f"*{len(words) - 1}\\r\\n{protocol}"
        why = f"reason: {error}: Input/output error: Input/output error"
        return Result(1, err=f"RedisReply catches system_error: command: {sent}, {why}\n")


_LONG = {"help": "h", "unixsocket": "s", "namespace": "n"}


def _options(words: list[str]) -> tuple[list[str], str, bool]:
    """Return words, namespace and whether help is wanted, as getopt_long leaves them: options may stand anywhere.

    Where the last word is one, the program sees no other words. Raises ValueError with its text.
    """
    others: list[str] = []
    namespace, wants_help, rest = "", False, list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return others + rest, namespace, wants_help
        if word == "-" or not word.startswith("-"):
            others.append(word)
            continue
        name = word[2:].partition("=")[0]
        long = [letter for option, letter in _LONG.items() if option.startswith(name)]
        for letter in (long[:1] or "?") if word.startswith("--") else word[1:]:
            if letter not in "hsn":
                text = f"Command Line Error: Unknown argument:{rest[0]}" if rest else ""
                raise ValueError(text or f"Unknown option without value: {_NOTHING}")
            if letter == "n" and not rest:
                raise ValueError("Command Line Error: namespace value is missing.")
            wants_help = wants_help or letter == "h"
            namespace = rest.pop(0) if letter == "n" else namespace
        others = others if rest else []
    return others, namespace, wants_help


def _of_all_databases(call: Call, operation: str, namespace: str) -> Result:
    if namespace:
        words = "".join(f"{word} " for word in call.argv)
        why = f"Key :{namespace} is not a valid key name in config file"
        return Result(1, err=f"An exception of type {why} occurred. Arguments:\n{words}\n")
    for number in NUMBERS.values() if operation == "FLUSHALL" else ():
        _flush(call.device, number, [])
    return Result(out="PONG\n" if operation == "PING" else "OK\n")


@program("redis-cli", "sonic-redis-cli")
def redis_cli(call: Call) -> Result:
    """Run ``redis-cli [-n DB] COMMAND…``."""
    words, number, failing = call.argv[1:], 0, False
    while words and words[0].startswith("-"):
        if words[0] == "-n" and len(words) > 1:
            number = int(words[1]) if words[1].isdigit() else 0
        failing = failing or words[0] == "-e"
        words = words[2:] if words[0] in ("-n", "-s", "-h", "-p") else words[1:]
    if not words:
        return Result()
    warning = f"SELECT {number} failed: ERR DB index is out of range\n" if number > _DATABASES else ""
    try:
        return Result(out=_plain_text(execute(call.device, number, words)), err=warning)
    except RedisError as error:
        # Redis 7.0 fails with -e alone
        return Result(int(failing), out=f"{error}\n\n", err=warning)


@program("sonic-db-dump")
def db_dump(call: Call) -> Result:
    """Run ``sonic-db-dump -n DB [-y] [-k PATTERN]`` (sonic-py-common, redisdl's form)."""
    words = call.argv[1:]
    values = {name: words[place + 1] for place, name in enumerate(words[:-1]) if name in ("-n", "-k")}
    database, pattern = values.get("-n", ""), values.get("-k", "*")
    if database not in NUMBERS:
        return Result(1, err=f"Invalid database name input : '{database}'\n")
    rows = _rows(call.device, NUMBERS[database], pattern)
    dumped = {
        key: {"expireat": call.device.clock.now(), "ttl": -0.001, "type": "hash", "value": dict(sorted(row.items()))}
        for key, row in sorted(rows.items())
        if fnmatch.fnmatchcase(key, pattern)
    }
    text = to_json(dumped, step="  ") if "-y" in words else json.dumps(dumped)
    return Result(out=text + "\n", seconds=0.2)


def _python_text(answer: Answer) -> str:
    if isinstance(answer, dict):
        return "{" + ", ".join(f"{_in_quotes(name)}: {_in_quotes(value)}" for name, value in answer.items()) + "}"
    if isinstance(answer, list):
        return "\n".join(answer)
    return "" if answer is None else str(answer)


def _in_quotes(text: str) -> str:
    # the tool changes to double quotes for a text with a single one, and escapes nothing
    return f'"{text}"' if "'" in text else f"'{text}'"


def _plain_text(answer: Answer) -> str:
    if isinstance(answer, dict):
        answer = [text for pair in answer.items() for text in pair]
    if isinstance(answer, list):
        return "\n".join(answer) + "\n"
    if isinstance(answer, bool):
        return "OK\n"
    return ("" if answer is None else str(answer)) + "\n"


def execute(device: Device, number: int, words: list[str]) -> Answer:
    """Carry out a command of Redis. Raises RedisError."""
    name, arguments = words[0].upper(), words[1:]
    if name not in _COMMANDS:
        shown = "".join(f"'{word}' " for word in arguments)
        raise RedisError(f"ERR unknown command '{words[0]}', with args beginning with: {shown}")
    function, least, kind = _COMMANDS[name]
    odd = name in ("HSET", "HMSET") and len(arguments) % 2 == 0
    if len(arguments) < least or odd or len(arguments) > _MOST.get(name, least):
        raise RedisError(f"ERR wrong number of arguments for '{words[0].lower()}' command")
    if kind and _type(device, number, arguments[:1]) not in (kind, "none"):
        raise RedisError("WRONGTYPE Operation against a key holding the wrong kind of value")
    return function(device, number, arguments)


def _rows(device: Device, number: int, pattern: str = "*") -> dict[str, Hash]:
    return device.db.rows if number == CONFIG else rows_of_database(device, number, pattern)


def _row(device: Device, number: int, key: str) -> Hash:
    return _rows(device, number, key).get(key, {})


def _strings(device: Device, number: int) -> dict[str, str]:
    """Return the plain values of a database; one of CONFIG_DB says that it is filled."""
    filled = {_INITIALIZED: "1"} if number == CONFIG and device.initialized else {}
    return filled | device.plain.get(number, {})


def _set(device: Device, number: int, arguments: list[str]) -> Answer:
    if len(arguments) > 2:
        raise RedisError("ERR syntax error")
    _del(device, number, arguments[:1])
    if number == CONFIG and arguments[0] == _INITIALIZED:
        device.initialized = bool(arguments[1])
    else:
        device.plain.setdefault(number, {})[arguments[0]] = arguments[1]
    return True


def _add(sign: int) -> "_Function":
    def function(device: Device, number: int, arguments: list[str]) -> Answer:
        step = _integer(arguments[1]) if len(arguments) > 1 else 1
        value = _integer(_strings(device, number).get(arguments[0], "0")) + sign * step
        if not _fits(value):
            raise RedisError("ERR increment or decrement would overflow")
        _set(device, number, [arguments[0], str(value)])
        return value

    return function


_OUT_OF_RANGE = "ERR value is not an integer or out of range"


def _integer(text: str, refusal: str = _OUT_OF_RANGE) -> int:
    """Read a number as Redis does: 64 bits, no sign but minus, no space. Raises RedisError."""
    if not re.fullmatch("0|-?[1-9][0-9]*", text) or not _fits(int(text)):
        raise RedisError(refusal)
    return int(text)


def _fits(value: int) -> bool:
    return -(2**63) <= value < 2**63


def _select(device: Device, number: int, arguments: list[str]) -> Answer:
    if not 0 <= _integer(arguments[0], "ERR invalid DB index") <= _DATABASES:
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
    old, new = arguments[:2]
    kind, row, value = _type(device, number, [old]), dict(_row(device, number, old)), _strings(device, number).get(old)
    if kind == "none":
        raise RedisError("ERR no such key")
    _del(device, number, [old, new])
    if value is not None:
        _set(device, number, [new, value])
    else:
        _hset(device, number, [new, *(text for pair in row.items() for text in pair)])
    return True


def _increase_field(device: Device, number: int, arguments: list[str]) -> Answer:
    step = _integer(arguments[2])
    value = (
        _integer(_row(device, number, arguments[0]).get(arguments[1], "0"), "ERR hash value is not an integer") + step
    )
    if not _fits(value):
        raise RedisError("ERR increment or decrement would overflow")
    _hset(device, number, [*arguments[:2], str(value)])
    return value


_GLOB = re.compile(r"\\(.)|\[(\^?)((?:\\.|[^]\\])*)\]?|([*?])|(.)", re.DOTALL)
"""What a pattern of Redis is made of: ``\\x``, ``[^x-y]``, ``*`` and ``?``, any other character."""


def _as_expression(found: re.Match[str]) -> str:
    escaped, negated, characters, wild, plain = found.groups()
    if wild:
        return {"*": ".*", "?": "."}[wild]
    if characters is None:
        return re.escape(escaped or plain)
    inside = re.sub(r"([\[&~|^])", r"\\\1", characters)
    return f"[{negated}{inside}]" if inside else "." if negated else "(?!)"


def _keys(device: Device, number: int, arguments: list[str]) -> list[str]:
    names = [*_rows(device, number, arguments[0].partition("\\")[0] + "*"), *_strings(device, number)]
    wanted = re.compile(_GLOB.sub(_as_expression, arguments[0]), re.DOTALL)
    return [key for key in names if wanted.fullmatch(key)]


def _hset(device: Device, number: int, arguments: list[str]) -> int:
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
    gone = 0
    for key in arguments:
        if key in _strings(device, number):
            if device.plain.get(number, {}).pop(key, None) is None:
                device.initialized = False
            gone += 1
        elif number == CONFIG:
            gone += device.db.delete(key)
        else:
            gone += device.other.get(number, {}).pop(key, None) is not None
    return gone


def _type(device: Device, number: int, arguments: list[str]) -> str:
    if arguments[0] in _strings(device, number):
        return "string"
    return "hash" if _row(device, number, arguments[0]) else "none"


_MANY = 1 << 20
_MOST = dict.fromkeys(("MGET", "HMGET", "UNLINK", "EXISTS", "HSET", "HMSET", "HDEL", "DEL", "SET"), _MANY) | {"PING": 1}
"""The most words that a command takes, where it is more than the least."""
_Function = Callable[[Device, int, list[str]], Answer]
_COMMANDS: dict[str, tuple[_Function, int, str]] = {
    # what does it, the least number of words, the kind of value that the first of them must hold
    "PING": (lambda device, number, words: words[0] if words else "PONG", 0, ""),
    "ECHO": (lambda device, number, words: words[0], 1, ""),
    "GET": (lambda device, number, words: _strings(device, number).get(words[0]), 1, "string"),
    "MGET": (lambda device, number, words: [_strings(device, number).get(word, "") for word in words], 1, ""),
    "SET": (_set, 2, ""),
    "SETNX": (_set_new, 2, ""),
    "INCR": (_add(1), 1, "string"),
    "DECR": (_add(-1), 1, "string"),
    "INCRBY": (_add(1), 2, "string"),
    "DECRBY": (_add(-1), 2, "string"),
    "APPEND": (_append, 2, "string"),
    "STRLEN": (lambda device, number, words: len(_strings(device, number).get(words[0], "")), 1, "string"),
    "RENAME": (_rename, 2, ""),
    "FLUSHDB": (_flush, 0, ""),
    "TTL": (lambda device, number, words: -2 if _type(device, number, words) == "none" else -1, 1, ""),
    "PERSIST": (lambda device, number, words: 0, 1, ""),
    "SELECT": (_select, 1, ""),
    "HMGET": (
        lambda device, number, words: [_row(device, number, words[0]).get(name, "") for name in words[1:]],
        2,
        "hash",
    ),
    "HINCRBY": (_increase_field, 3, "hash"),
    "HSETNX": (
        lambda device, number, words: 0 if words[1] in _row(device, number, words[0]) else _hset(device, number, words),
        3,
        "hash",
    ),
    "HSTRLEN": (lambda device, number, words: len(_row(device, number, words[0]).get(words[1], "")), 2, "hash"),
    "UNLINK": (_del, 1, ""),
    "HGET": (lambda device, number, words: _row(device, number, words[0]).get(words[1]), 2, "hash"),
    "HGETALL": (lambda device, number, words: dict(_row(device, number, words[0])), 1, "hash"),
    "HKEYS": (lambda device, number, words: list(_row(device, number, words[0])), 1, "hash"),
    "HVALS": (lambda device, number, words: list(_row(device, number, words[0]).values()), 1, "hash"),
    "HEXISTS": (lambda device, number, words: int(words[1] in _row(device, number, words[0])), 2, "hash"),
    "HLEN": (lambda device, number, words: len(_row(device, number, words[0])), 1, "hash"),
    "EXISTS": (lambda device, number, words: sum(_type(device, number, [key]) != "none" for key in words), 1, ""),
    "KEYS": (_keys, 1, ""),
    "HSET": (_hset, 3, "hash"),
    "HMSET": (_hmset, 3, "hash"),
    "HDEL": (_hdel, 2, "hash"),
    "DEL": (_del, 1, ""),
    "TYPE": (_type, 1, ""),
    "PUBLISH": (lambda device, number, words: 0, 2, ""),
    "DBSIZE": (lambda device, number, words: len(_rows(device, number)) + len(_strings(device, number)), 0, ""),
}
