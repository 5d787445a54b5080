"""The backups of this database."""

from datetime import datetime

import sqlalchemy as sa
from msgspec import Struct

from service.records.schema.base import moment, table_of


class Backup(Struct, frozen=True):
    """A complete backup, identified by its manifest's id; ``snapshot_time`` is the time of its data."""

    id: str
    make_time: datetime
    snapshot_time: datetime
    user_name: str
    with_files: bool


backup = table_of(Backup, "backup", sa.Column("id", sa.Text, primary_key=True), moment("make_time"))
