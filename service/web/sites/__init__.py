"""Pages for browsers: the console, the documentation, and the start page."""
