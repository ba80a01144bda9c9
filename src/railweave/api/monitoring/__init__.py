"""What runs beside a fabric and serves its metrics."""
