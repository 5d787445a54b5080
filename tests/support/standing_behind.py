"""Who stands behind whom in the database of a service, written and read past it."""

from tests.support.inside import Inside
from tests.support.members import query

ACTED: str = (
    "INSERT INTO sys.account_control (holder_id, account_id, act, act_time)"
    " VALUES (%s, %s, %s, now() - %s * interval '1 day')"
)
_EDGES: str = (
    "SELECT holder.user_name, account.user_name, act FROM sys.account_control"
    " JOIN sys.user holder ON holder.id = holder_id JOIN sys.user account ON account.id = account_id"
    " WHERE end_time IS NULL"
)


async def acted(
    service: Inside, holder_id: int, account_id: int, act: str = "password", days: float = 0
) -> None:
    """Write that the user of an account did something to another one, so many ``days`` ago."""
    await query(service, ACTED, holder_id, account_id, act, days)


async def edges(service: Inside) -> set[tuple[str, str, str]]:
    """Return who did what to whom: the names of holder and account, and the act."""
    return {*await query(service, _EDGES)}
