"""Export of logs to other systems, and the decision log."""
