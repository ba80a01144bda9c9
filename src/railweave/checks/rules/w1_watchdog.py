"""A NIC that pauses for ever stops every flow behind it; the watchdog of SONiC drops what waits for it, and nothing
else."""

from railweave.checks.registry import Breach, Breaches, LinkBreach, LinkBreaches, LinkEnds, not_exactly, rule
from railweave.diagnostics import Severity
from railweave.intent.model import Intent

RULE = rule("W-1", "the PFC watchdog watches exactly the lossless queues", __doc__, "pfc_watchdog: {enabled: false}")


@RULE.on_intent
def check_enabled(intent: Intent) -> Breaches:
    """Yield a warning if a class is lossless and the watchdog is off."""
    has_lossless = any(traffic_class.lossless for traffic_class in intent.policies.classes)
    if has_lossless and not intent.policies.watchdog.enabled:
        message = "the PFC watchdog is off: one NIC that pauses for ever stops every flow behind it"
        yield Breach("pfc_watchdog.enabled", message, "leave out pfc_watchdog.enabled", Severity.WARNING)


@RULE.on_link
def compare_watched_priorities(link: LinkEnds) -> LinkBreaches:
    """Yield a breach for each switch port whose watchdog watches other priorities than the lossless ones."""
    # The intent may turn the watchdog off.
    lossless = link.lossless if link.policies.watchdog.enabled else frozenset()
    for end in link.switches:
        yield from not_exactly(link, end, "watches for storms", "the watchdog", (end.watched, lossless))


@RULE.on_link
def compare_action(link: LinkEnds) -> LinkBreaches:
    """Yield a breach for each switch port whose watchdog has another action in a storm than designed."""
    for end in link.switches:
        watch = end.watch_times
        design = link.design(end).watch_times
        if watch and design and watch.action != design.action:
            actual = f"does {watch.action}" if watch.action else "has no action"
            message = (
                f"the watchdog of {end} towards {link.far(end)} is to {design.action} what a storm holds up, and"
                f" {actual}"
            )
            fix = f"set PFC_WD|{end.port}|action to {design.action}: delete the row and write it anew"
            yield LinkBreach(end, "action", message, fix)


@RULE.on_link
def check_counter_group(link: LinkEnds) -> LinkBreaches:
    """Yield a breach for each switch port whose watchdog sees no storm.

    A watchdog goes by the counters of the group PFCWD (sonic-swss pfcwdorch.cpp).
    """
    for end in link.switches:
        if end.is_watchdog_blind and end.watched:
            message = (
                f"the watchdog of {end} towards {link.far(end)} sees no storm: the counter group PFCWD of"
                f" {end.device} is disabled"
            )
            fix = "enable its counters: `sudo pfcwd counter_poll enable`"
            yield LinkBreach(end, "counters", message, fix)


@RULE.on_link
def check_big_red_switch(link: LinkEnds) -> LinkBreaches:
    """Yield a breach for each switch port that drops lossless packets whether or not there is a storm."""
    for end in link.switches:
        if end.drops_lossless:
            message = (
                f"{end.device} drops all lossless packets, {end} towards {link.far(end)} too: its BIG_RED_SWITCH is on"
            )
            yield LinkBreach(end, "red switch", message, "turn it off: `sudo pfcwd big_red_switch disable`")
