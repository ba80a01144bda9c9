"""How many examples a property tries, by how long one takes: always in proportion to the profile that runs."""

from hypothesis import settings

few = settings(max_examples=settings().max_examples // 2)
"""For whole plans, renderings and rollouts."""

fewest = settings(max_examples=min(few.max_examples, max(12, settings().max_examples // 5)))
"""For a property of which one example takes seconds: a fifth of many."""

more = settings(max_examples=3 * settings().max_examples)
"""For a property of which one example takes hundredths of a second."""

many = settings(max_examples=15 * settings().max_examples)
"""For a property of which one example takes milliseconds."""
