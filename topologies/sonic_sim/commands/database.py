"""``sonic-db-cli`` and ``redis-cli``: single commands to the databases, each with its own way of printing."""

import fnmatch
from collections.abc import Callable

from sonic_sim.configdb import Hash
from sonic_sim.databases import CONFIG, NUMBERS, rows_of_database
from sonic_sim.device import Device
from sonic_sim.shell.programs import Call, Result, program

_USAGE = "usage: sonic-db-cli [-h] [-s] [-n NAMESPACE] db_or_op [cmd [arg ...]]\n"
Answer = str | int | bool | list[str] | Hash | None


@program("sonic-db-cli")
def sonic_db_cli(call: Call) -> Result:
    """Run ``sonic-db-cli [-s] [-n NS] DB COMMAND…``."""
    words = call.argv[1:]
    while words and words[0] in ("-s", "--unixsocket", "-n", "--namespace"):
        words = words[2:] if words[0] in ("-n", "--namespace") else words[1:]
    if not words or words[0] in ("-h", "--help"):
        return Result(out=_USAGE)
    if words[0] in ("PING", "SAVE", "FLUSHALL"):
        return Result(out="PONG\n" if words[0] == "PING" else "OK\n")
    if words[0] not in NUMBERS:
        return Result(1, err=f"Invalid database name input : '{words[0]}'\n")
    if len(words) == 1:
        return Result(0, out=_USAGE)
    answer = _execute(call.device, NUMBERS[words[0]], words[1:])
    if isinstance(answer, Exception):
        return Result(1, err=f"An exception of type RedisError occurred. Arguments:\n('{answer}',)\n")
    return Result(out=_python_text(answer) + "\n")


@program("redis-cli", "sonic-redis-cli")
def redis_cli(call: Call) -> Result:
    """Run ``redis-cli [-n DB] COMMAND…``."""
    words, number = call.argv[1:], 0
    while words and words[0].startswith("-"):
        if words[0] == "-n" and len(words) > 1:
            number = int(words[1]) if words[1].isdigit() else 0
        words = words[2:] if words[0] in ("-n", "-s", "-h", "-p") else words[1:]
    if not words:
        return Result()
    answer = _execute(call.device, number, words)
    if isinstance(answer, Exception):
        return Result(out=f"ERR {answer}\n\n")
    return Result(out=_plain_text(answer))


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


def _execute(device: Device, number: int, words: list[str]) -> Answer | Exception:
    name, arguments = words[0].upper(), words[1:]
    if name == "PING":
        return True
    function = _COMMANDS.get(name)
    if function is None:
        return ValueError(f"unknown command '{words[0]}'")
    try:
        return function(device, number, arguments)
    except IndexError:
        return ValueError(f"wrong number of arguments for '{words[0].lower()}' command")


def _get(device: Device, number: int, arguments: list[str]) -> Answer:
    if number == CONFIG and arguments[0] == "CONFIG_DB_INITIALIZED":
        return "1" if device.initialized else None
    return None


def _row(device: Device, number: int, key: str) -> Hash:
    if number == CONFIG:
        return device.db.rows.get(key, {})
    return rows_of_database(device, number, key).get(key, {})


def _keys(device: Device, number: int, arguments: list[str]) -> Answer:
    pattern = arguments[0]
    rows = device.db.rows if number == CONFIG else rows_of_database(device, number, pattern)
    names = [*rows, "CONFIG_DB_INITIALIZED"] if number == CONFIG and device.initialized else list(rows)
    return [key for key in names if fnmatch.fnmatchcase(key, pattern)]


def _pairs(words: list[str]) -> Hash:
    if not words or len(words) % 2:
        raise IndexError
    return dict(zip(words[::2], words[1::2], strict=True))


def _hset(device: Device, number: int, arguments: list[str]) -> Answer:
    fields = _pairs(arguments[1:])
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
    if len(arguments) < 2:
        raise IndexError
    return device.db.delete_fields(arguments[0], arguments[1:]) if number == CONFIG else 0


def _del(device: Device, number: int, arguments: list[str]) -> Answer:
    if not arguments:
        raise IndexError
    if number == CONFIG:
        return sum(device.db.delete(key) for key in arguments)
    return sum(1 for key in arguments if device.other.get(number, {}).pop(key, None) is not None)


def _type(device: Device, number: int, arguments: list[str]) -> Answer:
    if arguments[0] == "CONFIG_DB_INITIALIZED":
        return "string"
    return "hash" if _row(device, number, arguments[0]) else "none"


_COMMANDS: dict[str, Callable[[Device, int, list[str]], Answer]] = {
    "GET": _get,
    "HGET": lambda device, number, words: _row(device, number, words[0]).get(words[1]),
    "HGETALL": lambda device, number, words: dict(_row(device, number, words[0])),
    "HKEYS": lambda device, number, words: list(_row(device, number, words[0])),
    "HVALS": lambda device, number, words: list(_row(device, number, words[0]).values()),
    "HEXISTS": lambda device, number, words: int(words[1] in _row(device, number, words[0])),
    "HLEN": lambda device, number, words: len(_row(device, number, words[0])),
    "EXISTS": lambda device, number, words: int(bool(_row(device, number, words[0]))),
    "KEYS": _keys,
    "HSET": _hset,
    "HMSET": _hmset,
    "HDEL": _hdel,
    "DEL": _del,
    "TYPE": _type,
    "DBSIZE": lambda device, number, words: len(device.db.rows) if number == CONFIG else 0,
}
