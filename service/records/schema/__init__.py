"""The tables as SQLAlchemy objects, and ``functions.sql``: what a new database is made from.

Describes columns, keys and constraints; holds no query. ``service.records.migrations`` brings databases that
exist to the same schema.
"""
