"""Work that comes back at intervals, done by one worker of all nodes at a time."""
