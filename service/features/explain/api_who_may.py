"""Access to requests, and requests of a subject: ``/api/policy/who``, ``what``, ``openings``."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Final

from msgspec import Meta

from service.authz.engine.concurrency import ConcurrencyLimit
from service.authz.engine.policy import Policy
from service.authz.engine.rules import (
    APPROVE,
    ASSURANCE,
    ENDPOINT,
    GRANT,
    REQUEST,
    RESOURCE,
    REVIEW,
    LayerName,
    object_fault,
)
from service.authz.publishing.live import LivePolicy
from service.errors import RevisionUntrusted, ValidationFailed
from service.features.explain import access
from service.features.explain.access import (
    Access,
    Kind,
    Needed,
    Needs,
    WhoPasses,
    open_requests,
    what,
    who,
    who_may,
)
from service.features.explain.policy_layers import (
    AskedLayer,
    At,
    Code,
    Name,
    PassedLayer,
    RegisteredBy,
    RoleCode,
    Words,
    passed,
)
from service.features.explain.policy_questions import WITHIN, PolicyQuestion
from service.features.explain.question import place_of
from service.features.explain.sentences import sentence
from service.kernel import identity
from service.kernel.codes import NO_CODES
from service.kernel.services import PORTCULLIS
from service.kernel.text import MAX_USER_NAME
from service.kernel.value_rules import Method, ServiceName
from service.laboratory.analysis.demands import demands_on, least_words
from service.laboratory.analysis.explain import Passages
from service.laboratory.analysis.impact import Standing
from service.laboratory.analysis.sources import NOW, Instant, Subject, standing_of, subject_of
from service.records import role_holdings
from service.records.database.transactions import Connection
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Responders, example_parameters, needs
from service.web.messages.schema import SEVERAL, Id, Page, PageQuery, Schema, page_answer

Path = Annotated[
    str,
    Meta(max_length=2048, examples=["/api/user/1"]),
    Meta(description="The path of a request, or a template such as `/api/user/{id}` for any other value."),
]
Users = Annotated[int, Meta(ge=0, examples=[3], description="Enabled users without a ban.")]

_FIRST: Final = ("code", "login", "nothing")
"""The order of requirements: access by the subject's own codes comes first."""


class WhoQuery(PageQuery, kw_only=True):
    """The request, or the object of a layer, that is asked about; the page is one of roles or users.

    A request has `method` and `path`. An `object` of a `layer` is such as `role auditor stage 1 for others`
    of `approve`: who approves requests for that role.
    """

    method: Method | None = None
    path: Path | None = None
    service: ServiceName = PORTCULLIS
    layer: LayerName | None = None
    object: Annotated[str, Meta(max_length=2048, examples=["role auditor stage 1 for others"])] | None = None
    at: At | None = None

    def __post_init__(self) -> None:
        request, about = (self.method, self.path), (self.layer, self.object)
        if None in request if about == (None, None) else (None in about or request != (None, None)):
            raise ValidationFailed(("path", sentence("request_or_object")))

    @property
    def kind(self) -> identity.Kind | None:
        """Return persons for the layers that open only to persons; None for all users."""
        return "person" if self.layer in (REQUEST, APPROVE, REVIEW) else None

    @property
    def ask(self) -> Callable[[Standing], WhoPasses]:
        """Return the function that answers; raises ValidationFailed for an invalid path or object."""
        if self.layer is not None and self.object is not None:
            if self.layer == ASSURANCE:
                raise ValidationFailed(("layer", sentence("layer_without_codes")))
            if fault := object_fault(self.layer, self.object):
                raise ValidationFailed(("object", fault))
            return partial(who_may, layer=self.layer, name=self.object)
        method, path = self.method or "", self.path or ""
        return partial(who, method=method, place=place_of(path, self.service), service=self.service)


class PassingRole(Schema):
    """A role that suffices to pass, its number of users, and its deciding lines.

    For a request to another service, `endpoint` has no line: only the resource layer decides. `asked` is the
    layer of an object; the other layers are then null.
    """

    role_code: RoleCode
    users: Users
    resource: PassedLayer | None
    endpoint: PassedLayer | None
    asked: PassedLayer | None


class PassingTogether(Schema):
    """Roles that pass only together, and the number of users with exactly these roles."""

    roles: list[RoleCode]
    users: Users


