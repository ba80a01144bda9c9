"""NAPALM's drivers of other vendors, imported when a target names one.

``import napalm`` imports them all. Deferred, they save every command that reaches devices 16 MiB of 98 and a quarter
of the processor time of its imports. So is ``invoke``, which paramiko imports for `Match exec` in a file of OpenSSH's
client, and with it asyncio and unittest.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

_DRIVERS = ("eos", "ios", "iosxr", "junos", "nxapi_plumbing", "nxos", "nxos_ssh", "pyIOSXR")
_NAMES = frozenset(("invoke", *(f"napalm.{name}" for name in _DRIVERS)))


class _Deferring(MetaPathFinder):
    """Finds a driver as Python does; its code runs when something of the module is asked for."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _NAMES:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def defer() -> None:
    """Let the imports of these drivers wait from now on; those that are imported already stay so."""
    sys.meta_path.insert(0, _Deferring())
