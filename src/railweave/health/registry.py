"""All rules, in the order of the reference page: the five rows of every RoCE guide first."""

from railweave.health.model import HealthRule
from railweave.health.rules import (
    fabric_state,
    fec_uncorrectable,
    incast_drops,
    link_errors,
    link_flaps,
    lossless_group_drops,
    lossless_queue_drops,
    marked_share,
    marks_never,
    mixed_traffic,
    mtu_mismatch,
    pfc_storm,
    pfc_without_ecn,
    priority_mismatch,
    slow_rail,
    uplink_imbalance,
)

RULES: tuple[HealthRule, ...] = (
    mtu_mismatch.RULE,
    priority_mismatch.RULE,
    marks_never.RULE,
    marked_share.RULE,
    mixed_traffic.RULE,
    incast_drops.RULE,
    lossless_queue_drops.RULE,
    lossless_group_drops.RULE,
    pfc_storm.RULE,
    pfc_without_ecn.RULE,
    uplink_imbalance.RULE,
    slow_rail.RULE,
    link_errors.RULE,
    fec_uncorrectable.RULE,
    link_flaps.RULE,
    fabric_state.LINKS,
    fabric_state.NEIGHBORS,
    fabric_state.SESSIONS,
    fabric_state.STATE,
)
