"""Reading an intent file: an ``Intent``, or all of the file's errors at once.

If the file has several fabrics, all are read; the named one is returned, with the others in ``Intent.others``.
"""

import hashlib
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.diagnostics import Diagnostic, Where, error
from railweave.errors import RailweaveError, RefusedError, UsageError
from railweave.intent.as_built import CODE, MOST_BYTES, read_as_built
from railweave.intent.fabrics import group_order, split_fabrics
from railweave.intent.positions import MAX_BYTES, Document, Value, decode, read_document
from railweave.intent.reference import split_reference
from railweave.wording import nearest

if TYPE_CHECKING:
    from railweave.intent.fabrics import Groups
    from railweave.intent.model import Intent, Nodes

Beside = Callable[[str], tuple[str, bytes]]
"""Reads a file beside an intent and returns its name for people and its bytes; raises RailweaveError."""


def load_intent(path: Path) -> "Intent":
    """Return the intent in the file at ``path``, which may name one of several fabrics (``FILE.yml#NAME``).

    Raises RefusedError with all errors of the file, and UsageError if it has several fabrics and ``path`` names none of
    them.
    """
    file, fabric_name = split_reference(str(path))
    data = _read(Path(file))
    return _load(decode(data, file), file, fabric_name, data, files_beside(Path(file)))


def load_intent_text(text: str, file: str, beside: Beside | None = None) -> "Intent":
    """Return the intent in ``text``; ``file`` is the name of the file in errors.

    ``file`` may name one of several fabrics, like the path of ``load_intent``. ``beside`` reads the files that the
    intent names; without it, naming one is an error. Raises RefusedError with all errors of the text.
    """
    file, fabric_name = split_reference(file)
    # Surrogates are refused later, with their place.
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > MAX_BYTES:
        # `decode` refuses a text of this size.
        decode(data, file)
    return _load(text.removeprefix("\ufeff"), file, fabric_name, data, beside)


def files_beside(path: Path) -> Beside:
    """Return a function that reads the files beside the intent at ``path``."""

    def read(name: str) -> tuple[str, bytes]:
        """Return the path of the file ``name`` and its content. Raises RailweaveError if it cannot be read."""
        file = path.parent / name
        try:
            folder = path.parent.resolve()
            target = file.resolve(strict=True)
            # A link must not lead anywhere else: an intent may be another person's.
            if not target.is_relative_to(folder):
                raise RailweaveError(f"{file} leads out of {folder}: it is a symbolic link to {target}")
            return str(file), _read_regular_file(target)
        except OSError as exc:
            raise RailweaveError(f"{file} cannot be read: {exc.strerror}") from None
        except RuntimeError:
            raise RailweaveError(f"{file} cannot be read: its symbolic links form a loop") from None

    return read


def _read_regular_file(file: Path) -> bytes:
    """Return the content of a regular file, up to one byte more than the limit.

    Raises RailweaveError for any other kind of file, and OSError if the file cannot be read.
    """
    # O_NONBLOCK: opening a pipe would wait for a writer.
    handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise RailweaveError(f"{file} cannot be read: it is not a regular file")
        # One more byte shows that the file is larger than the limit.
        return stream.read(MOST_BYTES + 1)


def fabrics_in(path: Path) -> tuple[str, ...]:
    """Return the names of the fabrics in the file at ``path``; none if it has one fabric, or ``path`` names one.

    Raises RefusedError if the file is not YAML.
    """
    file, name = split_reference(str(path))
    if name:
        return ()
    document = read_document(decode(_read(path), file), file)
    fabrics = document.value.get("fabrics")
    if not isinstance(fabrics, dict):
        return ()
    return tuple(fabrics)


def document_of(path: Path) -> dict[str, Value]:
    """Return the keys and values of the intent at ``path``; of several fabrics, those of the one that ``path`` names.

    Raises RefusedError if the file is not YAML or cannot be divided into fabrics, and UsageError if it does not have
    the named fabric.
    """
    file, name = split_reference(str(path))
    whole_document = read_document(decode(_read(Path(file)), file), file)
    documents, diagnostics = split_fabrics(whole_document)
    if diagnostics:
        raise RefusedError(diagnostics)
    if name not in documents:
        raise _no_fabric(tuple(documents), file, name)
    return documents[name].value


