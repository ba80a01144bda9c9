"""What the YANG models of a switch refuse of a configuration, found without changing anything.

From 202405 on SONiC checks the file of a reload by its models before it stops a service (sonic-utilities
config/main.py, ``config_file_yang_validation``): one row that fails, or one table without a model, aborts it. Every
``config apply-patch`` checks the whole configuration as well, so a row that was written past the models makes all
later patches and reloads fail. SONiC names the first failure alone, so what is faulty is taken out and the rest is
checked again.
"""

from __future__ import annotations

import contextlib
import copy
import importlib.util
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

YANG_MODELS = "/usr/local/yang-models"
MOST = 10
"""Failures that are looked for."""
NO_MODEL = "the table has no YANG model"
TOO_SLOW = "the models could not be loaded and asked in the time that the check may take"

Tables = Mapping[str, Mapping[str, Any]]
Rejected = tuple[str, str, str, str]
"""Table, key, field and SONiC's words; an empty field is the whole row, an empty key the whole table."""

# libyang 1 prints it in brackets, libyang 3 (202605) says it in the error, with the line where it was still reading.
_PATH = re.compile(
    r"(?:\(path|: Data path): /[^/]+/(?P<table>[^/\[]+)/(?P<form>[^/\[]+)(?P<keys>(?:\[[^=]+='.*?'\])*)(?P<below>/.*?)?"
    r"(?:\)|(?P<reading> \(line \d+\)))?$"
)
_AROUND = re.compile(r"^failed to parse data tree: |\s*: Data path: \S.*$")
_KEY = re.compile(r"\[[^=]+='(.*?)'\]")
_UNPARSED = re.compile(r"All Keys are not parsed in (\S+)\ndict_keys\(\[(.*)\]\)\nexceptionList:(.*)")
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")
_LACKS = re.compile(r"Missing required element|Mandatory node|andatory .*(?:missing|not exist)")
NEEDED = "the row needs this field"
_DANGLING = re.compile(r"""value "([^"]*)" (?:points to a non-existing|in ".*" element|- no target instance)""")

_UNSAID = "[priority,] message string"
"""All that sonic_yang says where libyang 1 refuses the default of a reference (run)."""


class UnavailableError(Exception):
    """The models cannot be asked; the message says why."""


class ModelsChecker(Protocol):
    """The YANG models of a switch."""

    def unmodelled(self, tables: Tables) -> list[str]:
        """Return the tables without a model for which a reload aborts."""

    def failure(self, tables: Tables) -> tuple[str, str]:
        """Return what sonic_yang raises and what libyang prints of the first failure, both empty where there is none.

        Tables without a model are left out.
        """


def newly_rejected(
    after: Tables, before: Tables, checker: ModelsChecker, in_time: Callable[[], bool] = lambda: True
) -> list[Rejected]:
    """Return what the models refuse of ``after`` and not of ``before``: faults of others are no reason to refuse.

    Raises UnavailableError where that is not known in time.
    """
    if not _found(after, checker, in_time):
        return []
    old = _found(before, checker, in_time, most=sys.maxsize, whole=True)
    new = _found(after, checker, in_time, known=frozenset(old))
    # SONiC lists numbers that are none of several rows in one message, which differs with each of them.
    places = {fault[:3] for fault in old}
    return _with_needs(
        [fault for fault in new if fault[:3] not in places or _differs(fault, before, after)], after, checker
    )


def _differs(fault: Rejected, before: Tables, after: Tables) -> bool:
    """Tell whether the row of a fault is another one than before."""
    table, key = fault[:2]
    return bool(before.get(table, {}).get(key) != after.get(table, {}).get(key))


def rejected(config_db: Tables, checker: ModelsChecker, in_time: Callable[[], bool] = lambda: True) -> list[Rejected]:
    """Return what the models refuse of ``config_db``, as far as it is found while ``in_time``.

    Raises UnavailableError where nothing is known in time.
    """
    return _with_needs(_found(config_db, checker, in_time), config_db, checker)


class _Taken:
    """What was taken out: keys of rows, fields, and the rows that lack a field by now.

    What refers to these is not to blame; and the default in the place of a field may name what is not there.
    """

    def __init__(self) -> None:
        """Begin with nothing taken out."""
        self.keys: set[str] = set()
        self.fields: set[str] = set()
        self.cut: set[tuple[str, str]] = set()

    def causes(self, fault: Rejected, rows: Mapping[str, Any]) -> bool:
        """Tell whether a fault of one of ``rows`` is only there because of it."""
        table, key, _, reason = fault
        if dangling := _DANGLING.search(reason):
            return dangling[1] in self.keys
        if reason == _UNSAID:
            return (table, key) in self.cut
        # `must` compares with a field of another row
        return bool(self.fields.intersection(re.findall(r"\w+", reason)).difference(rows[key]))


