"""``portcullis admin list``: the users, as a table or as JSON."""

from __future__ import annotations

import asyncio
import json

from service.cli.output import aligned
from service.kernel.clock import rfc3339
from service.records.database.transactions import Database
from service.records.schema_revision import require_current
from service.records.user_overview import Overview, overview
from service.settings import Settings

_WITHIN = 60.0  # seconds; a hundred thousand users take two
_HEAD = ("ID", "NAME", "KIND", "STATUS", "MAY DO EVERYTHING", "LAST CHANGE", "ROLES")


def list_users(settings: Settings, role_code: str | None, *, as_json: bool) -> str:
    """Return all users, or the users with the role: a table, or a JSON array of objects.

    Disabled roles are in parentheses. Raises ``ValidationFailed`` for an unknown role, ``SchemaError`` and
    ``Unavailable``.
    """
    require_current(settings.database.url)
    users = asyncio.run(_read(settings, role_code))
    if as_json:
        return json.dumps([_members(user) for user in users], indent=2)
    return "\n".join(aligned([_HEAD, *map(_cells, users)]))


async def _read(settings: Settings, role_code: str | None) -> list[Overview]:
    database = Database(settings.database.url, pool_size=1, timeout=settings.database.timeout)
    try:
        async with database.snapshot(within=_WITHIN) as connection:
            return await overview(connection, role_code)
    finally:
        await database.close()


def _members(user: Overview) -> dict[str, object]:
    return {
        "id": user.id,
        "userName": user.user_name,
        "kind": user.kind,
        "status": user.status,
        "roles": list(user.roles),
        "disabledRoles": list(user.disabled_roles),
        "createTime": rfc3339(user.create_time),
        "updateTime": rfc3339(user.update_time),
        "mayDoEverything": user.everything and user.status == "enabled",
    }


def _cells(user: Overview) -> tuple[str, ...]:
    roles = [*user.roles, *(f"({code})" for code in user.disabled_roles)]
    everything = user.everything and user.status == "enabled"
    return (
        str(user.id),
        user.user_name,
        user.kind,
        user.status,
        "yes" if everything else "no",
        rfc3339(user.update_time),
        ", ".join(roles) or "-",
    )
