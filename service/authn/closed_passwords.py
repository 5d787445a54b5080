"""Whose password opens no session, since they sign in with a provider in its place."""

from service.records import directories, role_rights
from service.records.database.transactions import Database


async def password_is_closed(database: Database, closed: frozenset[str], user_id: int) -> bool:
    """Tell whether a user has an account at one of the providers ``closed``, and so uses no password.

    Who may do everything keeps the password: somebody must get in while the provider does not answer.
    """
    async with database.snapshot() as connection:
        if not any(each.source in closed for each in await directories.origins_of(connection, user_id)):
            return False
        return not await role_rights.is_administrator(connection, user_id)
