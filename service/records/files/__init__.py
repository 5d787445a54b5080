"""``sys.file``: uploads, stored files, public links, and the sweep's queries."""
