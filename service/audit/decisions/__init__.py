"""The decision log: its events, and the file or output that they are written to."""