class Who(Schema, kw_only=True):
    """Access to a request, or to an object of a layer: `items` are the roles that pass alone.

    `visitors`: everybody passes, logged in or not. `anyLogin`: every logged-in user passes. `users` counts
    all users who pass. `endpoint` is null if no route serves the request, and `registeredBy` names the other
    services that have registered it: repeat the question with one of them as `service`. `others` are requests
    of the same route that another resource decides. `asked` is the layer of an object; a question about an
    object has no request. Only persons count in the layers `request`, `approve` and `review`. `assurance` are
    the weakest words about authentication, any one of which is needed beside the codes; it does not reduce
    the listed users.
    """

    revision: Annotated[int, Meta(ge=0, examples=[12])]
    method: Method | None
    path: Path | None
    resource: AskedLayer | None
    endpoint: AskedLayer | None
    asked: AskedLayer | None
    assurance: Words
    visitors: bool
    any_login: bool
    users: Users
    together: list[PassingTogether]
    others: Annotated[list[str], Meta(examples=[["GET /api/user/list"]])]
    registered_by: RegisteredBy
    items: list[PassingRole]
    page: int
    size: int
    total: int


def who_answer(passing: WhoPasses, revision: int, query: WhoQuery) -> Who:
    layers = {layer.layer: AskedLayer.of(layer) for layer in passing.asked.layers}
    alone = None if query.layer is None else layers.pop(query.layer)
    return Who.of(
        passing,
        revision=revision,
        method=query.method,
        path=query.path,
        resource=layers.get(RESOURCE),
        endpoint=layers.get(ENDPOINT),
        asked=alone,
        items=[_passing(role) for role in query.part(passing.roles)],
        page=query.page,
        size=query.size,
        total=len(passing.roles),
    )


def _passing(role: access.PassingRole) -> PassingRole:
    if role.resource is None:
        alone = None if role.asked is None else PassedLayer.of(role.asked)
        return PassingRole(role.role_code, role.users, None, None, alone)
    resource = PassedLayer.of(role.resource)
    not_asked = PassedLayer(resource.object, None, None, [], [])
    endpoint = not_asked if role.endpoint is None else PassedLayer.of(role.endpoint)
    return PassingRole(role.role_code, role.users, resource, endpoint, None)


class WhoMay(PolicyQuestion, at="/api/policy/who"):
    @needs("system:policy:read", name="findRolesWithAccess", refuses=[RevisionUntrusted])
    @example_parameters(method="GET", path="/api/user/list")
    async def on_get(self, context: RequestContext, query: WhoQuery) -> Who:
        """List the roles that pass a request, with the deciding lines and codes.

        With an object of a layer: the roles that pass this object, such as those that may request a role or
        approve.
        """
        context.policy, ask = self.live.current, query.ask
        async with self.concurrency.turn():
            async with self.database.snapshot(within=WITHIN) as connection:
                policy, instant = await self._asked(context, connection, query.at)
                standing = await standing_of(policy, connection, instant, kind=query.kind)
            passing = await self.concurrency.computed(ask, standing)
            return await self.concurrency.computed(who_answer, passing, standing.policy.revision, query)


class PassingUser(Schema):
    """An enabled user without a ban who passes, with all roles of the user."""

    id: Id
    user_name: Annotated[str, Meta(examples=["admin"])]
    roles: list[RoleCode]


class WhoUsers(PolicyQuestion, at="/api/policy/who/users"):
    @needs("system:policy:read", name="findUsersWithAccess", refuses=[RevisionUntrusted])
    @example_parameters(method="GET", path="/api/user/list")
    async def on_get(self, context: RequestContext, query: WhoQuery) -> Page[PassingUser]:
        """List the users who pass a request, or an object of a layer, by name."""
        context.policy, ask = self.live.current, query.ask
        async with self.concurrency.turn(), self.database.snapshot(within=WITHIN) as connection:
            policy, instant = await self._asked(context, connection, query.at)
            standing = await standing_of(policy, connection, instant, kind=query.kind)
            passing = await self.concurrency.computed(ask, standing)
            users = await role_holdings.holders(
                connection,
                passing.role_sets,
                standing.users,
                page=query.page,
                size=query.size,
                total=passing.users,
                kind=query.kind,
                at=instant.at,
                then=instant.then,
            )
        return page_answer(query, users, PassingUser)


class WhatQuery(PageQuery):
    """The subject, exactly one of a role, a user or codes, with filters by kind and requirement."""

    role_code: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    user_name: Annotated[str, Meta(min_length=1, max_length=MAX_USER_NAME)] | None = None
    codes: (
        Annotated[
            str,
            Meta(max_length=8192, examples=["system:role:list,system:user:*"]),
            Meta(description="Permission codes, separated by commas; empty for a login without codes."),
        ]
        | None
    ) = None
    kind: Annotated[list[Kind], SEVERAL] | None = None
    needs: Annotated[list[Needed], SEVERAL] | None = None
    at: At | None = None

    def __post_init__(self) -> None:
        if sum(choice is not None for choice in (self.role_code, self.user_name, self.codes)) != 1:
            raise ValidationFailed(("roleCode", sentence("one_of_role_user_codes")))

    async def subject(self, connection: Connection, instant: Instant = NOW) -> Subject:
        """Return the subject as of ``instant``; raises ValidationFailed if it is unknown."""
        return await subject_of(connection, self.user_name, self.held_codes, self.role_code, instant)

    @property
    def held_codes(self) -> list[str] | None:
        """Return the codes; None if a role or a user is named."""
        return None if self.codes is None else [code for code in self.codes.split(",") if code]

    def lists(self, entry: Access) -> bool:
        return (self.kind is None or entry.kind in self.kind) and (
            self.needs is None or entry.needs in self.needs
        )


