"""``casbin_rule`` as a class, which Casbin's SQLAlchemy adapter requires.

The other tables don't import it: it is all that uses SQLAlchemy's ORM.
"""

from sqlalchemy.orm import DeclarativeBase

from service.records.schema.base import metadata
from service.records.schema.policy import casbin_rule


class _Base(DeclarativeBase):
    metadata = metadata


class CasbinRule(_Base):
    """A row of ``casbin_rule``."""

    __table__ = casbin_rule
