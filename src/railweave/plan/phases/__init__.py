"""Phases: a change that would disrupt traffic in one step, as a sequence of fabrics that each carry it.

``planning`` puts the phases of a change in order; ``restriping``, ``speed_change``, ``class_change``, ``shared_values``
and ``removal`` make those of one kind, and ``progress`` tells how far a fabric is.
"""
