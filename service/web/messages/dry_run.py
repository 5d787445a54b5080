"""``?dryRun=true``: the impact of a write, together with its answer."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from msgspec import Meta, Struct

from service.errors import ValidationFailed
from service.kernel.identity import Caller
from service.kernel.write import Write
from service.web.messages.access_change import AccessChange
from service.web.messages.bodies import query_of
from service.web.messages.context import RequestContext
from service.web.messages.schema import Schema, SentenceParams

ImpactOf = Callable[[Caller, Callable[[Write], Awaitable[object]]], Awaitable[object]]
"""Makes a write that saves nothing, and returns its impact, with the fields of ``Preview``."""


class DryRunQuery(Schema):
    """The choice of a dry run."""

    dry_run: Annotated[
        bool, Meta(description="Check everything, save nothing, and return the impact of the change.")
    ] = False


def is_dry_run(context: RequestContext) -> bool:
    """Return whether the request asks for a dry run.

    This holds also for a request that was refused before its query was read.
    """
    query_string, operation = context.scope["query_string"], context.operation
    kind = None if operation is None else operation.signature.query
    if not query_string or kind is None or "dry_run" not in kind.__struct_fields__:
        return False
    query: Any = context.arguments.get("query")
    if query is None:
        try:
            query = query_of(kind).read(context.request.query_string)
        except ValidationFailed:
            return False
    return bool(query.dry_run)


class KeptOutUsers(Schema):
    """Disabled or banned users whom the change would otherwise affect.

    They are not counted in gains and losses: the change affects them only after they may log in again.
    `userNames` has the first 20, or none if the caller may not list users.
    """

    users: Annotated[int, Meta(ge=0, examples=[1])]
    user_names: Annotated[list[str], Meta(examples=[["bob"]])]


class FieldEdit(Schema):
    """A field before and after an edit; `before` is null for a created record."""

    field: Annotated[str, Meta(examples=["buttons"])]
    before: str | bool | list[str] | None
    after: str | bool | list[str] | None


class MadeEdit(Schema):
    """A single edit of the request: the equivalent request, and its changes.

    `name` is the permission code of a Button, or method and path of a resource. In a dry run the path of a
    new record keeps `{id}`.
    """

    request: Annotated[str, Meta(examples=["PUT /api/resource/12/buttons"])]
    name: Annotated[str, Meta(examples=["GET /api/report/{id}"])]
    changes: list[FieldEdit]


class DemandChange(Schema):
    """The demanded authentication for `object`, before and after: any one of the words is enough.

    The change affects only holders of a code for `object`. `@anyone` demands nothing.
    """

    object: Annotated[str, Meta(examples=["GET /api/report/{id}"])]
    before: Annotated[list[str], Meta(examples=[["@anyone"]])]
    after: Annotated[list[str], Meta(examples=[["@service", "@two-factors"]])]


class StatedSentence(Schema):
    """A sentence of the service: clients translate `message` by `code` and `params`."""

    code: Annotated[str, Meta(examples=["would_lose_undo"])]
    params: Annotated[SentenceParams, Meta(examples=[{"codes": ["system:role:update"], "more": 0}])]
    message: Annotated[
        str,
        Meta(examples=["You would lose permissions that may be needed to undo this: system:role:update"]),
    ]


class Preview(Schema):
    """The impact of a change; nothing was saved.

    `warningSentences` are the `warnings` with codes and parameters.
    """

    gains: list[AccessChange]
    loses: list[AccessChange]
    kept_out: KeptOutUsers
    sessions: Annotated[
        int, Meta(ge=0, examples=[2], description="Sessions that would need a refresh, or would end.")
    ]
    warnings: Annotated[list[str], Meta(examples=[[]])]
    warning_sentences: Annotated[list[StatedSentence], Meta(examples=[[]])]
    demands: list[DemandChange]


class Previewed(Struct):
    """The answer of a dry run: ``data`` is what the write would answer, with the type that it has there."""

    data: Any
    preview: Preview


async def dry_answer(
    impact_of: ImpactOf,
    context: RequestContext,
    write: Callable[..., Awaitable[Any]],
    arguments: dict[str, Any],
) -> Previewed:
    """Return the answer and the impact of ``write``, which saves nothing; raises as ``write`` does.

    Headers that ``write`` adds are not sent: no record has their tag, and no policy in force their revision.
    """
    policy, headers = context.policy, list(context.headers)
    data: Any = None

    async def written(dry: Write) -> None:
        nonlocal data
        context.dry_run = dry.dry_run
        data = await write(context, **arguments)

    try:
        impact = await impact_of(context.user, written)
    finally:
        context.policy, context.headers = policy, headers
        context.dry_run = None
    return Previewed(data, Preview.of(impact))
