"""Directories; other parts of the program cannot edit what a directory manages."""
