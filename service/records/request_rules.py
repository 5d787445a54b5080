"""``sys.request_rule``: how roles are asked for.

Callers that change one hold ``policy_revisions.lock`` and ``role_rights.lock``.
"""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated, Final

from msgspec import Meta
from sqlalchemy import delete as delete_from
from sqlalchemy import func, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.assurance import Demand, words_of
from service.kernel.codes import MAX_CODE_LENGTH
from service.kernel.fields import ITS_EDIT, ITS_TYPE, Field, declared
from service.kernel.request_objects import PublishedRule, Stage
from service.kernel.value_rules import MAX_DURATION
from service.records.database.row_mapper import RowMapper
from service.records.schema.request_rules import request_rule
from service.records.schema.rights import role, role_menu


@declared
@dataclass(frozen=True, slots=True, kw_only=True)
class RuleValues:
    """Rule of requests for a role: requesters, approvers, and limits.

    ``stage_codes`` and ``stage_approvals`` go together: see ``stages``.
    """

    requestable_by: Annotated[
        str,
        Field(ITS_EDIT),
        Meta(max_length=MAX_CODE_LENGTH, examples=["@login"]),
        Meta(description="The requesters: `@login` for every logged-in user, or a permission code."),
    ]
    stage_codes: Annotated[tuple[str, ...], Field(ITS_EDIT, in_api=False, audited=False)]
    stage_approvals: Annotated[tuple[int, ...], Field(ITS_EDIT, in_api=False, audited=False)]
    max_duration: Annotated[
        int,
        Field(MAX_DURATION),
        Meta(examples=[28_800]),
        Meta(description="The maximum duration of an assignment, in seconds."),
    ]
    pending_timeout: Annotated[
        int,
        Field(MAX_DURATION),
        Meta(examples=[86_400]),
        Meta(description="The expiry of an open request, in seconds."),
    ]
    reason_required: Annotated[bool, Field(ITS_TYPE), Meta(description="Requests must have a reason.")]
    grant_needed: Annotated[
        bool,
        Field(ITS_TYPE),
        Meta(description="Approvers must also be able to grant every code of the role."),
    ] = True
    assurance: Annotated[
        Demand | None,
        Field(ITS_TYPE),
        Meta(description="The authentication demanded of requesters; `null` demands nothing more."),
    ] = None
    emergency: Annotated[
        bool,
        Field(ITS_TYPE),
        Meta(description="Requesters get the role at once; another person reviews it afterwards."),
    ] = False

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages, in order."""
        return tuple(map(Stage, self.stage_codes, self.stage_approvals))


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRule(RuleValues):
    """A stored rule; ``version`` rises with each edit.

    ``author_id`` is its last editor, None for the operator. A rule that is ``suspended`` has no lines.
    """

    role_id: int
    role_code: str
    author_id: int | None
    suspended: bool
    version: int
    create_time: datetime
    update_time: datetime
    updated_by: str | None


_RULE: Final = RowMapper(RequestRule, request_rule, role_code=role.c.role_code)
_RULES: Final = _RULE.select.join_from(request_rule, role, role.c.id == request_rule.c.role_id)


async def of_role(connection: AsyncConnection, role_id: int) -> RequestRule | None:
    """Return the rule of a role; None if it has none."""
    return await _RULE.one_or_none(connection, _RULES.where(request_rule.c.role_id == role_id))


async def every(connection: AsyncConnection) -> list[RequestRule]:
    """Return all rules, also those of disabled roles, by role code."""
    return await _RULE.all(connection, _RULES.order_by(role.c.role_code))


async def of_enabled_roles(connection: AsyncConnection) -> list[RequestRule]:
    """Return the rules of all enabled roles that are not suspended, by role code."""
    in_force = role.c.enabled & ~request_rule.c.suspended
    return await _RULE.all(connection, _RULES.where(in_force).order_by(role.c.role_code))


async def roles_with_menu(connection: AsyncConnection, menu_id: int) -> list[int]:
    """Return the ids of the roles that grant a menu and have a rule, in order."""
    given = role_menu.c.role_id == request_rule.c.role_id
    chosen = select(request_rule.c.role_id).join(role_menu, given).where(role_menu.c.menu_id == menu_id)
    return list((await connection.execute(chosen.order_by(request_rule.c.role_id))).scalars())


async def published(connection: AsyncConnection) -> list[PublishedRule]:
    """Return the rules with policy lines: those in force of enabled roles. Others grant nothing."""
    return [published_rule(rule.role_code, rule) for rule in await of_enabled_roles(connection)]


def published_rule(role_code: str, rule: RuleValues) -> PublishedRule:
    """Return the published values of a rule of an enabled role."""
    return PublishedRule(
        role_code,
        rule.requestable_by,
        rule.stages,
        words_of(rule.assurance, services=False),
        rule.grant_needed,
        rule.emergency,
    )


async def put(
    connection: AsyncConnection, role_id: int, values: RuleValues, author_id: int | None
) -> RequestRule:
    """Store the rule of a role as one of ``author_id``, in the place of another one; it is in force."""
    columns = {**asdict(values), "author_id": author_id, "suspended": False}
    columns |= {name: list(columns[name]) for name in ("stage_codes", "stage_approvals")}
    written = upsert(request_rule).values(role_id=role_id, **columns)
    edited = {**columns, "version": request_rule.c.version + 1, "update_time": func.now()}
    edited["updated_by"] = written.excluded.updated_by
    await connection.execute(written.on_conflict_do_update(index_elements=["role_id"], set_=edited))
    stored = await of_role(connection, role_id)
    assert stored is not None  # noqa: S101 - it was written
    return stored


async def suspend(connection: AsyncConnection, role_id: int) -> None:
    """Take the rule of a role out of force until it is put again; its author stays."""
    changed = update(request_rule).where(request_rule.c.role_id == role_id)
    values = {"suspended": True, "version": request_rule.c.version + 1}
    await connection.execute(changed.values(**values, updated_by=request_rule.c.updated_by))


async def delete(connection: AsyncConnection, role_id: int) -> None:
    await connection.execute(delete_from(request_rule).where(request_rule.c.role_id == role_id))
