"""What monitoring needs of a fabric: thresholds as metrics, alert rules, and the files of Prometheus and gnmic."""