class Passed(Schema):
    """A request that the subject passes, or a code that it may grant, with the lines that allow it.

    `needs` is the requirement: a held `code`, a `login` alone, or `nothing`. `assurance` are the weakest
    words about authentication, any one of which is also needed; null for a grant.
    """

    kind: Kind
    object: Name
    needs: Needed
    resource: PassedLayer | None
    endpoint: PassedLayer | None
    assurance: Words | None
    grant: PassedLayer | None


class What(Schema, kw_only=True):
    """The access of a subject: requests by path and method, then codes to grant.

    Requests allowed by codes come first, then those of every login, then public ones.

    `keptOut` is true for a disabled or banned user, whose requests are refused: there are no items.
    `permissions` are the held codes.
    """

    revision: Annotated[int, Meta(ge=0, examples=[12])]
    user_status: Annotated[str, Meta(examples=["enabled"])] | None
    kept_out: bool
    permissions: list[Code]
    items: list[Passed]
    page: int
    size: int
    total: int


def what_answer(policy: Policy, asking: Subject, query: WhatQuery) -> What:
    """Return the answer with the page of ``query``; a large policy takes a while."""
    held = asking.held or NO_CODES
    reached = [] if asking.kept_out else [entry for entry in what(policy, held) if query.lists(entry)]
    reached.sort(key=lambda entry: _FIRST.index(entry.needs))
    passages = Passages(policy, held)
    return What(
        revision=policy.revision,
        user_status=asking.status,
        kept_out=asking.kept_out,
        permissions=sorted(held.codes),
        items=[_passed(entry, policy, passages) for entry in query.part(reached)],
        page=query.page,
        size=query.size,
        total=len(reached),
    )


def _passed(entry: Access, policy: Policy, passages: Passages) -> Passed:
    layers = entry.passed(policy, passages)
    by_layer = {name: passed(layers, name) for name in (RESOURCE, ENDPOINT, GRANT)}
    words = _words(entry, policy)
    return Passed(kind=entry.kind, object=entry.object, needs=entry.needs, assurance=words, **by_layer)


def _words(entry: Access, policy: Policy) -> list[str] | None:
    return None if entry.example is None else list(least_words(policy, demands_on(policy, entry.example)))


class WhatMay(PolicyQuestion, at="/api/policy/what"):
    @needs("system:policy:read", name="listAccess", refuses=[RevisionUntrusted])
    @example_parameters(role_code="auditor")
    async def on_get(self, context: RequestContext, query: WhatQuery) -> What:
        """List the requests that a role, a user or a set of codes passes, and the codes that it may grant."""
        context.policy = self.live.current
        async with self.concurrency.turn():
            async with self.database.snapshot(within=WITHIN) as connection:
                policy, instant = await self._asked(context, connection, query.at)
                asking = await query.subject(connection, instant)
            return await self.concurrency.computed(what_answer, policy, asking, query)


class OpenRequest(Schema):
    """A request that needs no role, with its requirement: a login, or nothing.

    `assurance` are the weakest words about authentication, any one of which is also needed.
    """

    object: Name
    needs: Needs
    assurance: Words
    resource: PassedLayer | None
    endpoint: PassedLayer | None


def openings_answer(policy: Policy, query: PageQuery) -> Page[OpenRequest]:
    """Return the answer with the page of ``query``; a large policy takes a while."""
    requests = open_requests(policy)
    passages = {"nothing": Passages(policy, None), "login": Passages(policy, NO_CODES)}
    items = []
    for request, need in query.part(requests):
        layers = request.passed(policy, passages[need])
        resource, endpoint = passed(layers, RESOURCE), passed(layers, ENDPOINT)
        words = _words(request, policy) or []
        items.append(OpenRequest(request.object, need, words, resource, endpoint))
    return Page(items=items, page=query.page, size=query.size, total=len(requests))


class Openings(Responders, at="/api/policy/openings"):
    def __init__(self, live: LivePolicy, concurrency: ConcurrencyLimit) -> None:
        self.live = live
        self.concurrency = concurrency

    @needs("system:policy:read", name="listOpenings")
    async def on_get(self, context: RequestContext, query: PageQuery) -> Page[OpenRequest]:
        """List the requests with public access: those open to everybody, and those open to every login."""
        context.policy = policy = self.live.current
        async with self.concurrency.turn():
            return await self.concurrency.computed(openings_answer, policy, query)
