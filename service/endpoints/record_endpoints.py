"""Endpoints of records, each declared once; the kind of the record adds the common parts.

A write on a record has a permission, a precondition, a dry run, an entry in the operation log and a tag. A
creating write also has ``Location`` and idempotency keys; a publishing write returns the policy revision.
``RecordKind`` adds all of these. The declaration of an endpoint contains only the differences.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, Generic, TypeVar

from service.administration.unit_of_work import Saved, unconditionally
from service.authz.engine.rules import SERVICE
from service.authz.publishing.live import LivePolicy
from service.errors import Conflict, NotFound, PermissionDenied, PreconditionFailed, Refusal
from service.kernel.core_sentences import sentence
from service.kernel.services import PORTCULLIS
from service.records.database.transactions import Connection, Database
from service.records.logs.events import DeclaredKind
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Responders, by_session, needs, writes
from service.web.messages.preconditions import answer_tag, unchanged, version_tag
from service.web.messages.record_schemas import MergePatch
from service.web.messages.schema import Found, Page, PageQuery, Published, Schema, page_answer

Responder = Callable[..., Awaitable[Any]]
F = TypeVar("F", bound=Responder)


C = TypeVar("C")
"""An object that creates, edits and deletes the records of one kind, such as ``Changes``."""


P = TypeVar("P")
"""A part of the service, such as ``Bans``, or a store that is only read."""


class Endpoint(Responders, Generic[P]):
    """The base of endpoints that need ``part`` alone."""

    def __init__(self, part: P) -> None:
        self.part = part


class RecordEndpoint(Responders, Generic[C]):
    """The base of the endpoints of records."""

    def __init__(self, database: Database, live: LivePolicy, changes: C) -> None:
        self.database = database
        self.live = live
        self.changes = changes


def in_force(context: RequestContext, saved: Saved[Any]) -> int:
    """Return the revision of the policy of ``saved``, and set that policy on the answer."""
    assert saved.policy is not None  # noqa: S101 - of changes that publish
    context.policy = saved.policy
    return saved.policy.revision


def _no_options(_context: RequestContext, _filters: Any) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True, kw_only=True)
class RecordKind:
    """A kind of records: its methods make the responders of endpoints, each from its differences.

    ``noun`` is its name in paths and in the operation log. ``shown`` is the answer of a read, and names the
    operations. ``listed`` is the answer of a list for each record, ``shown`` by default. ``saved`` is the
    answer of a write that publishes a policy revision. ``page`` and ``read`` read stored records,
    ``matching`` is the filter of ``page``. ``given`` reads the fields from a body. A record without a version
    has no tag. ``service_of`` returns the service of a record: callers see only records of services that they
    may administer. ``page_options`` returns further arguments of ``page``, by caller and filter.
    ``session_act`` is the act for ``by_session`` of all writes; None for those that check it by themselves.
    """

    noun: str
    shown: type[Schema]
    listed: type[Schema] | None = None
    saved: type[Schema] | None = None
    page: Callable[..., Awaitable[Found]]
    read: Callable[[Connection, int], Awaitable[Any]]
    matching: Callable[..., Any]
    given: Callable[[Any], dict[str, Any]] = Schema.given
    versioned: bool = True
    service_of: Callable[[Any], str] | None = None
    page_options: Callable[[RequestContext, Any], Mapping[str, Any]] = _no_options
    session_act: str | None = None

    def lists(self, query: type[PageQuery], summary: str, *codes: str) -> Responder:
        """Return the responder that lists the records that match ``query``."""

        async def on_get(endpoint: RecordEndpoint[Any], context: RequestContext, query: Any) -> Any:
            requested = query.filter(self.matching)
            if self.service_of is not None:
                requested = replace(requested, services=shown_services(context, endpoint.live))
            options = self.page_options(context, requested)
            async with endpoint.database.snapshot() as connection:
                page = await self.page(
                    connection, requested, page=query.page, size=query.size, sort=query.sort, **options
                )
            return page_answer(query, page, listed)

        listed = self.listed or self.shown
        answer: Any = Page[listed]  # type: ignore[valid-type]  # it is known at run time
        return described(on_get, f"list{self.name}s", summary, *codes, answer=answer, query=query)

    def reads(self, summary: str, *codes: str, shows_more: bool = False) -> Responder:
        """Return the responder that reads a record; ``shows_more`` than its tag covers."""

        async def on_get(endpoint: RecordEndpoint[Any], context: RequestContext, id: int) -> Any:
            async with endpoint.database.snapshot() as connection:
                record = await self.read(connection, id)
            if self.service_of is not None:
                require_shown(context, endpoint.live, self.service_of(record))
            return self.record_answer(context, Saved(record))

        about: dict[str, Any] = {"refuses": [NotFound], "tagged": self.versioned, "shows_more": shows_more}
        return described(on_get, f"get{self.name}", summary, *codes, answer=self.shown, id=int, **about)

    def creates(
        self,
        body: type[Schema],
        summary: str,
        *codes: str,
        example: Mapping[str, Any],
        refuses: Sequence[type[Refusal]] = (),
    ) -> Responder:
        """Return the responder that creates a record, once under each ``Idempotency-Key``."""

        async def on_post(endpoint: RecordEndpoint[Any], context: RequestContext, body: Any) -> Any:
            saved = await endpoint.changes.create(context.write, self.given(body))
            return self.record_answer(context, saved)

        name, answer = f"create{self.name}", self.saved or self.shown
        about: dict[str, Any] = {"refuses": (Conflict, *refuses), "tagged": self.versioned}
        responder = described(on_post, name, summary, *codes, answer=answer, body=body, **about)
        created = f"/api/{self.noun}/{{id}}"
        mark = self.writes("create", "INSERT", example, created=created, idempotent=self.record_answer)
        return mark(responder)

    def replaces(
        self,
        body: type[Schema],
        summary: str,
        *codes: str,
        example: Mapping[str, Any],
        refuses: Sequence[type[Refusal]] = (),
    ) -> Responder:
        """Return the responder of a ``PUT``, or of a ``PATCH`` if ``body`` is a ``MergePatch``."""

        async def edit(endpoint: RecordEndpoint[Any], context: RequestContext, body: Any, id: int) -> Any:
            saved = await endpoint.changes.update(context.write, id, self.given(body), unchanged(context))
            return self.record_answer(context, saved)

        verb = "patch" if issubclass(body, MergePatch) else "update"
        name, answer = f"{verb}{self.name}", self.saved or self.shown
        refusals = (NotFound, Conflict, PreconditionFailed, *refuses)
        about: dict[str, Any] = {"id": int, "refuses": refusals, "tagged": self.versioned}
        responder = described(edit, name, summary, *codes, answer=answer, body=body, **about)
        return self.writes("update", "UPDATE", example)(responder)

    def deletes(self, summary: str, *codes: str, refuses: Sequence[type[Refusal]] = ()) -> Responder:
        """Return the responder that deletes a record."""

        async def on_delete(endpoint: RecordEndpoint[Any], context: RequestContext, id: int) -> Any:
            match = unchanged(context) if self.versioned else unconditionally
            saved = await endpoint.changes.delete(context.write, id, match)
            if saved.policy is None or self.saved is None:
                return None
            return Published(policy_revision=in_force(context, saved))

        answer = None if self.saved is None else Published
        name = f"delete{self.name}"
        stale: Sequence[type[Refusal]] = (PreconditionFailed,) if self.versioned else ()
        refusals: Sequence[type[Refusal]] = (NotFound, *stale, *refuses)
        responder = described(on_delete, name, summary, *codes, answer=answer, id=int, refuses=refusals)
        return self.writes("delete", "DELETE")(responder)

    def sets(
        self,
        action: str,
        name: str,
        *codes: str,
        example: Mapping[str, Any],
        refuses: Sequence[type[Refusal]] = (),
    ) -> Callable[[F], F]:
        """Declare a responder that replaces a part of a record.

        ``action`` is what the operation log calls it, ``name`` the name of the operation.
        """

        def declare(responder: F) -> F:
            refusals: Sequence[type[Refusal]] = (NotFound, PreconditionFailed, *refuses)
            needs(*codes, name=name, refuses=refusals, tagged=self.versioned)(responder)
            return self.writes(action, "UPDATE", example)(responder)

        return declare

    def record_answer(self, context: RequestContext, saved: Saved[Any]) -> Any:
        """Return the answer of a record, with its tag and the policy that follows."""
        record = saved.record
        if self.versioned:
            answer_tag(context, version_tag(record.version))
        if saved.policy is None or self.saved is None:
            return self.shown.of(record)
        revision = in_force(context, saved)
        fields = {name: getattr(record, name) for name in self.shown.__struct_fields__}
        return self.saved.of(SimpleNamespace(**fields, policy_revision=revision))

    @property
    def name(self) -> str:
        """The name of the kind in names of operations, such as ``Role``."""
        return self.shown.__name__

    def writes(
        self, action: str, kind: DeclaredKind, example: Mapping[str, Any] | None = None, **more: Any
    ) -> Callable[[F], F]:
        """Return the mark of a write of these records; ``more`` are other parameters of ``writes``."""
        more |= {"module": self.noun, "example": example, "publishes": self.saved is not None}
        mark = writes(action, kind, dry_run=True, **more)
        act = self.session_act
        return mark if act is None else lambda responder: by_session(act)(mark(responder))


def described(
    responder: F,
    name: str,
    summary: str,
    *codes: str,
    answer: Any,
    refuses: Sequence[type[Refusal]] = (),
    tagged: bool = False,
    shows_more: bool = False,
    **takes: Any,
) -> F:
    """Give a responder its name, its texts and its types, and the mark ``needs``."""
    responder.__qualname__ = name
    responder.__doc__ = summary
    responder.__annotations__ = {"context": RequestContext, **takes, "return": answer}
    return needs(*codes, name=name, refuses=refuses, tagged=tagged, shows_more=shows_more)(responder)


def shown_services(context: RequestContext, live: LivePolicy, *actions: str) -> tuple[str, ...]:
    """Return the services whose resources the caller may list, by the policy that admitted the request.

    Also those with whose resources the caller may do one of ``actions``.
    """
    policy = context.policy or live.current
    allowed = {}
    for name in (PORTCULLIS, *policy.other_services):
        asked = (policy.decide(SERVICE, f"{name} {action}", context.user) for action in ("list", *actions))
        if (decision := next((each for each in asked if each.allowed), None)) is not None:
            allowed[name] = decision
    context.shown = tuple(allowed.values())
    return tuple(allowed)


def require_shown(context: RequestContext, live: LivePolicy, service: str) -> None:
    """Check that the caller may see resources of ``service``; PermissionDenied else."""
    context.policy = context.policy or live.current
    decision = context.decide(SERVICE, f"{service} list")
    if not decision.allowed:
        raise PermissionDenied(sentence("resources_hidden", service=service), decision)