def _load(text: str, file: str, fabric_name: str, data: bytes, beside: Beside | None) -> "Intent":
    """Return the intent of the fabric ``fabric_name`` in ``text``; the name is empty for a file with one fabric.

    ``data`` are the bytes of the text; ``beside`` reads the files that the intent names.
    """
    whole_document = read_document(text, file)
    documents, diagnostics = split_fabrics(whole_document)
    sha256 = hashlib.sha256(data).hexdigest()
    intents: dict[str, Intent] = {}
    for name, document in documents.items():
        intent_or_errors = _validated(document, file, sha256)
        if isinstance(intent_or_errors, list):
            diagnostics = _without_echoes(diagnostics, intent_or_errors)
        else:
            intents[name] = intent_or_errors
    if diagnostics:
        raise RefusedError(diagnostics)
    # A file with one fabric has it under the empty name.
    if "" not in intents:
        intents = _as_parts(intents, group_order(whole_document))
    intent = _named_intent(intents, file, fabric_name)
    if intent.cabling.as_built is None:
        return intent
    return _with_as_built(intent, intent.cabling.as_built, data, beside)


def _validated(document: Document, file: str, sha256: str) -> "Intent | list[Diagnostic]":
    """Return the intent of one fabric, or all of its errors."""
    # Imported late: pydantic takes longer to import than a faulty file takes to refuse.
    from pydantic import ValidationError

    from railweave.intent.rules import rule_diagnostics
    from railweave.intent.schema import IntentKeys
    from railweave.intent.validation import diagnostics_of

    diagnostics = _without_echoes(document.diagnostics, rule_diagnostics(document, file))
    try:
        keys = IntentKeys.model_validate(document.value)
    except ValidationError as exc:
        return _without_echoes(diagnostics, diagnostics_of(exc, document, file))
    if diagnostics:
        return diagnostics
    return keys.intent(document.places, file, sha256)


def _as_parts(intents: "dict[str, Intent]", orders: "Mapping[str, Groups]") -> "dict[str, Intent]":
    """Return the intents of the fabrics of one file, each with its place among the fabrics and groups of NICs.

    ``orders`` has the groups of NICs of each entry of nodes, by its name.
    """
    from railweave.fabric.devices import NodeRole
    from railweave.intent.carving import carved
    from railweave.intent.model import Part

    result: dict[str, Intent] = {}
    for number, (fabric, intent) in enumerate(carved(intents).items()):
        first_ports: dict[str, int] = {}
        collectives: set[str] = set()
        nodes = []
        for entry in intent.nodes:
            groups = orders.get(entry.name, ())
            first_ports[entry.name] = _ports_before(fabric, entry.name, groups, intents)
            # Collectives run over the NICs of the first group, and its first fabric.
            is_first_fabric = bool(groups) and groups[0][0] == fabric
            if entry.role is NodeRole.GPU and is_first_fabric:
                collectives.add(entry.name)
            nodes.append(_with_own_ports(entry, fabric, groups))
        part = Part(fabric, number, first_ports, frozenset(collectives))
        result[fabric] = replace(intent, part=part, nodes=tuple(nodes))
    return result


def _with_own_ports(entry: "Nodes", fabric: str, groups: "Groups") -> "Nodes":
    """Return an entry of nodes with only those ports of its NICs that are in the fabric.

    The fabrics of a group take turns over the ports of a NIC. If the ports cannot be divided evenly, all of them stay,
    and RW103 reports the group.
    """
    fabrics = next((group for group in groups if fabric in group), ())
    count = len(fabrics)
    if count < 2 or entry.nics.ports % count:
        return entry
    own_ports = tuple(range(fabrics.index(fabric), entry.nics.ports, count))
    return entry.with_values(nics=entry.nics.with_own_ports(own_ports))


def _ports_before(fabric: str, entry_name: str, groups: "Groups", intents: "Mapping[str, Intent]") -> int:
    """Return how many NIC ports of a node are in the groups that its entry lists before the group of ``fabric``."""
    ports = 0
    for fabrics in takewhile(lambda group: fabric not in group, groups):
        # The intent of any fabric of a group has the NICs of that group.
        nics = next(entry.nics for entry in intents[fabrics[0]].nodes if entry.name == entry_name)
        ports += nics.count * nics.ports
    return ports


def _named_intent(intents: "dict[str, Intent]", file: str, name: str) -> "Intent":
    """Return the intent of the fabric ``name``, with the others of the file in it.

    Raises UsageError if there is no such fabric.
    """
    if name in intents:
        other_intents = tuple(intent for fabric, intent in intents.items() if fabric != name)
        return replace(intents[name], others=other_intents)
    if "" in intents:
        raise UsageError(f"{file} holds one fabric, `{intents[''].fabric}`: omit --fabric {name}")
    raise _no_fabric(tuple(intents), file, name)


