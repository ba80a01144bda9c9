"""Readings of switches as metrics for Prometheus: what `railweave exporter` serves."""
