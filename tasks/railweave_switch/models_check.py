"""Validation of a configuration by the switch's own YANG models, without changing anything.

From 202405 on SONiC checks the file of a reload by its models before it stops a service (sonic-utilities
config/main.py, ``config_file_yang_validation``): one row that fails, or one table without a model, aborts it. Every
``config apply-patch`` checks the whole configuration as well, so a row that was written past the models makes all
later patches and reloads fail. SONiC names only the first failure, so the faulty part is removed and the rest is
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

from railweave_switch.model_messages import UNPARSED, RowFault, Tables, message_words, places_named, reason_of

YANG_MODELS = "/usr/local/yang-models"
MOST = 10
"""Failures that are looked for."""
NO_MODEL = "the table has no YANG model"
TOO_SLOW = "the models could not be loaded and asked in the time that the check may take"
"""The fault of a check that ran out of time."""


_LACKS = re.compile(r"Missing required element|Mandatory node|andatory .*(?:missing|not exist)")
NEEDED = "the row needs this field"
_DANGLING = re.compile(r"""value "([^"]*)" (?:points to a non-existing|in ".*" element|- no target instance)""")

# sonic_yang's whole message where libyang 1 refuses the default of a reference (run).
_UNSAID = "[priority,] message string"


class UnavailableError(Exception):
    """The models cannot be used; the message says why."""


class ModelsChecker(Protocol):
    """The YANG models of a switch."""

    def unmodelled(self, tables: Tables) -> list[str]:
        """Return the tables without a model for which a reload aborts."""

    def failure(self, tables: Tables) -> tuple[str, str]:
        """Return the error of sonic_yang and the output of libyang for the first failure; both empty if all is valid.

        Tables without a model are not checked.
        """


def newly_rejected(
    after: Tables, before: Tables, checker: ModelsChecker, in_time: Callable[[], bool] = lambda: True
) -> list[RowFault]:
    """Return the faults of ``after`` that ``before`` does not have: earlier faults are no reason to refuse a change.

    ``in_time`` tells whether there is time left. Raises UnavailableError if the time ends before all faults of
    ``before``, or any new fault, are found.
    """
    # Most changes are valid, and then the earlier configuration need not be checked.
    if not _faults(after, checker, in_time):
        return []
    # All earlier faults are needed, however many: one that is left out here would count as new.
    earlier_faults = _faults(before, checker, in_time, most=sys.maxsize, whole=True)
    later_faults = _faults(after, checker, in_time, ignored=frozenset(earlier_faults))
    # The same fault may have another message now: that of an invalid number quotes the numbers of other rows. So a
    # fault is also an earlier one if its place was faulty before and its row is unchanged.
    earlier_places = {fault.place for fault in earlier_faults}
    new_faults = []
    for fault in later_faults:
        is_earlier = fault.place in earlier_places and not _is_changed(fault, before, after)
        if not is_earlier:
            new_faults.append(fault)
    return _with_needs(new_faults, after, checker)


def _is_changed(fault: RowFault, before: Tables, after: Tables) -> bool:
    """Tell whether the row of a fault differs from before."""
    return bool(before.get(fault.table, {}).get(fault.key) != after.get(fault.table, {}).get(fault.key))


def rejected(config_db: Tables, checker: ModelsChecker, in_time: Callable[[], bool] = lambda: True) -> list[RowFault]:
    """Return the faults of ``config_db``, as many as the checks find while ``in_time`` returns true.

    Raises UnavailableError if the time ends before any fault is found.
    """
    return _with_needs(_faults(config_db, checker, in_time), config_db, checker)


class _Removed:
    """The parts of a configuration that were removed: keys of rows, fields, and rows that lack a field now."""

    def __init__(self) -> None:
        """Start with nothing removed."""
        self.keys: set[str] = set()
        self.fields: set[str] = set()
        self.cut_rows: set[tuple[str, str]] = set()

    def causes(self, fault: RowFault, rows: Mapping[str, Any]) -> bool:
        """Tell whether a fault of one of ``rows`` is only a consequence of a removal."""
        dangling = _DANGLING.search(fault.reason)
        if dangling:
            return dangling[1] in self.keys
        if fault.reason == _UNSAID:
            # The default that replaces a removed field may refer to a row that does not exist.
            return fault.row in self.cut_rows
        # A `must` of the models compares with a field of another row, and its message names that field.
        removed_fields_named = self.fields.intersection(re.findall(r"\w+", fault.reason))
        return bool(removed_fields_named.difference(rows[fault.key]))


