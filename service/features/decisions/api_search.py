"""Searches for other services: ``/access/v1/search/subject``, ``resource`` and ``action`` (AuthZEN §8)."""

import base64
import hashlib
from collections.abc import Awaitable, Callable
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from service.authz.engine.policy import Policy
from service.endpoints.record_endpoints import Endpoint
from service.errors import BadRequest, Unavailable
from service.features.decisions.messages import ActionEntity, Properties, ResourceEntity, SubjectEntity, Type
from service.features.decisions.questions import Resource, named_service
from service.features.decisions.search import Part, Results, Search
from service.features.decisions.sentences import sentence
from service.kernel.identity import Caller
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import asks, needs
from service.web.messages.schema import ProtocolSchema

MOST_RESULTS: Final = 1000
"""Maximum number of results per answer; also the default limit."""


class SubjectTarget(ProtocolSchema):
    """The type of the wanted subjects: `user` or `identity`. An `id` is ignored."""

    type: Type


class ResourceTarget(ProtocolSchema):
    """The type of the wanted resources, and the service of routes. An `id` is ignored."""

    type: Annotated[str, Meta(examples=["route"])]
    properties: Properties = field(default_factory=dict)


class PageOfSearch(ProtocolSchema):
    """The wanted results (§8.2.1): after an earlier answer, by its `next_token`, and at most `limit`."""

    token: Annotated[str, Meta(max_length=512)] = ""
    limit: Annotated[int, Meta(ge=0, le=2**53)] | UnsetType = UNSET


class SubjectSearch(ProtocolSchema):
    """A search for subjects that may perform the action on the resource."""

    subject: SubjectTarget
    action: ActionEntity
    resource: ResourceEntity
    context: Properties = field(default_factory=dict)
    page: PageOfSearch | UnsetType = UNSET


class ResourceSearch(ProtocolSchema):
    """A search for resources on which the subject may perform the action."""

    subject: SubjectEntity
    action: ActionEntity
    resource: ResourceTarget
    context: Properties = field(default_factory=dict)
    page: PageOfSearch | UnsetType = UNSET


class ActionSearch(ProtocolSchema):
    """A search for actions that the subject may perform on the resource."""

    subject: SubjectEntity
    resource: ResourceEntity
    context: Properties = field(default_factory=dict)
    page: PageOfSearch | UnsetType = UNSET


class NextPage(ProtocolSchema):
    """The numbers of results in this answer and in total; `next_token` is "" at the end."""

    next_token: str
    count: Annotated[int, Meta(ge=0)]
    total: Annotated[int, Meta(ge=0)]


class FoundSubject(ProtocolSchema):
    """A subject that was found."""

    type: Type
    id: Annotated[str, Meta(examples=["alice"])]


class FoundResource(ProtocolSchema, omit_defaults=True):
    """A found resource; `properties.service` is the service, if the search has named it."""

    type: Annotated[str, Meta(examples=["route"])]
    id: Annotated[str, Meta(examples=["/orders/{id}"])]
    properties: dict[str, str] | UnsetType = UNSET


class FoundAction(ProtocolSchema):
    """An action that was found."""

    name: Annotated[str, Meta(examples=["GET"])]


class FoundSubjects(ProtocolSchema):
    """The subjects of a search (§8.3)."""

    page: NextPage
    results: list[FoundSubject]


class FoundResources(ProtocolSchema):
    """The resources of a search (§8.3)."""

    page: NextPage
    results: list[FoundResource]


class FoundActions(ProtocolSchema):
    """The actions of a search (§8.3)."""

    page: NextPage
    results: list[FoundAction]


class _Token(msgspec.Struct, array_like=True):
    offset: Annotated[int, Meta(ge=0, le=2**53)]
    limit: Annotated[int, Meta(ge=0, le=MOST_RESULTS)]
    question: str


_token = msgspec.json.Decoder(_Token).decode

Find = Callable[[Policy, Caller, Part], Awaitable[Results[str]]]


