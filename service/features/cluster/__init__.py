"""A cluster of Redis or Valkey as the session store."""