def _found(
    config_db: Tables,
    checker: ModelsChecker,
    in_time: Callable[[], bool] = lambda: True,
    *,
    known: frozenset[Rejected] = frozenset(),
    most: int = MOST,
    whole: bool = False,
) -> list[Rejected]:
    """Return the same beside ``known``, of ``most`` failures at most; ``whole``: a part of it is of no use."""
    found: list[Rejected] = [(table, "", "", NO_MODEL) for table in checker.unmodelled(config_db)]
    rest = {table: dict(rows) for table, rows in config_db.items() if (table, "", "", NO_MODEL) not in found}
    taken = _Taken()
    while len(found) - len(known.intersection(found)) < most:
        if not in_time():
            _refuse_partial(found, known, whole=whole)
            break
        said, printed = checker.failure(rest)
        if not said:
            break
        places = list(_places(said, printed, rest) or _searched(said, rest, checker))
        for table, key, field, reason in places:
            rows = rest[table]
            named = {one[2] for one in found if one[:2] == (table, key)}
            is_new = not named or (field != "" and field not in named)
            if is_new and not taken.causes((table, key, field, reason), rows):
                found.append((table, key, field, reason))
            elif not is_new and _UNPARSED.search(said):  # without the fields as well: the row fits no list of its table
                found = [(table, key, "", one[3]) if one[:2] == (table, key) else one for one in found]
            # A copy each time: a checker may know tables and rows that are the same objects.
            rest[table] = {name: row for name, row in rows.items() if name != key}
            if is_new and field:
                taken.fields.add(field)
                taken.cut.add((table, key))
                rest[table][key] = {name: value for name, value in rows[key].items() if name != field}
            else:
                taken.keys |= {key, *key.split("|")}
        if not places:
            found.append(("", "", "", _words(said)))
            break
    return [one for one in found if one not in known]


def _refuse_partial(found: list[Rejected], known: frozenset[Rejected], *, whole: bool) -> None:
    """Raise UnavailableError where what was found in time says nothing of the rest."""
    if whole or known.issuperset(found):
        raise UnavailableError(TOO_SLOW)


def _with_needs(found: list[Rejected], config_db: Tables, checker: ModelsChecker) -> list[Rejected]:
    """Return what was found, with a word on the fields that no row may lack: to remove one is no way out."""
    return [(*one[:3], f"{one[3]}; {NEEDED}") if _needs(one, found, config_db, checker) else one for one in found]


def _needs(one: Rejected, found: list[Rejected], config_db: Tables, checker: ModelsChecker) -> bool:
    table, key, field, _ = one
    if not field:
        return False
    taken = {other[2] for other in found if other[:2] == (table, key)}
    row = {name: value for name, value in config_db[table][key].items() if name not in taken}
    said, _ = checker.failure({table: {key: row}})
    return _LACKS.search(said) is not None and f'"{field}"' in said


def _places(said: str, printed: str, tables: Tables) -> list[Rejected]:
    """Return where a failure lies, with what is said of it; none where that is not told."""
    if unparsed := _UNPARSED.search(said):
        table, quoted, reasons = unparsed.groups()
        names = ["".join(parts) for parts in _QUOTED.findall(quoted)]
        words = f"the YANG model of its table has no list or field for it {reasons}".removesuffix(" []")
        # Of a row of a list its key is named, and the field as the text of a KeyError.
        fields = ["".join(parts) for parts in _QUOTED.findall(reasons)]
        return [
            (table, key, _named_field(row, fields) if name == key else name, words)
            for key, row in tables[table].items()
            for name in names
            if name == key or (key not in names and name in row)
        ]
    lines = (printed or said).splitlines()
    place = _PATH.search(lines[-1]) if lines else None
    rows = tables.get(place["table"], {}) if place else {}
    if place is None:
        return []
    # Of an entry that is still being read libyang knows the first keys alone.
    wanted = "|".join(_KEY.findall(place["keys"])) or place["form"]
    keys = [one for one in rows if one == wanted or one.startswith(f"{wanted}|")]
    keys.sort(key=lambda one: one != wanted)
    below = place["below"] or ""
    named = (*re.findall(r"/([^/\[]+)", below), *_KEY.findall(below))
    for key in keys[:1]:
        field = next((name for name in named if name in rows[key]), "")
        if field or len(keys) == 1 or not place["reading"]:
            return [(place["table"], key, field, _AROUND.sub("", _words(said)))]
    return []


