"""The launcher: the order of a start, and the processes that serve. It knows nothing of single requests."""
