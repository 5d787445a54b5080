"""Requests and answers as values: the context, schemas, bodies, queries, headers, metadata of operations."""
