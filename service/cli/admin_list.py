"""``portcullis admin list``: the users, as a table or as JSON."""

from __future__ import annotations

import asyncio
import json

from service.cli.output import aligned
from service.kernel.clock import rfc3339
from service.records.database.transactions import Database
from service.records.schema_revision import require_current
from service.records.users.overview import Overview, overview
from service.settings import Settings

_WITHIN = 60.0  # seconds; a hundred thousand users take two
_HEAD = ("ID", "NAME", "KIND", "STATUS", "MAY DO EVERYTHING", "LAST CHANGE", "ROLES")


def list_users(settings: Settings, role_code: str | None, *, as_json: bool) -> str:
    """Return all users, or the users with the role: a table, or a JSON array of objects.

    Disabled roles are in parentheses. Raises ``ValidationFailed`` for an unknown role, ``SchemaError`` and
    ``Unavailable``.
    """
    require_current(settings.database.url)
    found = asyncio.run(_read(settings, role_code))
    if as_json:
        return json.dumps([_members(one) for one in found], indent=2)
    return "\n".join(aligned([_HEAD, *map(_cells, found)]))


async def _read(settings: Settings, role_code: str | None) -> list[Overview]:
    database = Database(settings.database.url, pool_size=1, timeout=settings.database.timeout)
    try:
        async with database.snapshot(within=_WITHIN) as connection:
            return await overview(connection, role_code)
    finally:
        await database.close()


def _members(one: Overview) -> dict[str, object]:
    return {
        "id": one.id,
        "userName": one.user_name,
        "kind": one.kind,
        "status": one.status,
        "roles": list(one.roles),
        "disabledRoles": list(one.disabled_roles),
        "createTime": rfc3339(one.create_time),
        "updateTime": rfc3339(one.update_time),
        "mayDoEverything": one.everything and one.status == "enabled",
    }


def _cells(one: Overview) -> tuple[str, ...]:
    roles = [*one.roles, *(f"({code})" for code in one.disabled_roles)]
    everything = one.everything and one.status == "enabled"
    return (
        str(one.id),
        one.user_name,
        one.kind,
        one.status,
        "yes" if everything else "no",
        rfc3339(one.update_time),
        ", ".join(roles) or "-",
    )
