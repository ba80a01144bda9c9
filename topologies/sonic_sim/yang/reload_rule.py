"""What ``config reload`` refuses of a file: the one rule of the command and of what is asked before it."""

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
        """Return the tables that no model is of."""
        return [table for table in tables if table not in models() and table != "bgpraw"]

    def failure(self, tables: Document) -> tuple[str, str]:
        """Return what sonic_yang raises and what libyang prints, both empty for a valid document."""
        error = self.violation(tables)
        return ("", "") if error is None else (error.reason, error.libyang)

    def violation(self, tables: Any) -> YangError | None:
        """Return the first violation."""
        try:
            self._checker.check(tables)
        except YangError as error:
            return error
        return None
