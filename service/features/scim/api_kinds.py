"""Endpoints of SCIM's users and groups, each declared once; the kind supplies the differences."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from msgspec import to_builtins

from service.endpoints.record_endpoints import Responder, described
from service.errors import Conflict, NotFound, PreconditionFailed, Refusal
from service.features.scim.attributes import Deviations, Schema, ScimFault, id_of
from service.features.scim.filters import parse_filter, place_in
from service.features.scim.messages import (
    LIST_OF,
    SEARCH,
    ResourceBody,
    ScimGetQuery,
    ScimList,
    ScimListQuery,
    ScimMeta,
    ScimObjects,
    ScimPatch,
    ScimResource,
    ScimSearch,
    understood,
)
from service.features.scim.patches import patched
from service.features.scim.store import Chosen
from service.features.scim.users import source_of
from service.kernel.clock import rfc3339
from service.records.database.transactions import Connection, Database
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Responders, asks, by_session, example_parameters, writes
from service.web.messages.preconditions import answer_tag, unchanged, version_tag

BASE: Final = "/scim/v2"
READ: Final = "system:scim:read"
_NOBODY: Final = example_parameters(id="999999999999")
_ACT: Final = by_session("change-access")
_OF_STORED: Final = (NotFound, Conflict, PreconditionFailed)
_ASKS: Final = asks(
    example={
        "schemas": [SEARCH],
        "filter": 'displayName sw "a"',
        "attributes": ["displayName"],
        "count": 10,
    },
    refuses_keys="it changes nothing",
)

P = TypeVar("P")


class ScimEndpoint(Responders, Generic[P]):
    """The base of the endpoints of users and groups, which ``part`` provisions.

    ``public_url`` is where the service is reached, "" if that is not known: then addresses are paths.
    """

    def __init__(self, database: Database, part: P, public_url: str) -> None:
        self.database = database
        self.part = part
        self.base = f"{public_url}{BASE}"


def meta_of(base: str, kind: str, stored: Any) -> ScimMeta:
    """Return the facts about a stored resource."""
    times = rfc3339(stored.create_time), rfc3339(stored.update_time)
    return ScimMeta(kind, f"{base}/{kind}s/{stored.id}", *times, version_tag(stored.version))


@dataclass(frozen=True, kw_only=True)
class ScimKind:
    """Users or groups; its methods return the responders, each with its summary.

    ``body`` is the request type, ``answer`` the answer type, ``page`` a page of answers. ``find`` and
    ``read`` read stored resources. They leave ``linked`` out, the members of groups and the groups of users,
    unless requested. ``sent`` converts a body; ``shown`` formats a stored resource below an address, and a
    patch changes that form.
    """

    schema: Schema
    code: str
    linked: str
    body: type[ResourceBody]
    answer: type[ScimResource]
    page: type[ScimList]
    find: Callable[..., Awaitable[tuple[list[Any], int]]]
    read: Callable[..., Awaitable[Any]]
    sent: Callable[[Any], Any]
    shown: Callable[[Any, str], ScimResource]
    example: Mapping[str, Any]
    patch_example: Mapping[str, Any]

    def lists(self, summary: str) -> Responder:
        """Return the responder that lists the resources provisioned by the caller."""

        async def on_get(endpoint: Any, context: RequestContext, query: ScimListQuery) -> Any:
            return await _listed(endpoint, context, query, self.page, self)

        return self._read("list{}s", on_get, summary, answer=self.page, query=ScimListQuery)

    def searches(self, summary: str) -> Responder:
        """Return the responder for a search by a body (RFC 7644 §3.4.3)."""

        async def on_post(endpoint: Any, context: RequestContext, body: ScimSearch) -> Any:
            return await _listed(endpoint, context, body.query, self.page, self)

        return _ASKS(self._read("find{}s", on_post, summary, answer=self.page, body=ScimSearch))

    def reads(self, summary: str) -> Responder:
        """Return the responder that reads a resource.

        It never answers 304: the groups of a user and the names of members change without a new tag.
        """

        async def on_get(endpoint: Any, context: RequestContext, id: str, query: ScimGetQuery) -> Any:
            async with endpoint.database.snapshot() as connection:
                source = await source_of(connection, context.user)
                linked = not query.hides(self.linked, self.schema)
                stored = await self.read(connection, source.name, _id(id), linked=linked)
            if stored is None:
                raise NotFound
            return self._answer(endpoint, context, stored, query)

        about = {"refuses": (Conflict, NotFound), "tagged": True, "shows_more": True}
        self._read("get{}", on_get, summary, answer=self.answer, id=str, query=ScimGetQuery, **about)
        return example_parameters(id="1")(on_get)

    def creates(self, summary: str) -> Responder:
        """Return the responder that creates a resource."""

        async def on_post(endpoint: Any, context: RequestContext, body: Any, query: ScimGetQuery) -> Any:
            with understood():
                sent = self.sent(body)
            stored = await endpoint.part.create(context.write, sent)
            context.respond_header("Location", meta_of(endpoint.base, self.schema.name, stored).location)
            return self._answer(endpoint, context, stored, query)

        self._described(on_post, "create", summary, [Conflict], body=self.body, query=ScimGetQuery)
        mark = writes(
            self._action("create"),
            "INSERT",
            example=self.example,
            created=f"{BASE}/{self.schema.name}s/{{id}}",
            refuses_keys="names are unique: a repeated request is refused",
        )
        return _ACT(mark(on_post))

    def replaces(self, summary: str) -> Responder:
        """Return the responder that replaces a resource."""

        def change_of(body: Any, deviations: Deviations, _base: str) -> Callable[[Any], Any]:
            sent = self.sent(body)

            def change(stored: Any) -> Any:
                # RFC 7644 §3.5.1: a replacement clears omitted attributes.
                if getattr(body, self.linked, ()) is None and getattr(stored, self.linked):
                    deviations.note(f"replacement without {self.linked}, which are removed")
                return sent

            return change

        return self._edits("replace", "update", change_of, summary, self.body)

    def patches(self, summary: str) -> Responder:
        """Return the responder that patches a resource: it replaces the resource with the patched one."""

        def change_of(body: ScimPatch, deviations: Deviations, base: str) -> Callable[[Any], Any]:
            operations = [each.as_sent() for each in body.operations]

            def change(stored: Any) -> Any:
                before = to_builtins(self.shown(stored, base))
                made = patched(self.schema, before, operations, deviations)
                return self.sent(self.body.of_attributes(made))

            return change

        return self._edits("patch", "patch", change_of, summary, ScimPatch)

    def deletes(self, summary: str) -> Responder:
        """Return the responder that deletes a resource."""

        async def on_delete(endpoint: Any, context: RequestContext, id: str) -> None:
            await endpoint.part.delete(context.write, _id(id), unchanged(context))

        self._described(on_delete, "delete", summary, _OF_STORED, answer=None, id=str)
        return _ACT(writes(self._action("delete"), "DELETE", answers=204)(_NOBODY(on_delete)))

    def _edits(
        self, action: str, verb: str, change_of: Callable[..., Any], summary: str, body: type[Any]
    ) -> Responder:
        async def edit(
            endpoint: Any, context: RequestContext, id: str, body: Any, query: ScimGetQuery
        ) -> Any:
            with understood() as deviations:
                change = change_of(body, deviations, endpoint.base)
                stored = await endpoint.part.update(context.write, _id(id), change, unchanged(context))
            return self._answer(endpoint, context, stored, query)

        self._described(edit, verb, summary, _OF_STORED, id=str, body=body, query=ScimGetQuery)
        example = self.patch_example if body is ScimPatch else self.example
        return _ACT(writes(self._action(action), "UPDATE", example=example)(_NOBODY(edit)))

    def _answer(self, endpoint: Any, context: RequestContext, stored: Any, query: ScimGetQuery) -> Any:
        answer_tag(context, version_tag(stored.version))
        return query.shown(self.shown(stored, endpoint.base), self.schema)

    def _read(self, name: str, responder: Responder, summary: str, **takes: Any) -> Responder:
        takes = {"refuses": [Conflict], **takes}
        return described(responder, name.format(self.answer.__name__), summary, READ, self.code, **takes)

    def _described(
        self,
        responder: Responder,
        verb: str,
        summary: str,
        refuses: Sequence[type[Refusal]],
        **takes: Any,
    ) -> None:
        takes = {"answer": self.answer, **takes, "refuses": refuses}
        takes["tagged"] = takes["answer"] is not None
        described(responder, f"{verb}{self.answer.__name__}", summary, self.code, **takes)

    def _action(self, verb: str) -> str:
        return f"{verb} a {self.schema.name.lower()}"


def searches_all(summary: str, *kinds: ScimKind) -> Responder:
    """Return the responder that lists resources of several kinds, kind after kind.

    A kind without an attribute of the filter, or of ``sortBy``, has no results.
    """

    async def on_post(endpoint: Any, context: RequestContext, body: ScimSearch) -> Any:
        return await _listed(endpoint, context, body.query, ScimObjects, *kinds)

    about: dict[str, Any] = {"answer": ScimObjects, "refuses": [Conflict], "body": ScimSearch}
    return _ASKS(described(on_post, "findScimResources", summary, READ, **about))


async def _listed(
    endpoint: Any, context: RequestContext, query: ScimListQuery, page: type[Any], *kinds: ScimKind
) -> Any:
    (skipped, most), total = query.place, 0
    shown: list[Any] = []
    faults: list[ScimFault] = []
    async with endpoint.database.snapshot() as connection:
        directory = (await source_of(connection, context.user)).name
        with understood():
            for kind in kinds:
                place = max(skipped - total, 0), most - len(shown)
                try:
                    found_here, count = await _part(connection, directory, query, place, kind)
                except ScimFault as fault:
                    faults.append(fault)
                    continue
                shown += [query.shown(kind.shown(each, endpoint.base), kind.schema) for each in found_here]
                total += count
            if len(faults) == len(kinds):
                raise faults[0]
    return page(LIST_OF, total, skipped + 1, len(shown), shown)


async def _part(
    connection: Connection, directory: str, query: ScimListQuery, place: tuple[int, int], kind: ScimKind
) -> tuple[list[Any], int]:
    """Return the stored resources of a kind, and their number; raises ScimFault."""
    term = None if query.filter is None else parse_filter(query.filter, kind.schema)
    sort = None if query.sort_by is None else place_in(kind.schema, query.sort_by)
    if query.sort_by is not None and sort is None:
        raise ScimFault("invalidValue", f"sortBy: There is no attribute {query.sort_by[:100]}")
    chosen = Chosen(directory, term, *place, sort, query.sort_order == "descending")
    return await kind.find(connection, chosen, linked=not query.hides(kind.linked, kind.schema))


def _id(text: str) -> int:
    """Return the id in a path; raise ``NotFound`` for a text that is no id."""
    if (number := id_of(text)) is None:
        raise NotFound
    return number
