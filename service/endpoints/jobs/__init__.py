"""``/api/jobs``: what the service does by itself."""
