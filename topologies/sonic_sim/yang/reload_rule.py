"""The rule by which ``config reload`` refuses a file, for the command and for checks before it."""

from typing import Any

from sonic_sim.yang.check import Checker
from sonic_sim.yang.model import models
from sonic_sim.yang.rows import YangError
from sonic_sim.yang.xpath import Document


class ReloadRule:
    """``config_file_yang_validation`` of config/main.py."""

    def __init__(self) -> None:
        """Begin with no rows read."""
        self._checker = Checker()

    def unmodelled(self, tables: Document) -> list[str]:
        """Return the tables that have no YANG model."""
        return [table for table in tables if table not in models() and table != "bgpraw"]

    def failure(self, tables: Document) -> tuple[str, str]:
        """Return the text of sonic_yang's exception and libyang's output; both are empty for a valid document."""
        error = self.violation(tables)
        if error is None:
            return "", ""
        return error.reason, error.libyang

    def violation(self, tables: Any) -> YangError | None:
        """Return the first violation; None for a valid document."""
        try:
            self._checker.check(tables)
        except YangError as error:
            return error
        return None
