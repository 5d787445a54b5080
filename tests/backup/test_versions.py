"""A record can be restored as often as one likes: its version never leaves its column."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from service.records import recovery_points
from service.records.database.transactions import Database

pytestmark = pytest.mark.anyio


async def test_versions_rise_with_the_time_since_the_backup_and_stay_integers(
    seeded_database_url: str,
) -> None:
    versions = text("SELECT version FROM sys.role WHERE role_code IN ('user', 'auditor') ORDER BY version")
    high = text("UPDATE sys.role SET version = 2147483000 WHERE role_code = 'auditor'")
    database = Database(seeded_database_url, pool_size=1)
    async with database.transaction(within=30) as connection:
        await connection.execute(high)
        await recovery_points.raise_versions(connection, 60.0)
        least = 1 + recovery_points.LEAST_EDITS + 60 * recovery_points.EDITS_A_SECOND
        assert (await connection.execute(versions)).scalars().all() == [
            least,
            2147483000 + 647 // recovery_points.SHARE,
        ]
        for _ in range(40):
            await recovery_points.raise_versions(connection, 1e9)
        assert max((await connection.execute(versions)).scalars()) < 2**31
    await database.close()
