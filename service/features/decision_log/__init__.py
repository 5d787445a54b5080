"""The decision log: its events, their lines, and the thread that writes them."""
