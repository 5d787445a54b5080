"""Changes of a restore in the database: ids, versions, secrets, and keys of objects."""

from dataclasses import dataclass, replace
from typing import Final

from sqlalchemy import BigInteger, delete, func, literal, or_, text, update

from service.kernel.feature import provided
from service.records.database.transactions import Connection
from service.records.published import bit_positions
from service.records.schema import rights
from service.records.schema.of_users import file, object_space

LEAST_MARGIN: Final = 1_000_000
"""Ids of each table that a restore leaves out at least."""
A_SECOND: Final = 10_000
"""Number of ids of each table skipped in addition, for each second since the backup."""
LEAST_EDITS: Final = 1_000
"""Versions of each record that a restore leaves out at least."""
EDITS_A_SECOND: Final = 10
"""Number of versions of each record skipped in addition, for each second since the backup."""
SHARE: Final = 16
"""A restore leaves out at most this part of the ids, and of the versions, that are left: 1/16."""
POSITIONS: Final = 1024
"""Bit positions that wait, for Buttons that were made after the backup."""

_EXACT: Final = 2**53 - 1  # the greatest integer that every JSON reader keeps exactly
_GREATEST_VERSION: Final = 2**31 - 1
_VERSIONED: Final = (rights.user, rights.role, rights.menu, rights.service, rights.resource)

# The sequences of identity columns and of serial ones, those of extensions' tables too.
_SEQUENCES: Final = text("""
SELECT format('%I.%I', sequences.schemaname, sequences.sequencename) AS name,
    greatest(coalesce(sequences.last_value, 0), 0) AS last, least(sequences.max_value, :exact) AS most
FROM pg_sequences AS sequences
JOIN pg_class AS class ON class.oid = format('%I.%I', sequences.schemaname, sequences.sequencename)::regclass
WHERE EXISTS (
    SELECT FROM pg_depend AS owned
    WHERE owned.classid = 'pg_class'::regclass AND owned.objid = class.oid AND owned.deptype IN ('a', 'i')
        AND owned.refclassid = 'pg_class'::regclass AND owned.refobjsubid > 0
)
ORDER BY 1
""")
_MOVE: Final = text("SELECT setval(CAST(:name AS regclass), :value)")
_TABLES: Final = text("""
SELECT count(*) FROM pg_class AS class JOIN pg_namespace AS place ON place.oid = class.relnamespace
WHERE class.relkind IN ('r', 'p', 'v', 'm', 'f') AND place.nspname <> 'information_schema'
    AND place.nspname NOT LIKE 'pg\\_%'
    AND NOT EXISTS (SELECT FROM pg_depend AS part WHERE part.objid = class.oid AND part.deptype = 'e')
""")


@dataclass(frozen=True, slots=True)
class Secrets:
    """Numbers of revoked API keys, public links and recovery codes, and of discarded waiting mails."""

    api_keys: int = 0
    links: int = 0
    recovery_codes: int = 0
    mails: int = 0


async def count_tables(connection: Connection) -> int:
    """Return the number of tables and views in the database, including those of other programs."""
    return int((await connection.execute(_TABLES)).scalar_one())


async def server_version(connection: Connection) -> int:
    """Return ``server_version_num``, such as 180001."""
    return int((await connection.execute(text("SHOW server_version_num"))).scalar_one())


async def raise_ids(connection: Connection, seconds: float) -> int:
    """Advance every identity column beyond the ids given in the ``seconds`` since the backup.

    Return the number of advanced columns. The ids given since are unknown. The margin is more than an
    installation writes in that time, and never more than a part of the remaining ids.
    """
    margin = LEAST_MARGIN + round(A_SECOND * max(0.0, seconds))
    sequences = (await connection.execute(_SEQUENCES, {"exact": _EXACT})).all()
    for name, last, most in sequences:
        value = last + min(margin, max(0, most - last) // SHARE)
        await connection.execute(_MOVE, {"name": name, "value": value})
    return len(sequences)


async def raise_versions(connection: Connection, seconds: float) -> None:
    """Move the version of every record on, beyond the edits in the ``seconds`` since the backup.

    Without that, the next edits would give a record versions that it had before the restore, with another
    content: ``If-Match`` with the tag of then would match.
    """
    margin = LEAST_EDITS + round(EDITS_A_SECOND * max(0.0, seconds))
    for table in _VERSIONED:
        left = (literal(_GREATEST_VERSION) - table.c.version) // SHARE
        raised = table.c.version + func.least(literal(margin, BigInteger()), left)
        await connection.execute(update(table).values(version=raised))


async def retire_unknown_positions(connection: Connection) -> None:
    """Retire the next ``POSITIONS`` bit positions, as if their codes had just been deleted.

    Positions assigned after the backup are among them, and other services may still read tokens with them.
    """
    await bit_positions.retire(connection, await bit_positions.unused(connection), None, count=POSITIONS)


async def end_secrets(
    connection: Connection, *, api_keys: bool, links: bool, recovery_codes: bool
) -> Secrets:
    """End all API keys, public links and recovery codes: some may have been revoked or used since.

    The links that owners of accounts were sent end in any case, and mails that waited are given up: they may
    have been sent since.
    """
    for forget in provided("links-restored").values():
        await forget(connection)
    mails = [await give_up(connection) for give_up in provided("restored").values()]
    ended = Secrets(mails=sum(mails))
    if api_keys:
        live = or_(rights.api_key.c.expire_time.is_(None), rights.api_key.c.expire_time > func.now())
        rows = await connection.execute(update(rights.api_key).where(live).values(expire_time=func.now()))
        ended = replace(ended, api_keys=rows.rowcount)
    if links:
        gone = {"token_hash": None, "token_expire_time": None}
        rows = await connection.execute(update(file).where(file.c.token_hash.is_not(None)).values(gone))
        ended = replace(ended, links=rows.rowcount)
    if recovery_codes:
        rows = await connection.execute(delete(rights.recovery_code))
        await connection.execute(
            delete(rights.user_factor).where(rights.user_factor.c.kind == "recovery_codes")
        )
        ended = replace(ended, recovery_codes=rows.rowcount)
    return ended


async def spend_app_codes(connection: Connection, step: int) -> None:
    """Refuse the codes of all apps up to a time step: some may have been used after the backup."""
    apps = update(rights.user_factor).where(rights.user_factor.c.kind == "totp")
    await connection.execute(apps.values(last_step=func.greatest(rights.user_factor.c.last_step, step)))


async def begin_objects(connection: Connection, prefix: str, *, moved: bool) -> None:
    """Let ``prefix`` start the keys of new objects.

    With ``moved`` those of all stored files as well, whatever prefix an earlier restore has left them.
    """
    if moved:
        name = func.substr(file.c.key, func.strpos(file.c.key, "/"))
        renamed = update(file).where(file.c.state == "stored").values(key=func.concat(literal(prefix), name))
        await connection.execute(renamed)
    await connection.execute(update(object_space).values(prefix=prefix, swept_time=None))
