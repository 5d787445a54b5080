"""A cluster of Redis or Valkey as session store."""
