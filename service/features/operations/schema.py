"""The backups that were made of this database."""

from datetime import datetime

import sqlalchemy as sa
from msgspec import Struct

from service.records.schema.base import moment, table_of


class Backup(Struct, frozen=True):
    """A complete backup, by the id in its manifest; ``snapshot_time`` is the moment that it holds."""

    id: str
    make_time: datetime
    snapshot_time: datetime
    user_name: str
    with_files: bool


backup = table_of(Backup, "backup", sa.Column("id", sa.Text, primary_key=True), moment("make_time"))