def _no_fabric(fabrics: Sequence[str], file: str, name: str) -> UsageError:
    """Return the error that ``name`` is not one of the fabrics of a file."""
    listed = ", ".join(fabrics)
    if not name:
        return UsageError(f"{file} holds {len(fabrics)} fabrics ({listed}): name one with --fabric NAME")
    message = f"{file} has no fabric {name!r}"
    guess = nearest(name, fabrics)
    if guess:
        message += f"; did you mean {guess}?"
    return UsageError(f"{message} (fabrics: {listed})")


def _with_as_built(intent: "Intent", name: str, data: bytes, beside: Beside | None) -> "Intent":
    """Return the intent with the lengths of cables in the file ``name``, which it names.

    ``data`` are the bytes of the intent. Raises RefusedError if the file cannot be read or has errors.
    """
    where = intent.where("cabling.as_built")
    if beside is None:
        message = f"`{name}` cannot be read: this intent is not a file"
        raise RefusedError([error(CODE, message, where, fix="leave out `as_built`")])
    try:
        file, table = beside(name)
    except RailweaveError as exc:
        fix = "write the name of a file beside the intent, or leave out `as_built`"
        raise RefusedError([error(CODE, str(exc), where, fix=fix)]) from None
    lengths, diagnostics = read_as_built(table, file)
    if diagnostics:
        raise RefusedError(diagnostics)
    # A plan is bound to both files: a change of either makes it outdated.
    digest = hashlib.sha256(hashlib.sha256(data).digest() + hashlib.sha256(table).digest())
    return replace(intent, as_built=lengths, sha256=digest.hexdigest())


def _without_echoes(diagnostics: Sequence[Diagnostic], later: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Return the diagnostics, and those of ``later`` that are at other places.

    One mistake is reported once, although YAML, a rule and a key's kind may all find it, or an alias repeats it.
    """
    # Reversed, because the last one with a key stays in a dictionary, and the first one at a place has to.
    by_place = {_place(diagnostic): diagnostic for diagnostic in reversed(diagnostics)}
    for diagnostic in later:
        by_place.setdefault(_place(diagnostic), diagnostic)
    return list(by_place.values())


def _place(diagnostic: Diagnostic) -> tuple[int, int, str]:
    where = diagnostic.where
    # Several keys may be missing at one place.
    path = where.path if diagnostic.code == "RW011" else ""
    return where.line, where.column, path


def _read(path: Path) -> bytes:
    """Return the content of the intent file, up to one byte more than the limit.

    Raises RefusedError if the file cannot be read.
    """
    where = Where(str(path))
    try:
        with path.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        message = "there is no such file"
        if path.is_symlink():
            message = f"this links to {path.readlink()}, which does not exist"
        raise RefusedError([error("RW001", message, where, fix=_other_file(path))]) from None
    except IsADirectoryError:
        raise RefusedError([error("RW001", "this is a folder", where, fix=_file_within(path))]) from None
    except PermissionError:
        message = "the file cannot be read: permission denied"
        raise RefusedError([error("RW001", message, where, fix="give yourself read permission on it")]) from None
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else str(exc)
        message = f"the file cannot be read: {reason}"
        raise RefusedError([error("RW001", message, where, fix="name a readable intent file")]) from None


_EXAMPLE = "name an intent file, like intent/pod-32.yml"


def _other_file(path: Path) -> str:
    """Return a fix that names existing intent files in place of ``path``, which does not exist."""
    folders = [path.parent]
    if path.parent == Path():
        # Where `railweave init` puts them.
        folders.insert(0, Path("intent"))
    files: list[Path] = []
    for folder in folders:
        files += _intents_in(folder)
    if not files:
        return _EXAMPLE
    # Reversed, because of two files with one name the first has to stay.
    by_name = {file.name: file for file in reversed(files)}
    # The name may also have been written without its suffix.
    matches = get_close_matches(path.name, by_name, 1) or get_close_matches(f"{path.name}.yml", by_name, 1)
    if matches:
        return f"did you mean {by_name[matches[0]]}?"
    in_first_folder = [str(file) for file in files if file.parent == files[0].parent]
    return f"name an intent file: {', '.join(in_first_folder)}"


def _file_within(path: Path) -> str:
    """Return a fix that names the intent files in the folder ``path``."""
    names = [file.name for file in _intents_in(path)]
    if not names:
        return _EXAMPLE
    return f"name one of its files: {', '.join(names)}"


def _intents_in(folder: Path) -> list[Path]:
    """Return the first ten intent files in a folder by name; none if it cannot be read."""
    try:
        # A link to nowhere is in its folder too.
        files = [path for path in folder.glob("[!.]*") if path.suffix in {".yml", ".yaml"} and path.exists()]
        return sorted(files)[:10]
    except (OSError, ValueError):
        return []
