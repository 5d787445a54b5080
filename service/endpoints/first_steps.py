"""What is still to be done in a new installation: ``/api/system/first-steps``."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from service.diagnosis.upkeep_checks import NEW
from service.kernel.clock import now
from service.records import seed
from service.records.database.transactions import Database
from service.records.user_overview import oldest_user
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import named, needs
from service.web.messages.schema import Schema

Step = Annotated[bool, Meta(examples=[False])]


class FirstSteps(Schema):
    """Which of the first steps have been taken, from what is stored.

    `password`: the first administrator has another password than that of the first start, or another name.
    `role`, `user`, `resource`: there is one that no start has brought. `backup`: one was made, or others make
    backups (`database.backup_days` is 0). `isNew` for a week after the first start: what is still missing
    then is told by the findings.
    """

    is_new: Annotated[bool, Meta(examples=[True])]
    password: Step
    role: Step
    user: Step
    resource: Step
    backup: Step


class SystemFirstSteps:
    """``/api/system/first-steps``."""

    def __init__(self, database: Database, *, backups_elsewhere: bool) -> None:
        self._database = database
        self._backups_elsewhere = backups_elsewhere

    @needs("system:doctor:read")
    @named("getFirstSteps")
    async def on_get(self, context: RequestContext) -> FirstSteps:
        """Read what is still as the first start has left it, and has to be done."""
        async with self._database.transaction() as connection:
            taken = await seed.first_steps(connection)
            began = await oldest_user(connection)
        return FirstSteps(
            is_new=began is not None and now() - began < NEW,
            password=taken.password,
            role=taken.role,
            user=taken.user,
            resource=taken.resource,
            backup=taken.backup or self._backups_elsewhere,
        )
