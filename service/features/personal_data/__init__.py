"""Personal data: its inventory, and copies for people."""
