"""Stored rows that need a feature which is off, and those that switch a feature on or off."""

from collections.abc import Collection

from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.feature import off_by, provided


async def rows_in_need(connection: AsyncConnection, off: Collection[str]) -> list[str]:
    """Return a sentence for each feature that is needed, and named by ``off``, the setting ``features.off``.

    Each has the number of its rows, and what to do.
    """
    faults = []
    for feature in off_by(off):
        if not feature.rows:
            continue
        count, what = await feature.part(feature.rows)(connection)
        if count:
            faults.append(f"features.off names {feature.name}, but {what} ({count} in the database)")
    return faults


async def switch_features(connection: AsyncConnection, off: Collection[str]) -> None:
    """Let features store that they are on, or delete what they stored; the port ``switched``."""
    gone = {feature.name for feature in off_by(off)}
    for name, switch in provided("switched").items():
        await switch(connection, on=name not in gone)
