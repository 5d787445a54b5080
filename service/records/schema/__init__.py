"""The tables as SQLAlchemy objects; ``service.records.migrations`` creates the same ones.

Describes columns, keys and constraints; holds no query.
"""

from service.records.schema import (  # noqa: F401 - so that ``metadata`` has all tables
    directories,
    installation,
    logs,
    of_users,
    policy,
    requests,
    reviews,
    rights,
    scim,
)
from service.records.schema.base import SCHEMA, metadata

__all__ = ["SCHEMA", "metadata"]
