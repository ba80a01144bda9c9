"""What a switch's YANG models refuse, and where."""

from railweave.secrets import shown_key

Rejected = tuple[str, str, str, str]
"""Table, key, field and SONiC's words, which may quote secrets; an empty field is the whole row, an empty key the whole
table, and an empty table says that the place is not known."""


def rejected_place(one: Rejected) -> str:
    """Return the place of what is refused, as it may be shown."""
    table, key, field, _ = one
    if not table:
        return "the configuration"
    return f"{table}|{shown_key(table, key)} {field}".rstrip() if key else f"table {table}"
