"""Fewer examples for properties of which one example takes long: whole plans, renderings and rollouts."""

from hypothesis import settings

few = settings(max_examples=settings().max_examples // 2)
