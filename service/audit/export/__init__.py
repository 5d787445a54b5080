"""The audit export: sends entries of the logs to other systems, at least once and in order."""
