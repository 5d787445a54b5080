"""Personal data: its inventory, copies for people, and erasure."""
