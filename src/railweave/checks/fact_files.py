"""What is kept of a switch as its facts: the tables and routing lines that checks read, and no secret."""

from railweave.secrets import shown_frr, shown_key, shown_row
from railweave.sonic.document import RunningConfig, dump, parse_running
from railweave.sonic.port_settings import decides_links
from railweave.sonic.static_routes import STATIC_ROUTE


def switch_facts(printed: str) -> str:
    """Return the facts of a switch from what ``show runningconfiguration all`` printed; raises DocumentError.

    User accounts, communities and keys of servers stand in tables that no check reads, passwords of BGP sessions in the
    routing text; facts are files that people pass on, so neither is kept.
    """
    running = parse_running(printed)
    tables = {
        name: {shown_key(name, key): shown_row(name, row) for key, row in rows.items()}
        for name, rows in running.config_db.items()
        if decides_links(name) or name == STATIC_ROUTE
    }
    frr = None if running.frr is None else shown_frr(running.frr)
    return dump(RunningConfig(tables, frr))
