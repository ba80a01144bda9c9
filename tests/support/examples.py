"""Fewer examples for properties of which one example takes long: whole plans, renderings and rollouts."""

from hypothesis import settings

few = settings(max_examples=settings().max_examples // 2)

fewest = settings(max_examples=min(few.max_examples, max(12, settings().max_examples // 5)))
"""For a property of which one example takes seconds: a fifth of many."""