def _named_field(row: Mapping[str, Any], reasons: list[str]) -> str:
    """Return the field of a row that is a reason by its name, or is quoted by its value; empty where none is."""
    by_name = next((name for one in reasons if (name := one.strip("'")) in row), "")
    return by_name or next((name for name, value in row.items() if any(f"'{value}'" in one for one in reasons)), "")


def _searched(said: str, tables: Tables, checker: ModelsChecker) -> list[Rejected]:
    """Return the first row that fails by itself with the same words: of some failures nobody tells the place."""
    for table, rows in tables.items():
        if checker.failure({table: rows})[0] == said:
            alone = (key for key in rows if checker.failure({table: {key: rows[key]}})[0] == said)
            return [(table, key, "", _AROUND.sub("", _words(said))) for key in alone][:1]
    return []


_HEADINGS = ("Data Loading Failed", "Failed to validate", "Yang Models Load failed")


def _words(said: str) -> str:
    """Return SONiC's words without the headings of its own."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return " ".join(line for line in lines if not line.startswith(_HEADINGS)) or said


class SonicYang:
    """The models of this machine, by SONiC's own library; raises UnavailableError where they cannot be loaded.

    ``rule`` is the source of the check that the release's reload makes; ``reloads``: only what that refuses counts.
    """

    def __init__(self, rule: str, *, reloads: bool = False) -> None:
        self._checks, self._knows_tables = bool(rule) or not reloads, "tablesWithOutYang" in rule
        if self._checks:
            self._yang = _loaded()

    def unmodelled(self, tables: Tables) -> list[str]:
        """Return the tables that no model is of; none where the reload of this release does not mind."""
        known = self._yang.confDbYangMap if self._knows_tables else tables
        return [table for table in tables if table not in known and table != "bgpraw"]

    def failure(self, tables: Tables) -> tuple[str, str]:
        """Load and validate as the reload does."""
        if not self._checks:
            return "", ""
        said = ""
        with _printed() as lines:
            try:
                self._yang.loadData(configdbJson=copy.deepcopy(tables))
                self._yang.validate_data_tree()
            except Exception as error:  # sonic_yang raises what it likes, and a reload aborts for all of it
                said = str(error) or repr(error)
        return said, "\n".join(line for line in lines if line.startswith("libyang"))


def _loaded() -> Any:
    """Return SONiC's library with all models; raises UnavailableError."""
    said, yang = "", None
    with _printed() as lines:
        try:
            yang = importlib.import_module("sonic_yang").SonicYang(YANG_MODELS)
            if yang.loadYangModel() is False:
                said = "loadYangModel failed"
        except Exception as error:  # it raises what it likes
            said = _words(str(error) or repr(error))
    if said:
        first = next((f" ({line})" for line in lines if line.startswith("libyang")), "")
        raise UnavailableError(f"sonic_yang does not load {YANG_MODELS}: {said}{first}")
    if yang is None or not yang.confDbYangMap:
        raise UnavailableError(f"there are no models in {YANG_MODELS}")
    return yang


def _rule_of_reload() -> str | None:
    """Return the source of the function by which the release's reload checks a file, empty where it has none.

    None where SONiC's management code is not installed.
    """
    folder = importlib.util.find_spec("config")
    for place in (folder and folder.submodule_search_locations) or ():
        with contextlib.suppress(OSError), open(os.path.join(place, "main.py"), encoding="utf-8") as file:
            found = re.search(r"^def config_file_yang_validation\(.*?(?=^\S)", file.read(), re.MULTILINE | re.DOTALL)
            return found[0] if found else ""
    return None


@contextlib.contextmanager
def _printed() -> Iterator[list[str]]:
    """Drop what Python prints; give the lines that libyang, which is C, writes to stderr, once that is over."""
    lines: list[str] = []
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file, contextlib.redirect_stdout(io.StringIO()):
        os.dup2(file.fileno(), 2)
        try:
            yield lines
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            lines += file.read().decode("utf-8", "replace").splitlines()


def check(text: str, in_time: Callable[[], bool]) -> str:
    """Return as JSON what the models refuse, null on a machine without SONiC's management code.

    Where its models cannot be asked, that is an object with the ``fault``.

    ``text`` is a JSON object: the tables ``after``, and those ``before`` a change that is written, or null for those
    of a reload, which aborts for every fault.
    """
    asked = json.loads(text)
    rule = _rule_of_reload()
    if rule is None:
        return "null"
    try:
        if asked["before"] is None:
            return json.dumps(rejected(asked["after"], SonicYang(rule, reloads=True), in_time))
        return json.dumps(newly_rejected(asked["after"], asked["before"], SonicYang(rule), in_time))
    except UnavailableError as error:
        return json.dumps({"fault": str(error)})
