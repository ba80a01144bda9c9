"""``no`` forms that FRR never prints: they leave a setting at its default, which is to be without it.

A template may state them, such as ``no neighbor 10.0.0.1 shutdown``, or take back a line above. FRR prints only the
``no`` forms of features that are on by default (``lines.DEFAULT_ON``) and of activation. Run on FRR 8.4.4 and 10.3, on
the ``no`` form of every command of tests/support/frr_spellings.py.
"""

import re
from collections.abc import Iterable

from railweave.sonic.frr.lines import FrrEntry, slot

_OF_NEIGHBOR = (
    "accept-own|addpath-tx-all-paths|addpath-tx-bestpath-per-AS|advertisement-interval|allowas-in|as-override|"
    "attribute-unchanged|bfd|capability dynamic|capability orf|default-originate|description|disable-addpath-rx|"
    "disable-connected-check|distribute-list|dont-capability-negotiate|ebgp-multihop|filter-list|graceful-restart|"
    "graceful-restart-disable|graceful-restart-helper|graceful-shutdown|local-as|maximum-prefix|maximum-prefix-out|"
    "next-hop-self|next-hop-unchanged|nexthop-local|override-capability|passive|password|peer-group|port|prefix-list|"
    "remove-private-AS|route-map|route-reflector-client|route-server-client|sender-as-path-loop-detection|shutdown|"
    "soft-reconfiguration|solo|strict-capability-match|tcp-mss|timers|ttl-security|unsuppress-map|update-source|weight"
)
_OF_BGP = (
    "always-compare-med|bestpath|cluster-id|confederation|dampening|default local-preference|deterministic-med|"
    "graceful-restart|graceful-restart preserve-fw-state|graceful-restart restart-time|"
    "graceful-restart rib-stale-time|graceful-restart select-defer-time|graceful-restart stalepath-time|"
    "listen|log-neighbor-changes|max-med|route-map delay-timer|router-id|session-dscp|shutdown|suppress-fib-pending|"
    "update-delay"
)
_NEVER_PRINTED = re.compile(
    rf"no (neighbor \S+ ({_OF_NEIGHBOR})( (?!notification)|$)|bgp ({_OF_BGP})( (?!notification)|$)|"
    r"(timers bgp|coalesce-time|maximum-paths|distance|table-map|network|redistribute|aggregate-address|match|set|call|"
    r"on-match|continue|description|(ip|ipv6) (route|prefix-list|access-list|protocol|router-id)|access-list|"
    r"bgp (as-path access-list|community-list|large-community-list|extcommunity-list))( |$))"
)


def is_never_printed(line: str) -> bool:
    """Tell whether a line is a ``no`` form that FRR does not print."""
    return line.startswith("no ") and _NEVER_PRINTED.match(line) is not None


def without_negations(entries: Iterable[FrrEntry]) -> dict[FrrEntry, None]:
    """Return the lines without the ``no`` forms that FRR does not print, and without the lines that these remove.

    A ``no`` form removes lines above itself. The result is an ordered set: a mapping to None.
    """
    remaining: dict[FrrEntry, None] = {}
    for entry in entries:
        if is_never_printed(entry.line):
            for removed in _removed_by(entry, remaining):
                del remaining[removed]
        else:
            remaining[entry] = None
    return remaining


def _removed_by(negation: FrrEntry, entries: Iterable[FrrEntry]) -> list[FrrEntry]:
    """Return the lines of which ``negation`` is the ``no`` form, with or without their value."""
    command = negation.line.removeprefix("no ")
    slots = {command, slot(command)}
    return [entry for entry in entries if entry.context == negation.context and slot(entry.line) in slots]
