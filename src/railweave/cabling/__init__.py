"""Cables: which medium links two ends, and the cable table of a fabric."""
