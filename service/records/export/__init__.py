"""The audit export: entries in the order in which they were committed, and the state of destinations."""
