"""``sonic-db-cli``, ``redis-cli`` and ``sonic-db-dump``: the databases, each program with its own way of printing."""

import fnmatch
import json
from dataclasses import dataclass, field
from typing import Any

from sonic_sim.configdb import to_json
from sonic_sim.databases import NUMBERS
from sonic_sim.redis import LAST_DATABASE, Answer, RedisError, execute, rows_of
from sonic_sim.shell.programs import Call, Result, program

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
# What C++ throws where the program makes a std::string of a missing value.
_NOTHING = "basic_string: construction from null is not valid"
_OF_ALL = ("PING", "SAVE", "FLUSHALL")
# Commands whose number the program prints as True or False, of those here (swss-common, redisreply.cpp).
_YES_OR_NO = ("HEXISTS", "PERSIST", "SETNX")


@program("sonic-db-cli")
def sonic_db_cli(call: Call) -> Result:
    """Run ``sonic-db-cli [-s] [-n NS] DB COMMAND…``."""
    try:
        options = _options(call.argv[1:])
    except ValueError as error:
        return Result(255, _USAGE, f"{error}\n")
    if options.wants_help or not options.words:
        return Result(out=_USAGE)
    database, *command = options.words
    if not command:
        if database not in _OF_ALL:
            return Result(out=_USAGE)
        return _of_all_databases(call, database, options.namespace)
    if options.namespace:
        reason = f"Key :{options.namespace} is not a valid key name in config file"
    elif database not in NUMBERS:
        reason = f"Failed to find {database} database in : key"
    else:
        return _of_one_database(call, NUMBERS[database], command)
    return Result(1, err=f"Invalid database name input : '{database}'\n{reason}\n")


def _of_one_database(call: Call, number: int, words: list[str]) -> Result:
    """Run a command in the database with a number."""
    try:
        answer = execute(call.device, number, words)
    except RedisError as error:
        # swss-common prints the command as it sent it: RESP, its line ends escaped.
        protocol = "".join(f"${len(word.encode())}\\r\\n{word}\\r\\n" for word in words)
        sent = f"*{len(words)}\\r\\n{protocol}"
        why = f"reason: {error}: Input/output error: Input/output error"
        return Result(1, err=f"RedisReply catches system_error: command: {sent}, {why}\n")
    name = words[0].upper()
    if name == "PING":
        answer = answer == "PONG"
    elif name in _YES_OR_NO:
        answer = bool(answer)
    return Result(out=_python_text(answer) + "\n")


_LONG = {"help": "h", "unixsocket": "s", "namespace": "n"}


@dataclass(slots=True)
class _DbCliOptions:
    """A command line of ``sonic-db-cli``: the words that are not options, and what the options say."""

    words: list[str] = field(default_factory=list)
    namespace: str = ""
    wants_help: bool = False


def _options(words: list[str]) -> _DbCliOptions:
    """Return the parsed words of a command line.

    As with getopt_long options may come anywhere. If the last word is an option, the program sees only options. Raises
    ValueError with the program's message.
    """
    options = _DbCliOptions()
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            options.words += rest
            return options
        if word == "-" or not word.startswith("-"):
            options.words.append(word)
            continue
        for letter in _letters(word):
            _take_option(options, letter, rest)
        if not rest:
            options.words = []
    return options


def _take_option(options: _DbCliOptions, letter: str, rest: list[str]) -> None:
    """Set what a short option says in ``options``; its value is taken from the beginning of ``rest``.

    Raises ValueError with the program's message for an unknown option, and for a missing value.
    """
    if letter not in "hsn":
        if not rest:
            raise ValueError(f"Unknown option without value: {_NOTHING}")
        raise ValueError(f"Command Line Error: Unknown argument:{rest[0]}")
    if letter == "h":
        options.wants_help = True
    elif letter == "n":
        if not rest:
            raise ValueError("Command Line Error: namespace value is missing.")
        options.namespace = rest.pop(0)


