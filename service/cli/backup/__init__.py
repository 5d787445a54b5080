"""``portcullis backup`` and ``portcullis restore``: all that an installation has stored, in one file."""
