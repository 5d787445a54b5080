"""The first steps already taken."""

from typing import Annotated, Final

from msgspec import Meta, Struct
from sqlalchemy import exists, select

from service.features.operations.schema import backup
from service.kernel.text import name_key
from service.records.database.transactions import Connection
from service.records.installation.seed_catalogue import ADMINISTRATOR, ROLES
from service.records.schema.installation import seeded
from service.records.schema.rights import resource, role, user

Step = Annotated[bool, Meta(examples=[False])]


class FirstSteps(Struct, frozen=True):
    """Changes since the state that the first start created.

    ``password``: no user has the first administrator's name and the first password. ``role``, ``user`` and
    ``resource``: one exists that no start created. ``backup``: a backup was made.
    """

    password: Step
    role: Step
    user: Step
    resource: Step
    backup: Step


_FIRST: Final = user.c.user_name_key == name_key(ADMINISTRATOR.user_name)
_BROUGHT: Final = select(seeded.c.code).where(seeded.c.kind == "resource")
_STEPS: Final = select(
    ~exists().where(_FIRST, user.c.password_time.is_(None)),
    exists().where(role.c.role_code.not_in([brought.code for brought in ROLES])),
    exists().where(~_FIRST),
    exists().where(resource.c.resource_code.not_in(_BROUGHT)),
    exists(select(backup.c.id)),
)


async def first_steps(connection: Connection) -> FirstSteps:
    """Return which steps have been taken."""
    return FirstSteps(*(await connection.execute(_STEPS)).one())
