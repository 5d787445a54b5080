"""All tables of the service and its features in ``metadata``; other modules import the tables they use."""

from service.kernel.feature import declared
from service.records.schema import (  # noqa: F401 - so that ``metadata`` has all tables
    installation,
    logs,
    of_users,
    policy,
    request_rules,
    rights,
)
from service.records.schema.base import metadata

__all__ = ["metadata"]

for _feature in declared():  # a feature that is off keeps its tables
    if _feature.tables:
        _feature.part(_feature.tables)
