"""Files outside of the tables that can hold a person: backups, evidence archives, and uploaded files."""

from datetime import datetime
from typing import Final, Literal

import sqlalchemy as sa
from msgspec import Struct

from service.administration.change_log import user_target
from service.features.personal_data.persons import Person
from service.records.database.transactions import Connection

MOST: Final = 100
"""Archives of a kind that are listed; the latest ones."""

_BACKUPS: Final = """
SELECT 'backup' AS kind, id AS name, snapshot_time AS time FROM sys.backup ORDER BY snapshot_time DESC
"""
_FILES: Final = """
SELECT 'file' AS kind, name, create_time AS time FROM sys.file
WHERE owner_id = :user_id AND state = 'stored' ORDER BY id DESC
"""
_EVIDENCE: Final = """
SELECT 'evidence' AS kind, url AS name, create_time AS time
FROM sys.operation_log, LATERAL (SELECT
    CAST(substring(url FROM '^(?:/api/|portcullis evidence )review[/ ]([0-9]{1,18})') AS bigint)
        AS archived_review,
    CAST(substring(url FROM '^portcullis evidence request ([0-9]{1,18})') AS bigint) AS archived_request
) AS archived
WHERE action = 'export evidence' AND status = 200 AND (
    archived_review IN (
        SELECT review_id FROM sys.review_item WHERE user_id = :user_id OR reviewer_id = :user_id
    )
    OR archived_review IN (SELECT id FROM sys.review WHERE author_id = :user_id)
    OR archived_request IN (SELECT id FROM sys.access_request WHERE user_id = :user_id)
    OR archived_request IN (SELECT request_id FROM sys.access_decision WHERE user_id = :user_id)
    OR targets && CAST(:targets AS text[])
)
ORDER BY create_time DESC
"""


class Archive(Struct, frozen=True):
    """A file that can hold a person: the id of a backup, the address of an export, the name of an upload."""

    kind: Literal["backup", "evidence", "file"]
    name: str
    time: datetime


async def archives(connection: Connection, person: Person) -> list[Archive]:
    """Return the archives that can hold a person, at most ``MOST`` of each kind."""
    values = {
        "user_id": person.user_id,
        "targets": [*person.targets, user_target(person.mark)],
        "most": MOST,
    }
    listed: list[Archive] = []
    for statement in (_BACKUPS, _EVIDENCE, _FILES):
        rows = await connection.execute(sa.text(f"{statement} LIMIT :most"), values)
        listed += [Archive(row.kind, row.name, row.time) for row in rows]
    return listed
