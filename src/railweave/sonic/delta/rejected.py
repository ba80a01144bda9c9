"""What a switch's YANG models refuse, and where, or why they could not be used."""

from dataclasses import dataclass

from railweave.secrets import shown_key

Rejected = tuple[str, str, str, str]
"""Table, key, field and SONiC's words, which may quote secrets; an empty field is the whole row, an empty key the whole
table, and an empty table says that the place is not known."""


@dataclass(frozen=True, slots=True)
class ModelsVerdict:
    """The result of validating a configuration with a switch's own models; ``fault`` is why that was impossible."""

    rejected: tuple[Rejected, ...] = ()
    fault: str = ""


REMEDY = (
    "the models belong to the image: compare /usr/local/yang-models with that of another switch of this release, or"
    ' install the image again; `sudo python3 -c "import sonic_yang;'
    " sonic_yang.SonicYang('/usr/local/yang-models').loadYangModel()\"` on the switch repeats what fails"
)


def unasked(fault: str) -> str:
    """Say why the models could not be used."""
    return f"the switch's YANG models cannot be asked: {fault}"


def rejected_place(rejected: Rejected) -> str:
    """Return the place of what is refused, keys that are secrets hidden."""
    table, key, field, _ = rejected
    if not table:
        return "the configuration"
    if not key:
        return f"table {table}"
    return f"{table}|{shown_key(table, key)} {field}".rstrip()
