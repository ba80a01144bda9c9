"""Every export format by its name: a new format is a module of ``formats`` and one line here."""

from collections.abc import Mapping
from typing import Final

from railweave.errors import UsageError
from railweave.export.formats import (
    ansible,
    cidr_pools,
    dns,
    kueue,
    nfd,
    nic_configuration,
    nic_names,
    node_labels,
    slurm_block,
    slurm_tree,
    slurm_yaml,
    topograph,
    topograph_graph,
    volcano,
)
from railweave.export.model import ExportFormat
from railweave.wording import either, suggestion

_MODULES = (
    slurm_tree,
    slurm_block,
    slurm_yaml,
    node_labels,
    nfd,
    kueue,
    volcano,
    topograph,
    topograph_graph,
    cidr_pools,
    nic_configuration,
    nic_names,
    ansible,
    dns,
)

FORMATS: Final[Mapping[str, ExportFormat]] = {module.FORMAT.name: module.FORMAT for module in _MODULES}
"""The formats in the order of ``export --list``."""


def export_format(name: str) -> ExportFormat:
    """Return a format by its name; raises UsageError with the nearest one."""
    if name not in FORMATS:
        raise UsageError(f"no format {name!r}: {suggestion(name, tuple(FORMATS))}it is one of {either(FORMATS)}")
    return FORMATS[name]
