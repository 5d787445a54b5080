"""Metrics of workers, and of the whole installation, for Prometheus."""