def _letters(word: str) -> str:
    """Return the letters of the short options in a word, or that of a long option; ``?`` for an unknown long one.

    A long option may be abbreviated.
    """
    if not word.startswith("--"):
        return word[1:]
    name = word[2:].partition("=")[0]
    for option, letter in _LONG.items():
        if option.startswith(name):
            return letter
    return "?"


def _of_all_databases(call: Call, operation: str, namespace: str) -> Result:
    """Run one of the operations that concern all databases: PING, SAVE or FLUSHALL."""
    if namespace:
        words = "".join(f"{word} " for word in call.argv)
        why = f"Key :{namespace} is not a valid key name in config file"
        return Result(1, err=f"An exception of type {why} occurred. Arguments:\n{words}\n")
    if operation == "PING":
        return Result(out="PONG\n")
    if operation == "FLUSHALL":
        for number in NUMBERS.values():
            execute(call.device, number, ["FLUSHDB"])
    return Result(out="OK\n")


@program("redis-cli", "sonic-redis-cli")
def redis_cli(call: Call) -> Result:
    """Run ``redis-cli [-n DB] COMMAND…``."""
    words = call.argv[1:]
    number = 0
    fails_on_errors = False
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option == "-e":
            fails_on_errors = True
        elif option in ("-n", "-s", "-h", "-p"):
            value = words.pop(0) if words else ""
            if option == "-n" and value.isdigit():
                number = int(value)
    if not words:
        return Result()
    warning = ""
    if number > LAST_DATABASE:
        warning = f"SELECT {number} failed: ERR DB index is out of range\n"
    try:
        return Result(out=_plain_text(execute(call.device, number, words)), err=warning)
    except RedisError as error:
        # Redis 7.0 fails with -e alone; otherwise a refusal is an answer like any other.
        return Result(int(fails_on_errors), out=f"{error}\n\n", err=warning)


@program("sonic-db-dump")
def db_dump(call: Call) -> Result:
    """Run ``sonic-db-dump -n DB [-y] [-k PATTERN]`` (sonic-py-common, redisdl's form)."""
    words = call.argv[1:]
    values = {word: words[index + 1] for index, word in enumerate(words[:-1]) if word in ("-n", "-k")}
    database = values.get("-n", "")
    pattern = values.get("-k", "*")
    if database not in NUMBERS:
        return Result(1, err=f"Invalid database name input : '{database}'\n")
    rows = rows_of(call.device, NUMBERS[database], pattern)
    dump: dict[str, Any] = {}
    for key in sorted(rows):
        if fnmatch.fnmatchcase(key, pattern):
            fields = dict(sorted(rows[key].items()))
            dump[key] = {"expireat": call.device.clock.now(), "ttl": -0.001, "type": "hash", "value": fields}
    text = to_json(dump, step="  ") if "-y" in words else json.dumps(dump)
    return Result(out=text + "\n", seconds=0.2)


def _python_text(answer: Answer) -> str:
    """Return an answer as ``sonic-db-cli`` prints it."""
    if isinstance(answer, dict):
        fields = [f"{_in_quotes(name)}: {_in_quotes(value)}" for name, value in answer.items()]
        return "{" + ", ".join(fields) + "}"
    if isinstance(answer, list):
        return "\n".join(answer)
    return "" if answer is None else str(answer)


def _in_quotes(text: str) -> str:
    """Return a text in quotes as ``sonic-db-cli`` prints it."""
    # The tool changes to double quotes for a text with a single one, and escapes nothing.
    return f'"{text}"' if "'" in text else f"'{text}'"


def _plain_text(answer: Answer) -> str:
    """Return an answer as ``redis-cli`` prints it."""
    if isinstance(answer, dict):
        lines = []
        for name, value in answer.items():
            lines += [name, value]
        return "\n".join(lines) + "\n"
    if isinstance(answer, list):
        return "\n".join(answer) + "\n"
    if isinstance(answer, bool):
        return "OK\n"
    if answer is None:
        return "\n"
    return f"{answer}\n"
