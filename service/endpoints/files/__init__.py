"""Files and public links: ``/api/file``."""