def _faults(
    config_db: Tables,
    checker: ModelsChecker,
    in_time: Callable[[], bool] = lambda: True,
    *,
    ignored: frozenset[RowFault] = frozenset(),
    most: int = MOST,
    whole: bool = False,
) -> list[RowFault]:
    """Return at most ``most`` faults of a configuration besides the ``ignored`` ones.

    Raises UnavailableError if the time ends before a fault is found; with ``whole`` also if it ends before all are.
    """
    search = _Search(config_db, checker)
    while len(search.faults) - len(ignored.intersection(search.faults)) < most:
        if not in_time():
            if whole or ignored.issuperset(search.faults):
                raise UnavailableError(TOO_SLOW)
            break
        if not search.step():
            break
    return [fault for fault in search.faults if fault not in ignored]


class _Search:
    """The search for the faults of a configuration, one failure of the models after the other."""

    def __init__(self, config_db: Tables, checker: ModelsChecker) -> None:
        """Start with the tables that have a model."""
        self.checker = checker
        self.faults = [RowFault(table, "", "", NO_MODEL) for table in checker.unmodelled(config_db)]
        unmodelled = {fault.table for fault in self.faults}
        self.remaining = {table: dict(rows) for table, rows in config_db.items() if table not in unmodelled}
        self.removed = _Removed()

    def step(self) -> bool:
        """Note the next failure of the models and remove the faulty part; return whether the search can continue.

        It ends without a further failure, and after one whose place is unknown.
        """
        message, printed = self.checker.failure(self.remaining)
        if not message:
            return False
        faults = places_named(message, printed, self.remaining)
        if not faults:
            faults = _faulty_row(message, self.remaining, self.checker)
        if not faults:
            # Without a place there is nothing to remove.
            self.faults.append(RowFault("", "", "", message_words(message)))
            return False
        for fault in faults:
            self._note(fault, fits_no_list=UNPARSED.search(message) is not None)
        return True

    def _note(self, fault: RowFault, *, fits_no_list: bool) -> None:
        """Note a fault, and remove its field, or its row if it names no field. If it is noted already, remove the row.

        ``fits_no_list``: the row fits no list of its table's model (``UNPARSED``).
        """
        if self._is_new(fault):
            # A fault that only an earlier removal causes is not one of the configuration.
            if not self.removed.causes(fault, self.remaining[fault.table]):
                self.faults.append(fault)
            self._remove(fault.table, fault.key, fault.field)
            return
        if fits_no_list:
            # It fails without these fields as well, so the row itself is the fault.
            self._replace_fields(fault)
        self._remove(fault.table, fault.key, "")

    def _is_new(self, fault: RowFault) -> bool:
        """Tell whether neither the row nor this field of it is noted."""
        noted_fields = {noted.field for noted in self.faults if noted.row == fault.row}
        if not noted_fields:
            return True
        return fault.field != "" and fault.field not in noted_fields

    def _replace_fields(self, fault: RowFault) -> None:
        """Make the noted faults of fields in the row of a fault faults of the whole row."""
        self.faults = [noted._replace(field="") if noted.row == fault.row else noted for noted in self.faults]

    def _remove(self, table: str, key: str, field: str) -> None:
        """Remove a field of a row, or the row itself."""
        rows = self.remaining[table]
        # A new object each time: a checker may cache results by the identity of a table.
        self.remaining[table] = {name: row for name, row in rows.items() if name != key}
        if field:
            self.removed.fields.add(field)
            self.removed.cut_rows.add((table, key))
            self.remaining[table][key] = {name: value for name, value in rows[key].items() if name != field}
        else:
            self.removed.keys |= {key, *key.split("|")}


def _with_needs(faults: list[RowFault], config_db: Tables, checker: ModelsChecker) -> list[RowFault]:
    """Return the faults with a note on mandatory fields, which cannot simply be removed."""
    explained: list[RowFault] = []
    for fault in faults:
        reason = fault.reason
        if fault.field and _is_mandatory(fault, faults, config_db, checker):
            reason = f"{reason}; {NEEDED}"
        explained.append(fault._replace(reason=reason))
    return explained


def _is_mandatory(fault: RowFault, faults: list[RowFault], config_db: Tables, checker: ModelsChecker) -> bool:
    """Tell whether a row, alone and without its faulty fields, fails because it lacks the field of a fault."""
    faulty_fields = {other.field for other in faults if other.row == fault.row}
    row = config_db[fault.table][fault.key]
    rest = {name: value for name, value in row.items() if name not in faulty_fields}
    message, _ = checker.failure({fault.table: {fault.key: rest}})
    return _LACKS.search(message) is not None and f'"{fault.field}"' in message


