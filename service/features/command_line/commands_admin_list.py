"""``portcullis admin list``: the users, as a table or as JSON."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from service.cli.lazy_commands import add_data, add_json
from service.cli.output import aligned, say, say_text
from service.kernel.clock import rfc3339
from service.operator.database import with_database
from service.operator.stores import reachable
from service.records.database.transactions import Database
from service.records.user_overview import Overview, overview
from service.settings import load

_WITHIN = 60.0  # seconds; a hundred thousand users take two
_HEAD = ("ID", "NAME", "KIND", "STATUS", "MAY DO EVERYTHING", "LAST CHANGE", "ROLES")


def add_arguments(parser: ArgumentParser) -> None:
    add_data(parser)
    parser.add_argument("--role", metavar="CODE", help="only users in this role")
    add_json(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print all users, or the users with the role: a table, or a JSON array of objects.

    Disabled roles are in parentheses. Raises ``ValidationFailed`` for an unknown role, ``SchemaError`` and
    ``Unavailable``.
    """

    async def read(database: Database) -> list[Overview]:
        async with database.snapshot(within=_WITHIN) as connection:
            return await overview(connection, options.role)

    with reachable(load(environ)) as settings:
        users = with_database(settings, read)
    if options.json:
        say_text(json.dumps([_members(user) for user in users], indent=2))
    else:
        say(*aligned([_HEAD, *map(_cells, users)]))


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
