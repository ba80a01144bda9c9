"""The words of a configuration that people chose, which are removed from what is passed on to others."""

from railweave.sonic.rows import ConfigDb

_SHORTEST_NAME = 4


def names_in(config_db: ConfigDb) -> frozenset[str]:
    """Return the values and parts of keys that people may have chosen.

    Ports, numbers and words of up to three letters are left out.
    """
    words: set[str] = set()
    for rows in config_db.values():
        for key, row in rows.items():
            words.update(key.split("|"))
            for value in row.values():
                if isinstance(value, str):
                    words.add(value)
                else:
                    words.update(value)
    words -= config_db.get("PORT", {}).keys()
    return frozenset(word for word in words if len(word) >= _SHORTEST_NAME and any(map(str.isalpha, word)))
