"""The YANG models of one SONiC release, loaded into libyang. The only module that needs libyang.

Modules of two releases have the same names, so each release has a context of its own; loading one takes 0.1 s and
validating a switch of 64 ports some tens of milliseconds, so a context is made once a process.
"""

import logging
import re
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from railweave.errors import RailweaveError
from railweave.yang.schema import Failure, Pairs, RowSchema, SchemaIndex, TableSchema

NOT_INSTALLED = (
    "validation by YANG needs libyang: install the extra with `pip install 'railweave[yang]'`; it is compiled against "
    "libyang 2, which is the package libyang2-dev of Debian 12 (`apt-get install libyang2-dev`)"
)

_SUFFIX = ".yang"
_PREFIX = "failed to parse data tree: "
_LOCATION = re.compile(
    r"""(?P<words>.*?):[ ](?:Schema[ ]location[ ]"(?P<schema>[^"]*)")?
        (?:(?:,[ ])?[Dd]ata[ ]location[ ]"(?P<path>.*?)")?(?:,[ ]line[ ]number[ ](?P<line>\d+))?\.(?:$|:[ ])""",
    re.VERBOSE | re.DOTALL,
)


class YangModels:
    """The models of one folder; ``name`` is how violations call them, ``index`` what they say of each table."""

    def __init__(self, folder: Path) -> None:
        """Load all models of ``folder``; raises RailweaveError without libyang, without models, or where one is
        broken."""
        self.name = folder.resolve().name
        self._context = _load(folder)
        self.index: SchemaIndex = _index(self._context)

    def first_failure(self, xml: str) -> Failure | None:
        """Return the first exc of a document, None where it is valid. libyang 2 stops at the first."""
        try:
            tree = self._context.parse_data_mem(xml, "xml", no_state=True, strict=True)
        except _libyang().LibyangError as exc:
            return read_failure(str(exc))
        if tree is not None:
            tree.free()
        return None


@cache
def load_models(folder: Path) -> YangModels:
    """Return the models of ``folder``, loaded once a process; raises RailweaveError as YangModels does."""
    return YangModels(folder)


def read_failure(text: str) -> Failure:
    """Return the first error of libyang's text, which joins all of them with their locations."""
    text = text.removeprefix(_PREFIX)
    found = _LOCATION.match(text)
    if not found:
        return Failure(text)
    return Failure(found["words"], found["path"] or found["schema"] or "", int(found["line"] or 0))


def _load(folder: Path) -> Any:
    names = sorted(path.name.removesuffix(_SUFFIX) for path in folder.glob(f"*{_SUFFIX}"))
    if not names:
        raise RailweaveError(
            f"{folder}: no YANG models are there; name the folder of one SONiC release, "
            "such as a copy of /usr/local/yang-models of a switch"
        )
    libyang = _libyang()
    # libyang keeps the location of an error only where a log callback is set. Nobody needs to read that log.
    logging.getLogger("libyang").propagate = False
    libyang.configure_logging(True)
    try:
        # Every model, also those that no row is of: a rule that looks into a model not loaded is not checked.
        # All are compiled in one go, which takes a third of the time and leaves no schema node behind that is stale.
        context = libyang.Context(str(folder), explicit_compile=True)
        for name in names:
            context.load_module(name)
        context.compile_schema()
    except libyang.LibyangError as exc:
        raise RailweaveError(f"{folder}: libyang cannot load these models: {exc}") from exc
    return context


def _libyang() -> Any:
    """Return the library; it is optional, and its types are not relied on."""
    try:
        return import_module("libyang")
    except ImportError as exc:
        raise RailweaveError(NOT_INSTALLED) from exc


def _index(context: Any) -> SchemaIndex:
    schema = _libyang().schema
    tables: dict[str, TableSchema] = {}
    for module in context:
        name = module.name()
        namespace = _namespace(module)
        for top in module.children(types=(schema.SNode.CONTAINER,)):
            if top.name() != name:
                continue
            for table in top.children(types=(schema.SNode.CONTAINER,)):
                forms = [_form(node, table.name()) for node in table]
                lists = tuple(form for form in forms if form and form.keys)
                fixed = {form.element: form for form in forms if form and not form.keys}
                if lists or fixed:
                    tables[table.name()] = TableSchema(name, namespace, lists, fixed)
    return tables


def _namespace(module: Any) -> str:
    return str(_libyang().util.c2str(module.cdata.ns))


def _form(node: Any, table: str) -> RowSchema | None:
    schema = _libyang().schema
    if not isinstance(node, (schema.SList, schema.SContainer)):
        return None
    keys = tuple(key.name() for key in _keys(node)) if isinstance(node, schema.SList) else ()
    children = list(node)
    inner = next((one for one in children if isinstance(one, schema.SList) and one.name() == table), None)
    return RowSchema(
        element=node.name(),
        keys=keys,
        leaves=frozenset(one.name() for one in children if isinstance(one, schema.SLeaf)) - frozenset(keys),
        leaf_lists=frozenset(one.name() for one in children if isinstance(one, schema.SLeafList)),
        pairs=_pairs(inner) if inner is not None else None,
    )


def _pairs(inner: Any) -> Pairs:
    (key,) = (one.name() for one in _keys(inner))
    (value,) = (one.name() for one in inner if one.name() != key)
    return Pairs(inner.name(), key, value)


def _keys(node: Any) -> Iterable[Any]:
    """Return the key leaves of a list; iterating the list itself gives all of its children."""
    keys: Iterable[Any] = node.keys()
    return keys