class _Searching(Endpoint[Search]):
    """Base class of the search endpoints, which return one page at a time."""

    async def _page(
        self, context: RequestContext, find: Find, page: PageOfSearch | UnsetType, *question: object
    ) -> tuple[list[str], NextPage]:
        """Return the ids of the requested page; ``question`` identifies the search of a page token."""
        policy = context.policy
        if policy is None:
            raise Unavailable(sentence("no_policy"))
        digest = hashlib.sha256(msgspec.json.encode([context.user.user_id, *question])).hexdigest()[:32]
        part = _part(page, digest)
        results = await find(policy, context.user, part)
        end = part.offset + part.limit
        token = _encoded(_Token(end, part.limit, digest)) if end < results.total else ""
        return results.items, NextPage(token, len(results.items), results.total)


def _part(page: PageOfSearch | UnsetType, digest: str) -> Part:
    if page is UNSET:
        return Part(0, MOST_RESULTS)
    limit = MOST_RESULTS if page.limit is UNSET else min(page.limit, MOST_RESULTS)
    if not page.token:
        return Part(0, limit)
    try:
        token = _token(base64.urlsafe_b64decode(page.token))
    except (ValueError, msgspec.MsgspecError):
        raise BadRequest(sentence("page_token_unknown")) from None
    if token.question != digest or (page.limit is not UNSET and token.limit != limit):
        raise BadRequest(sentence("page_token_of_another"))
    return Part(token.offset, token.limit)


def _encoded(token: _Token) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode("ascii")


class AccessSubjects(_Searching, at="/access/v1/search/subject"):
    @needs("system:policy:read", name="findSubjects")
    @asks(
        example={
            "subject": {"type": "user"},
            "action": {"name": "GET"},
            "resource": {"type": "route", "id": "/api/role/list"},
        }
    )
    async def on_post(self, context: RequestContext, body: SubjectSearch) -> FoundSubjects:
        """Find the users who may perform an action on a resource.

        The Subject Search API of OpenID AuthZEN 1.0. All enabled users without a ban, by user name.
        """
        kind = body.subject.type
        action = body.action.name
        resource = body.resource.entity

        async def find(policy: Policy, asking: Caller, part: Part) -> Results[str]:
            return await self.part.subjects(policy, asking, kind, action, resource, part=part)

        ids, page = await self._page(context, find, body.page, "subject", kind, action, resource)
        return FoundSubjects(page, [FoundSubject(kind, subject_id) for subject_id in ids])


class AccessResources(_Searching, at="/access/v1/search/resource"):
    @needs("system:policy:read", name="findResources")
    @asks(
        example={
            "subject": {"type": "user", "id": "admin"},
            "action": {"name": "GET"},
            "resource": {"type": "route"},
        }
    )
    async def on_post(self, context: RequestContext, body: ResourceSearch) -> FoundResources:
        """Find the resources of a type on which a subject may perform an action.

        The Resource Search API of OpenID AuthZEN 1.0. Routes have their registered paths.
        """
        subject, action = body.subject.entity, body.action.name
        target = Resource(body.resource.type, "", named_service(body.resource.properties))

        async def find(policy: Policy, asking: Caller, part: Part) -> Results[str]:
            return await self.part.resources(policy, asking, subject, action, target, part=part)

        ids, page = await self._page(context, find, body.page, "resource", subject, action, target)
        properties = {"service": target.service} if target.service else UNSET
        return FoundResources(
            page, [FoundResource(target.type, resource_id, properties) for resource_id in ids]
        )


class AccessActions(_Searching, at="/access/v1/search/action"):
    @needs("system:policy:read", name="findActions")
    @asks(
        example={
            "subject": {"type": "user", "id": "admin"},
            "resource": {"type": "route", "id": "/api/role/list"},
        }
    )
    async def on_post(self, context: RequestContext, body: ActionSearch) -> FoundActions:
        """Find the actions that a subject may perform on a resource.

        The Action Search API of OpenID AuthZEN 1.0.
        """
        subject, resource = body.subject.entity, body.resource.entity

        async def find(policy: Policy, asking: Caller, part: Part) -> Results[str]:
            return await self.part.actions(policy, asking, subject, resource, part=part)

        ids, page = await self._page(context, find, body.page, "action", subject, resource)
        return FoundActions(page, [FoundAction(action_name) for action_name in ids])
