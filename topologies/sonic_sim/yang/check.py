"""Check a whole configuration against the constraints of SONiC's models; the first violation is raised."""

from collections.abc import Mapping
from typing import Any


class YangError(Exception):
    """A violated constraint. ``message`` as sonic_yang words it, ``libyang`` the lines on standard error."""

    def __init__(self, message: str, libyang: str = "") -> None:
        """Keep both texts."""
        super().__init__(message)
        self.message = message
        self.libyang = libyang


def check_document(document: Mapping[str, Any]) -> None:
    """Raise YangError for the first violation."""
