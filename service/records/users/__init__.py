"""``sys.user`` and the roles given to users."""
