"""A file of a consumer, recognized by its content and compared with the intent."""

from collections.abc import Iterator
from pathlib import Path

from railweave.diagnostics import Diagnostic, Where, error, in_order
from railweave.errors import RefusedError
from railweave.export.check.nic_marking import KIND as NIC_TEMPLATE
from railweave.export.check.nic_marking import compare_templates
from railweave.export.check.objects import compare_nodes, compare_objects
from railweave.export.check.placed import PlacedValue, placed_documents
from railweave.export.check.slurm import compare_groups, conf_groups, is_slurm_conf, is_slurm_yaml, yaml_groups
from railweave.export.model import ExportSource
from railweave.export.registry import FORMATS
from railweave.wording import either

_BY_KIND = {form.kind: form for form in FORMATS.values() if form.kind}
_NODE = "Node"


def check_file(source: ExportSource, path: Path, text: str) -> tuple[Diagnostic, ...]:
    """Return every difference between a file of a consumer and the intent, errors first.

    Raises RefusedError for a file that cannot be compared or has an invalid host list.
    """
    try:
        if is_slurm_conf(text):
            return in_order(compare_groups(source, tuple(conf_groups(path, text))))
        documents = list(placed_documents(path, text))
        if len(documents) == 1 and is_slurm_yaml(documents[0]):
            topologies = yaml_groups(documents[0])
            return in_order(finding for groups in topologies for finding in compare_groups(source, groups))
    except ValueError as exc:
        fix = "correct the host list"
        raise RefusedError([error("RW954", str(exc), Where(str(path)), fix=fix)]) from None
    return in_order(_compare(source, path, documents))


def _compare(source: ExportSource, path: Path, documents: list[PlacedValue]) -> Iterator[Diagnostic]:
    """Yield the differences of Kubernetes objects, kind by kind; raises RefusedError if no object can be compared."""
    objects: dict[str, list[PlacedValue]] = {}
    for document in documents:
        # `kubectl get -o yaml` prints several objects as one document, a list of items.
        for entry in document.items("items") or [document]:
            objects.setdefault(entry.text("kind"), []).append(entry)
    known_kinds = [_NODE, NIC_TEMPLATE, *_BY_KIND]
    compared_kinds = objects.keys() & set(known_kinds)
    if not compared_kinds:
        kinds = either(known_kinds)
        message = "nothing in it can be compared with the intent"
        fix = f"give a topology.conf or topology.yaml of Slurm, or objects of kind {kinds}"
        raise RefusedError([error("RW954", message, Where(str(path), 1, 1), fix=fix)])
    for kind in sorted(compared_kinds):
        if kind == _NODE:
            yield from compare_nodes(source, objects[kind])
        elif kind == NIC_TEMPLATE:
            yield from compare_templates(source, objects[kind])
        else:
            yield from compare_objects(source, _BY_KIND[kind], objects[kind])
