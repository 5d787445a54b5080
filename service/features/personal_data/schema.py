"""Erasures of people, with the values that are searched while an erasure runs."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from service.records.schema.base import metadata, moment

# No foreign keys: the account is deleted, and ids are never reused.
erasure = sa.Table(
    "erasure",
    metadata,
    sa.Column("user_id", sa.BigInteger, primary_key=True, autoincrement=False),
    moment("begin_time"),
    # Null while the erasure runs.
    sa.Column("end_time", sa.DateTime(timezone=True)),
    # The caller; null for the operator.
    sa.Column("author_id", sa.BigInteger),
    # The person's names and other values; null once the erasure has ended.
    sa.Column("names", ARRAY(sa.Text)),
    sa.Column("searched", ARRAY(sa.Text)),
    # The regular expression of the values, by which triggers recognize an erasure.
    sa.Column("pattern", sa.Text),
    sa.CheckConstraint("num_nulls(end_time, names, searched, pattern) IN (1, 3)", name="running"),
    sa.CheckConstraint("(end_time IS NULL) = (pattern IS NOT NULL)", name="pattern"),
)
