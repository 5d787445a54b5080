"""Observability for operators: log lines, metrics and health."""
