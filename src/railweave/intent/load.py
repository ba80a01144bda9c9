"""An intent file to an ``Intent``, or to all of its errors at once.

Of a file with several fabrics all are read, and the named one is returned with the others beside it.
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
    from railweave.intent.model import Intent

Beside = Callable[[str], tuple[str, bytes]]
"""Reads a file beside an intent: its name for people, and its bytes. Raises RailweaveError where it cannot."""


def load_intent(path: Path) -> "Intent":
    """Return the intent in the file at ``path``, of the fabric that it names (``FILE.yml#NAME``).

    Raises RefusedError with every error in it, UsageError where the file has several fabrics and none of them is named.
    """
    file, name = split_reference(str(path))
    data = _read(Path(file))
    return _load(decode(data, file), (file, name), data, files_beside(Path(file)))


def load_intent_text(text: str, file: str, beside: Beside | None = None) -> "Intent":
    """Return the intent in ``text``, reporting places in ``file``; raises RefusedError with every error in it.

    ``file`` may name one of several fabrics, as the path of ``load_intent`` does. ``beside`` reads the files that the
    intent names; without it there are none.
    """
    file, name = split_reference(file)
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > MAX_BYTES:
        decode(data, file)
    return _load(text.removeprefix("\ufeff"), (file, name), data, beside)


def files_beside(path: Path) -> Beside:
    """Return what reads the files beside the intent at ``path``."""

    def read(name: str) -> tuple[str, bytes]:
        file = path.parent / name
        try:
            folder, target = path.parent.resolve(), file.resolve(strict=True)
            if not target.is_relative_to(folder):
                raise RailweaveError(f"{file} leads out of {folder}: it is a symbolic link to {target}")
            return str(file), _regular(target)
        except OSError as exc:
            raise RailweaveError(f"{file} cannot be read: {exc.strerror}") from None
        except RuntimeError:
            raise RailweaveError(f"{file} cannot be read: its symbolic links form a loop") from None

    return read


def _regular(file: Path) -> bytes:
    """Return the content of a file, at most a byte more than such a file may have; raises RailweaveError, OSError.

    A pipe or a device is not opened for reading: whoever opens a pipe waits for a writer.
    """
    handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise RailweaveError(f"{file} cannot be read: it is not a regular file")
        return stream.read(MOST_BYTES + 1)


def fabrics_in(path: Path) -> tuple[str, ...]:
    """Return the names of the fabrics in the file at ``path``, none where it holds one, or ``path`` names one.

    Raises RefusedError where it is no YAML.
    """
    file, name = split_reference(str(path))
    if name:
        return ()
    value = read_document(decode(_read(path), file), file).value.get("fabrics")
    return tuple(value) if isinstance(value, dict) else ()


def document_of(path: Path) -> dict[str, Value]:
    """Return the keys and values of the intent at ``path``, of the fabric that it names where the file has several.

    Raises RefusedError where it is no YAML or cannot be divided, UsageError where no such fabric is in it.
    """
    file, name = split_reference(str(path))
    documents, diagnostics = split_fabrics(read_document(decode(_read(Path(file)), file), file))
    if diagnostics:
        raise RefusedError(diagnostics)
    if name not in documents:
        raise _no_fabric(tuple(documents), file, name)
    return documents[name].value


def _load(text: str, named: tuple[str, str], data: bytes, beside: Beside | None) -> "Intent":
    """Return the intent that ``named`` means: its file, and its fabric where there are several."""
    file, name = named
    whole = read_document(text, file)
    documents, diagnostics = split_fabrics(whole)
    intents: dict[str, Intent] = {}
    for fabric, document in documents.items():
        found = _validated(document, file, hashlib.sha256(data).hexdigest())
        if isinstance(found, list):
            diagnostics = _without_echoes(diagnostics, found)
        else:
            intents[fabric] = found
    if diagnostics:
        raise RefusedError(diagnostics)
    orders = group_order(whole) if "" not in intents else {}
    intent = _chosen({known: _as_part(intents, known, orders) for known in intents}, file, name)
    return intent if intent.cabling.as_built is None else _as_built(intent, intent.cabling.as_built, data, beside)


def _validated(document: Document, file: str, sha256: str) -> "Intent | list[Diagnostic]":
    """Return the intent of one fabric, or all of its errors."""
    # Late, because pydantic takes longer to import than a faulty file takes to refuse.
    from pydantic import ValidationError

    from railweave.intent.rules import rule_diagnostics
    from railweave.intent.schema import IntentKeys
    from railweave.intent.validation import diagnostics_of

    diagnostics = _without_echoes(document.diagnostics, rule_diagnostics(document, file))
    try:
        keys = IntentKeys.model_validate(document.value)
    except ValidationError as exc:
        return _without_echoes(diagnostics, diagnostics_of(exc, document, file))
    return diagnostics or keys.intent(document.places, file, sha256)


def _as_part(intents: "dict[str, Intent]", name: str, orders: Mapping[str, tuple[str, ...]]) -> "Intent":
    """Return the intent of the fabric ``name`` with its place among those of its nodes; ``orders`` are the fabrics of
    each entry's groups of NICs."""
    if not name:
        return intents[name]
    from railweave.fabric.model import NodeRole
    from railweave.intent.model import Part

    ports = {
        (known, entry.name): entry.nics.count * entry.nics.ports
        for known, one in intents.items()
        for entry in one.nodes
    }
    first_ports = {
        entry.name: sum(ports[before, entry.name] for before in takewhile(lambda one: one != name, orders[entry.name]))
        for entry in intents[name].nodes
    }
    collectives = frozenset(
        entry.name for entry in intents[name].nodes if entry.role is NodeRole.GPU and orders[entry.name][0] == name
    )
    return replace(intents[name], part=Part(name, first_ports, collectives))


def _chosen(intents: "dict[str, Intent]", file: str, name: str) -> "Intent":
    """Return the intent of the fabric ``name``; raises UsageError where it is none of the file's."""
    if name in intents:
        return replace(intents[name], others=tuple(one for known, one in intents.items() if known != name))
    if "" in intents:
        raise UsageError(f"{file} holds one fabric, `{intents[''].fabric}`: omit --fabric {name}")
    raise _no_fabric(tuple(intents), file, name)


def _no_fabric(known: Sequence[str], file: str, name: str) -> UsageError:
    """Return why ``name`` is none of the fabrics of a file."""
    listed = ", ".join(known)
    if not name:
        return UsageError(f"{file} holds {len(known)} fabrics ({listed}): name one with --fabric NAME")
    guess = nearest(name, list(known))
    meant = f"; did you mean {guess}?" if guess else ""
    return UsageError(f"{file} has no fabric {name!r}{meant} (fabrics: {listed})")


def _as_built(intent: "Intent", name: str, data: bytes, beside: Beside | None) -> "Intent":
    """Return the intent with the lengths of the file that it names."""
    where = intent.where("cabling.as_built")
    if beside is None:
        message = f"`{name}` cannot be read: this intent is no file"
        raise RefusedError([error(CODE, message, where, fix="leave out `as_built`")])
    try:
        file, found = beside(name)
    except RailweaveError as exc:
        fix = "write the name of a file beside the intent, or leave out `as_built`"
        raise RefusedError([error(CODE, str(exc), where, fix=fix)]) from None
    lengths, diagnostics = read_as_built(found, file)
    if diagnostics:
        raise RefusedError(diagnostics)
    digest = hashlib.sha256(hashlib.sha256(data).digest() + hashlib.sha256(found).digest())
    return replace(intent, as_built=lengths, sha256=digest.hexdigest())


def _without_echoes(known: Sequence[Diagnostic], found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Add to ``known`` what was found at other places.

    One mistake is reported once, although YAML, a rule and a key's own kind may all stumble over it, or an alias
    repeats it. Several keys may be missing at one place, so for them the path decides.
    """
    diagnostics = {_place(one): one for one in reversed(known)}
    for one in found:
        diagnostics.setdefault(_place(one), one)
    return list(diagnostics.values())


def _place(one: Diagnostic) -> tuple[int, int, str]:
    where = one.where
    return where.line, where.column, where.path if one.code == "RW011" else ""


def _read(path: Path) -> bytes:
    where = Where(str(path))
    try:
        with path.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise RefusedError([error("RW001", "there is no such file", where, fix=_other_file(path))]) from None
    except IsADirectoryError:
        raise RefusedError([error("RW001", "this is a folder", where, fix=_file_within(path))]) from None
    except PermissionError:
        message, fix = "the file cannot be read: permission denied", "give yourself read permission on it"
        raise RefusedError([error("RW001", message, where, fix=fix)]) from None
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else str(exc)
        message = f"the file cannot be read: {reason}"
        raise RefusedError([error("RW001", message, where, fix="name a readable intent file")]) from None


_EXAMPLE = "name an intent file, like intent/pod-32.yml"


def _other_file(path: Path) -> str:
    folders = (Path("intent"), path.parent) if path.parent == Path() else (path.parent,)
    files = {name: folder / name for folder in reversed(folders) for name in _intents_in(folder)}
    near = get_close_matches(path.name, files, 1) or get_close_matches(f"{path.name}.yml", files, 1)
    if near:
        return f"did you mean {files[near[0]]}?"
    listed = next((names for folder in folders if (names := [str(folder / one) for one in _intents_in(folder)])), ())
    return f"name an intent file{': ' if listed else ', like intent/pod-32.yml'}{', '.join(listed)}"


def _file_within(path: Path) -> str:
    names = _intents_in(path)
    return f"name one of its files: {', '.join(names)}" if names else _EXAMPLE


def _intents_in(folder: Path) -> list[str]:
    try:
        return sorted(one.name for one in folder.glob("[!.]*") if one.suffix in {".yml", ".yaml"})[:10]
    except (OSError, ValueError):
        return []
