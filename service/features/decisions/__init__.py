"""Decisions for other services: AuthZEN evaluations and searches, and forward authentication."""
