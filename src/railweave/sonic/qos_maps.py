"""CONFIG_DB's QoS maps: their tables, and the numbers that each may hold."""

CLASS_MAPS = (
    "TC_TO_QUEUE_MAP",
    "TC_TO_PRIORITY_GROUP_MAP",
    "MAP_PFC_PRIORITY_TO_QUEUE",
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
)
"""The maps from a traffic class or a priority to where it is queued."""

QOS_MAPS = ("DSCP_TO_TC_MAP", *CLASS_MAPS)

MOST_MAPPED = dict(zip(QOS_MAPS, ((63, 15), (15, 9), (15, 7), (7, 7), (7, 7)), strict=True))
"""The highest key and value of each QoS map (sonic-yang-models of 202505: sonic-dscp-tc-map and others)."""
