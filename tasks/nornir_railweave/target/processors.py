"""Nornir processors that cannot hurt: an exception of one would escape ``Nornir.run`` and lose every result."""

import logging
from collections.abc import Callable
from functools import partial

from nornir.core.processor import Processor

_LOG = logging.getLogger("nornir_railweave")


class Guarded:
    """A processor around another: the first exception of the inner one is logged and ends its part."""

    def __init__(self, inner: Processor) -> None:
        self._inner: Processor | None = inner

    def __getattr__(self, method: str) -> Callable[..., None]:
        """Return what passes on a method of a processor; Nornir calls them all alike."""
        return partial(self._tell, method)

    def _tell(self, method: str, *arguments: object) -> None:
        if self._inner is None:
            return
        try:
            getattr(self._inner, method)(*arguments)
        except Exception:
            _LOG.exception("a processor failed and receives no more events")
            self._inner = None
