"""The tables as SQLAlchemy objects, and ``functions.sql``: what a new database is made from.

Describes columns, keys and constraints; holds no query. ``service.records.migrations`` brings databases that
exist to the same schema.
"""

from service.kernel.feature import declared
from service.records.schema import (  # noqa: F401 - so that ``metadata`` has all tables
    installation,
    logs,
    of_users,
    policy,
    request_rules,
    rights,
)
from service.records.schema.base import SCHEMA, metadata

__all__ = ["SCHEMA", "metadata"]

for _feature in declared():  # a feature that is off keeps its tables
    if _feature.tables:
        _feature.part(_feature.tables)
