"""Cables: which medium links two ends, which plugs a cable joins, and the cable table of a fabric."""
