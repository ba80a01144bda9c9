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
from railweave.yang.schema import Failure, Pairs, RowSchema, SchemaIndex, TableSchema

_SUFFIX = ".yang"


class YangModels:
    """The models of one folder; ``name`` is how violations call them, ``index`` what they say of each table."""

    def __init__(self, folder: Path) -> None:
        """Load all models of ``folder``; raises RailweaveError without libyang, without models, or where one is
        broken."""
        self.name = folder.resolve().name
        self._context = _load(folder)
        self.index: SchemaIndex = _index(self._context)

    def first_failure(self, xml: str) -> Failure | None:
        """Return the first error of a document, None where it is valid: libyang stops at the first."""
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
    """Return the models of ``folder``, loaded once a process; raises RailweaveError as YangModels does."""
    return YangModels(folder)


def _load(folder: Path) -> Any:
    names = sorted(path.name.removesuffix(_SUFFIX) for path in folder.glob(f"*{_SUFFIX}"))
    if not names:
        raise RailweaveError(
            f"{folder}: no YANG models are there; name the folder of one SONiC release, "
            "such as a copy of /usr/local/yang-models of a switch"
        )
    binding = load_binding()
    try:
        # Every model, also those that no row is of: a rule that looks into a model not loaded is not checked.
        # All are compiled in one go, which takes a third of the time and leaves no schema node behind that is stale.
        context = binding.context(folder)
        for name in names:
            context.load_module(name)
        context.compile_schema()
    except binding.error as exc:
        raise RailweaveError(f"{folder}: libyang cannot load these models: {exc}") from exc
    return context


def _index(context: Any) -> SchemaIndex:
    schema = load_binding().module.schema
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
    return str(load_binding().module.util.c2str(module.cdata.ns))


def _form(node: Any, table: str) -> RowSchema | None:
    schema = load_binding().module.schema
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
