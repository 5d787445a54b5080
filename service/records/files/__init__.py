"""``sys.file``: uploads, stored files, public links and what a sweep collects."""
