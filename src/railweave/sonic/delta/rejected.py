"""What a switch's YANG models refuse, and where; and that they cannot be asked."""

from dataclasses import dataclass

from railweave.secrets import shown_key

Rejected = tuple[str, str, str, str]
"""Table, key, field and SONiC's words, which may quote secrets; an empty field is the whole row, an empty key the whole
table, and an empty table says that the place is not known."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the models of a switch say of a configuration: what they refuse, or why they cannot be asked (``fault``)."""

    rejected: tuple[Rejected, ...] = ()
    fault: str = ""


REMEDY = (
    "the models belong to the image: compare /usr/local/yang-models with that of another switch of this release, or"
    ' install the image again; `sudo python3 -c "import sonic_yang;'
    " sonic_yang.SonicYang('/usr/local/yang-models').loadYangModel()\"` on the switch repeats what fails"
)


def unasked(fault: str) -> str:
    """Return in words that the models cannot be asked."""
    return f"the switch's YANG models cannot be asked: {fault}"


def rejected_place(one: Rejected) -> str:
    """Return the place of what is refused, as it may be shown."""
    table, key, field, _ = one
    if not table:
        return "the configuration"
    return f"{table}|{shown_key(table, key)} {field}".rstrip() if key else f"table {table}"
