"""Derives the policy from the stored data, publishes it as a revision, and loads it in each worker."""
