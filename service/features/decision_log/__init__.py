"""The decision log: events, their lines, and the thread that writes them."""
