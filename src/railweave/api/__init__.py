"""railweave for programs: what the command line does, as functions over values.

``railweave NAME`` is the function ``NAME`` of this package; a group of commands, such as ``railweave sim up``, is a
module of its name: `facts`, `hosts`, `lab`, `rollout`, `sim`. The functions act on a project in the working directory
(`open_project`), return frozen values, raise `railweave.errors.RailweaveError` with messages for people, and print
nothing. To receive progress and to confirm changes of devices, give the project an `Operator`.

The modules are nouns: projects, designs, plans, deployments, verification, targets, journals and so on.
A name is imported when it is first used: what an offline function needs costs a fraction of what devices need.
"""

import re
import sys
from importlib import import_module
from pathlib import Path

from railweave.api.deprecated import OldModules

_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_HOMES = {name: home for home, name in re.findall(r"from (\S+) import (\w+)", _STUB)}
"""The module of each public name, as the stub file states it for type checkers."""

__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module 'railweave.api' has no attribute {name!r}")
    home = import_module(_HOMES[name])
    if hasattr(home, "__path__"):
        # A package holds nothing but modules: the name is that of a group of commands.
        return import_module(f"{home.__name__}.{name}")
    return getattr(home, name)


sys.meta_path.append(OldModules())
