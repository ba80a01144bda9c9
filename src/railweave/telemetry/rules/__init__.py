"""The alert rules: one value each, from which Prometheus' files, their tests and the checks of health follow."""
