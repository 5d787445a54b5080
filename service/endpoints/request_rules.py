"""Rules for requesting roles: ``/api/role/{id}/request-rule``."""

from functools import partial
from typing import Annotated, Final

from msgspec import Meta
from msgspec.structs import asdict

from service.administration import request_rules
from service.administration.changes import Changes
from service.administration.request_rules import Match
from service.endpoints.record_endpoints import RecordEndpoint, in_force
from service.errors import Conflict, NotFound, PreconditionFailed
from service.kernel.codes import MAX_CODE_LENGTH
from service.kernel.core_sentences import sentence
from service.kernel.request_objects import MOST_APPROVALS, MOST_STAGES
from service.records.request_rules import RequestRule, RuleValues
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import by_session, needs, writes
from service.web.messages.preconditions import answer_tag, content_tag, require_match
from service.web.messages.record_schemas import answer_of, body_of
from service.web.messages.schema import Id, Moment, Published, Revision, Schema, UpdatedBy


class Stage(Schema):
    """The stage needs `approvals` different people who hold `code`."""

    code: Annotated[str, Meta(max_length=MAX_CODE_LENGTH, examples=["system:role:update"])]
    approvals: Annotated[int, Meta(ge=1, le=MOST_APPROVALS, examples=[1])]


_Stages = Annotated[
    list[Stage],
    Meta(min_length=1, max_length=MOST_STAGES),
    Meta(description="All stages must approve, in any order; each person counts once, in one stage."),
]


@body_of(RuleValues, left_out="default")
class RequestRuleBody(Schema, kw_only=True):
    """The request rule of a role; times are in seconds."""

    stages: _Stages


@answer_of(RuleValues)
class RequestRuleOfRole(Schema, kw_only=True):
    """The request rule of a role. Each edit increments `version`; a new rule begins with 1.

    A `suspended` rule is not in force: its author may not grant permissions that the role got later. Saving
    the rule again puts it in force.
    """

    role_id: Id
    role_code: Annotated[str, Meta(examples=["auditor"])]
    stages: _Stages
    suspended: Annotated[bool, Meta(examples=[False])]
    version: Annotated[int, Meta(ge=1, examples=[1])]
    create_time: Moment
    update_time: Moment
    updated_by: UpdatedBy


class SavedRequestRule(RequestRuleOfRole, kw_only=True):
    """The saved rule, and the policy revision that has the change."""

    policy_revision: Revision


_EXAMPLE: Final = {
    "requestableBy": "@login",
    "stages": [{"code": "system:role:update", "approvals": 1}],
    "maxDuration": 28_800,
    "pendingTimeout": 86_400,
    "reasonRequired": True,
}


class RuleOfRole(RecordEndpoint[Changes], at="/api/role/{id}/request-rule"):
    @needs("system:role:list", name="getRequestRule", refuses=[NotFound], tagged=True)
    async def on_get(self, context: RequestContext, id: int) -> RequestRuleOfRole:
        """Read the request rule of a role; 404 if the role can't be requested."""
        async with self.database.snapshot() as connection:
            rule = await request_rules.read(connection, id)
        shown = RequestRuleOfRole.of(rule)
        answer_tag(context, content_tag(shown))
        return shown

    @needs(
        "system:role:update",
        name="setRequestRule",
        refuses=[NotFound, Conflict, PreconditionFailed],
        tagged=True,
    )
    @by_session("change-access")
    @writes("set how it is asked for", "UPDATE", example=_EXAMPLE, dry_run=True, publishes=True)
    async def on_put(self, context: RequestContext, body: RequestRuleBody, id: int) -> SavedRequestRule:
        """Set the request rule of a role, which makes lines of the layers `request` and `approve`.

        Callers must be able to grant every code of the role and of the stages.
        """
        given = asdict(body)
        stages = given.pop("stages")
        given |= {"stage_codes": tuple(stage.code for stage in stages)}
        values = RuleValues(**given, stage_approvals=tuple(stage.approvals for stage in stages))
        saved = await self.changes.make(
            context.write,
            partial(sentence, "cause_rule_set"),
            lambda unit: request_rules.put(unit, id, values, _unchanged(context)),
        )
        shown = RequestRuleOfRole.of(saved.record)
        answer_tag(context, content_tag(shown))
        return SavedRequestRule(**asdict(shown), policy_revision=in_force(context, saved))

    @needs("system:role:update", name="deleteRequestRule", refuses=[NotFound, Conflict, PreconditionFailed])
    @by_session("change-access")
    @writes("let nobody ask for it", "DELETE", dry_run=True, publishes=True)
    async def on_delete(self, context: RequestContext, id: int) -> Published:
        """Delete the request rule of a role, by the rules of an edit."""
        saved = await self.changes.make(
            context.write,
            partial(sentence, "cause_rule_deleted"),
            lambda unit: request_rules.delete(unit, id, _unchanged(context)),
        )
        return Published(policy_revision=in_force(context, saved))


def _unchanged(context: RequestContext) -> Match:
    def match(stored: RequestRule | None) -> None:
        require_match(context, content_tag(None if stored is None else RequestRuleOfRole.of(stored)))

    return match
