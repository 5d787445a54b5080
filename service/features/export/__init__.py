"""The export of the logs to other systems, and the decision log."""
