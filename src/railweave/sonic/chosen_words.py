"""The words of a configuration that people chose: what is passed on has none of them."""

from railweave.sonic.rows import ConfigDb

_SHORTEST_NAME = 4


def names_in(config_db: ConfigDb) -> frozenset[str]:
    """Return every word of a configuration that people may have chosen: values, and the parts of keys, but for ports,
    numbers, and what is shorter than four characters."""
    ports = config_db.get("PORT", {}).keys()
    words: set[str] = set()
    for rows in config_db.values():
        for key, row in rows.items():
            words.update(key.split("|"))
            for value in row.values():
                words.update((value,) if isinstance(value, str) else value)
    return frozenset(
        word for word in words - ports if len(word) >= _SHORTEST_NAME and any(one.isalpha() for one in word)
    )
