"""Values that SONiC's daemons run with other than configured, as plans and verifications report them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unapplied:
    """A value of SONiC's daemons that differs from CONFIG_DB: ``field`` of ``row``, or the row if it is empty."""

    row: str
    field: str
    applied: str
    configured: str

    def __str__(self) -> str:
        """Return it in words."""
        return f"{self.row} {self.field}".rstrip() + f" is {self.applied}, configured {self.configured}"