def _faulty_row(message: str, tables: Tables, checker: ModelsChecker) -> list[RowFault]:
    """Return the fault of the first row that fails by itself with the same message; empty if no row does.

    It finds the row of a failure whose message names none.
    """
    for table, rows in tables.items():
        table_message, _ = checker.failure({table: rows})
        if table_message != message:
            continue
        for key in rows:
            row_message, _ = checker.failure({table: {key: rows[key]}})
            if row_message == message:
                return [RowFault(table, key, "", reason_of(message))]
        return []
    return []


class SonicYang:
    """The YANG models of this machine, by SONiC's own library; raises UnavailableError if they cannot be loaded.

    ``rule`` is the source of the function by which ``config reload`` of this release checks its file (empty: it does
    not); ``reloads``: only faults for which that reload aborts count.
    """

    def __init__(self, rule: str, *, reloads: bool = False) -> None:
        self._checks = bool(rule) or not reloads
        self._refuses_tables = "tablesWithOutYang" in rule
        if self._checks:
            self._yang = _loaded()

    def unmodelled(self, tables: Tables) -> list[str]:
        """Return the tables without a model; none if the reload of this release accepts them."""
        if not self._refuses_tables:
            return []
        modelled = self._yang.confDbYangMap
        return [table for table in tables if table not in modelled and table != "bgpraw"]

    def failure(self, tables: Tables) -> tuple[str, str]:
        """Load and validate tables as ``config reload`` does; return the error and libyang's output."""
        if not self._checks:
            return "", ""
        message = ""
        with _printed() as lines:
            try:
                self._yang.loadData(configdbJson=copy.deepcopy(tables))
                self._yang.validate_data_tree()
            except Exception as error:
                # sonic_yang raises plain exceptions of many kinds, and a reload aborts for each of them.
                message = str(error) or repr(error)
        return message, "\n".join(line for line in lines if line.startswith("libyang"))


def _loaded() -> Any:
    """Return SONiC's library with all models loaded; raises UnavailableError if that fails or there are none."""
    failure = ""
    yang = None
    with _printed() as lines:
        try:
            yang = importlib.import_module("sonic_yang").SonicYang(YANG_MODELS)
            if yang.loadYangModel() is False:
                failure = "loadYangModel failed"
        except Exception as error:
            # sonic_yang raises plain exceptions of many kinds.
            failure = message_words(str(error) or repr(error))
    if failure:
        first_line = next((f" ({line})" for line in lines if line.startswith("libyang")), "")
        raise UnavailableError(f"sonic_yang does not load {YANG_MODELS}: {failure}{first_line}")
    if yang is None or not yang.confDbYangMap:
        raise UnavailableError(f"there are no models in {YANG_MODELS}")
    return yang


def _rule_of_reload() -> str | None:
    """Return the source of the function by which the release's reload checks a file, empty if it has none.

    None if SONiC's management code is not installed.
    """
    package = importlib.util.find_spec("config")
    if package is None:
        return None
    for folder in package.submodule_search_locations or ():
        with contextlib.suppress(OSError), open(os.path.join(folder, "main.py"), encoding="utf-8") as file:
            rule = re.search(r"^def config_file_yang_validation\(.*?(?=^\S)", file.read(), re.MULTILINE | re.DOTALL)
            if rule is None:
                return ""
            return rule[0]
    return None


@contextlib.contextmanager
def _printed() -> Iterator[list[str]]:
    """Discard what Python prints in the block; after it, the list has the lines that libyang wrote to stderr."""
    # libyang is written in C, so redirecting sys.stderr does not reach it: the descriptor itself is replaced.
    lines: list[str] = []
    stderr = os.dup(2)
    with tempfile.TemporaryFile() as file, contextlib.redirect_stdout(io.StringIO()):
        os.dup2(file.fileno(), 2)
        try:
            yield lines
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
            file.seek(0)
            lines += file.read().decode("utf-8", "replace").splitlines()


def check(text: str, in_time: Callable[[], bool]) -> str:
    """Return the rejected rows as JSON; null on a machine without SONiC's management code.

    If its models cannot be used, return an object with the ``fault``. ``text`` is a JSON object with the tables
    ``after`` a change and those ``before`` it. ``before`` is null if ``after`` is reloaded: a reload aborts for every
    fault. ``in_time`` tells whether there is time left.
    """
    request = json.loads(text)
    rule = _rule_of_reload()
    if rule is None:
        return "null"
    try:
        if request["before"] is None:
            return json.dumps(rejected(request["after"], SonicYang(rule, reloads=True), in_time))
        return json.dumps(newly_rejected(request["after"], request["before"], SonicYang(rule), in_time))
    except UnavailableError as error:
        return json.dumps({"fault": str(error)})
