"""What operators see: log lines, metrics and health."""
