"""The YANG models of one SONiC release, loaded into libyang (``binding``).

Modules of two releases have the same names, so each release has a context of its own; loading one takes 0.1 s and
validating a switch of 64 ports some tens of milliseconds, so a context is made once a process.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from railweave.errors import RailweaveError
from railweave.yang.binding import load_binding
from railweave.yang.schema import Failure, MapFields, RowSchema, SchemaIndex, TableSchema

_SUFFIX = ".yang"


class YangModels:
    """The models of one folder; ``name`` is used in messages, ``index`` has the schema of each table."""

    def __init__(self, folder: Path) -> None:
        """Load all models of ``folder``.

        Raises RailweaveError if libyang is missing, if there are no models, or if one is broken.
        """
        self.name = folder.resolve().name
        self._context = _load(folder)
        self.index: SchemaIndex = _index(self._context)

    def first_failure(self, xml: str) -> Failure | None:
        """Return the first error of a document, at which libyang stops; None if the document is valid."""
        binding = load_binding()
        try:
            tree = self._context.parse_data_mem(xml, "xml", no_state=True, strict=True)
        except binding.error as error:
            return binding.failure(error)
        if tree is not None:
            tree.free()
        return None


@cache
def load_models(folder: Path) -> YangModels:
    """Return the models of ``folder``, loaded once a process; raises RailweaveError like YangModels."""
    return YangModels(folder)


def _load(folder: Path) -> Any:
    """Return a context with all models of ``folder``; raises RailweaveError as YangModels does."""
    names = sorted(path.name.removesuffix(_SUFFIX) for path in folder.glob(f"*{_SUFFIX}"))
    if not names:
        raise RailweaveError(
            f"{folder}: no YANG models are there; name the folder of one SONiC release, "
            "such as a copy of /usr/local/yang-models of a switch"
        )
    binding = load_binding()
    try:
        # All models, also those of tables that are not rendered: a rule that refers to a missing model is not checked.
        # Compiled together, which takes a third of the time and leaves no stale schema nodes.
        context = binding.context(folder)
        for name in names:
            context.load_module(name)
        context.compile_schema()
    except binding.error as exc:
        raise RailweaveError(f"{folder}: libyang cannot load these models: {exc}") from exc
    return context


def _index(context: Any) -> SchemaIndex:
    """Return the schema of each table, which SONiC's convention finds in the models (``schema``)."""
    schema = load_binding().module.schema
    tables: dict[str, TableSchema] = {}
    for module in context:
        namespace = _namespace(module)
        for container in module.children(types=(schema.SNode.CONTAINER,)):
            # Only the container with the module's own name holds tables.
            if container.name() != module.name():
                continue
            for table in container.children(types=(schema.SNode.CONTAINER,)):
                table_schema = _table_schema(module.name(), namespace, table)
                has_rows = table_schema.lists or table_schema.fixed
                if has_rows:
                    tables[table.name()] = table_schema
    return tables


def _table_schema(module: str, namespace: str, table: Any) -> TableSchema:
    """Return the schema of a table: its lists, and its containers, which are rows of a fixed name."""
    lists: list[RowSchema] = []
    fixed: dict[str, RowSchema] = {}
    for node in table:
        form = _form(node, table.name())
        if form is None:
            continue
        if form.keys:
            lists.append(form)
        else:
            fixed[form.element] = form
    return TableSchema(module, namespace, tuple(lists), fixed)


def _namespace(module: Any) -> str:
    return str(load_binding().module.util.c2str(module.cdata.ns))


def _form(node: Any, table: str) -> RowSchema | None:
    """Return the form of the rows that a list or container below a table holds; None for any other node."""
    schema = load_binding().module.schema
    if not isinstance(node, (schema.SList, schema.SContainer)):
        return None
    keys: tuple[str, ...] = ()
    if isinstance(node, schema.SList):
        keys = tuple(key.name() for key in _keys(node))
    leaves: set[str] = set()
    leaf_lists: set[str] = set()
    map_fields = None
    for child in node:
        if isinstance(child, schema.SLeaf):
            leaves.add(child.name())
        elif isinstance(child, schema.SLeafList):
            leaf_lists.add(child.name())
        elif isinstance(child, schema.SList) and child.name() == table:
            map_fields = _map_fields(child)
    return RowSchema(
        element=node.name(),
        keys=keys,
        leaves=frozenset(leaves.difference(keys)),
        leaf_lists=frozenset(leaf_lists),
        map_fields=map_fields,
    )


def _map_fields(inner: Any) -> MapFields:
    """Return the inner list of a map table; it has one key and one other leaf."""
    (key,) = (leaf.name() for leaf in _keys(inner))
    (value,) = (leaf.name() for leaf in inner if leaf.name() != key)
    return MapFields(inner.name(), key, value)


def _keys(node: Any) -> Iterable[Any]:
    """Return the key leaves of a list; iterating the list itself gives all of its children."""
    keys: Iterable[Any] = node.keys()
    return keys
