"""Operation metadata: what a responder declares about access, logging and refusals; and operations as data.

They only record; they can be stacked in any order. Contradictions raise ``MetadataError`` at
import: a responder with contradictory access must not serve any request. The guard, the logs and the OpenAPI
document read operations; ``operation`` serves them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Literal, TypeVar

from msgspec import Struct

from service.authz.engine.rules import ANYONE, LOGIN
from service.errors import Refusal
from service.kernel.codes import is_code
from service.records.logs.events import DeclaredKind, OperationKind
from service.web.messages.dialect import Dialect

F = TypeVar("F", bound=Callable[..., Any])

_ATTRIBUTE: Final = "__mark__"


class MetadataError(TypeError):
    """The operation metadata of a responder is contradictory or malformed."""


@dataclass(frozen=True, slots=True)
class Logged:
    """The description of a call in the operation log; ``params`` and ``response`` limit what it keeps."""

    module: str
    action: str
    kind: OperationKind
    params: bool = True
    response: bool = True


@dataclass(frozen=True, slots=True)
class FormExchange:
    """Request and answer of an operation for forms, by an external specification; see ``takes_form``."""

    takes: type[Struct]
    answers: type[Struct]
    refuses: type[Struct]
    statuses: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OperationMetadata:
    """The declarations of a responder.

    ``access`` has the codes that the policy lines of the endpoint layer must have: ``@anyone``, ``@login``,
    or alternative permission codes. Empty: not declared. ``media`` are the media types of a ``Stream``,
    ``sent`` is what it holds as JSON, if that is known. ``file`` is the field of an uploaded file, "" for
    none; ``form`` describes a body that is a form. ``publishes`` says that a success may publish a policy
    revision. ``dry_run`` says that ``?dryRun=true`` returns the impact of a write. ``operation_id`` is the
    name in the OpenAPI document, "" for a derived one. ``tagged`` says that a success has the ``ETag`` of the
    record, ``shows_more`` that it also shows data outside the ``ETag``. ``location`` is the template of the
    path of a created record, "" if none is created. ``idempotent`` makes the answer of a creating write that
    takes an ``Idempotency-Key``; ``refuses_keys`` says why an operation takes none. ``subrequest`` says that
    proxies ask it about requests of their clients, ``takes_path`` that the path of the client's request
    follows its own. ``by_client`` says that clients may authenticate by HTTP Basic. ``in_browser`` says that
    browsers navigate to it: it refuses with a page, unless the client accepts JSON. ``asks`` says that it
    changes nothing, whatever its method. ``status`` is that of a success, 0 for the usual one.
    """

    access: tuple[str, ...] = ()
    logged: Logged | None = None
    refusals: tuple[type[Refusal], ...] = ()
    location: str = ""
    media: tuple[str, ...] = ()
    sent: type[Struct] | None = None
    file: str = ""
    form: FormExchange | None = None
    example: Mapping[str, Any] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    publishes: bool = False
    dry_run: bool = False
    operation_id: str = ""
    tagged: bool = False
    shows_more: bool = False
    idempotent: Callable[..., Any] | None = None
    refuses_keys: str = ""
    subrequest: bool = False
    takes_path: bool = False
    by_client: bool = False
    in_browser: bool = False
    asks: bool = False
    status: int = 0


_NOTHING: Final = OperationMetadata()


def metadata_of(function: Callable[..., Any]) -> OperationMetadata:
    """Return the operation metadata of ``function`` or of the function of a bound method."""
    metadata: OperationMetadata = getattr(function, _ATTRIBUTE, _NOTHING)
    return metadata


def public(function: F) -> F:
    """Open the operation without authentication; tokens are ignored."""
    return _accessible(function, (ANYONE,))


def login(function: F) -> F:
    """Open to every logged-in caller."""
    return _accessible(function, (LOGIN,))


def needs(*codes: str) -> Callable[[F], F]:
    """Open to callers who hold any one of ``codes``, which have no wildcards."""
    if not codes:
        raise MetadataError("@needs names no code")
    for code in codes:
        if not is_code(code) or "*" in code.split(":"):
            raise MetadataError(f"@needs: {code!r} is no permission code without wildcards")
    if len(set(codes)) != len(codes):
        raise MetadataError("@needs names a code twice")
    return lambda function: _accessible(function, codes)


def logged(
    module: str, action: str, kind: DeclaredKind, *, params: bool = True, response: bool = True
) -> Callable[[F], F]:
    """Record calls in the operation log; ``params=False`` and ``response=False`` omit their content."""
    entry = Logged(module, action, kind, params, response)

    def metadata(function: F) -> F:
        if metadata_of(function).logged is not None:
            raise MetadataError(f"{function.__qualname__} has two @logged")
        return _marked(function, logged=entry)

    return metadata


def refuses(*refusals: type[Refusal]) -> Callable[[F], F]:
    """Declare the responder's own refusals, in addition to those of every guarded request."""
    return lambda function: _marked(function, refusals=metadata_of(function).refusals + refusals)


def named(operation_id: str) -> Callable[[F], F]:
    """Give the operation the name that methods of generated clients have, a verb first: ``listUsers``."""
    return lambda function: _marked(function, operation_id=operation_id)


def tagged(function: F) -> F:
    """Declare that a success has the ``ETag`` of the record."""
    return _marked(function, tagged=True)


def shows_more(function: F) -> F:
    """Declare that the answer also shows data outside the record's ``ETag``: it is never 304."""
    return _marked(function, shows_more=True)


def idempotent(answer: Callable[..., Any]) -> Callable[[F], F]:
    """Take an ``Idempotency-Key``: the write is made once, and each repetition gets the same answer.

    ``answer`` returns the answer for the context and the saved record, and may add headers. It is called
    before the commit, so the answer is kept with the write. The unit of work must call ``authorized`` and
    ``made``.
    """
    return lambda function: _with_keys(function, idempotent=answer)


def refuses_keys(why: str) -> Callable[[F], F]:
    """Reject an ``Idempotency-Key``, with the reason ``why``, such as an answer with a secret."""
    return lambda function: _with_keys(function, refuses_keys=why)


def subrequest(*, takes_path: bool = False) -> Callable[[F], F]:
    """Serve the questions of a proxy about its client's request, whose headers come along.

    It is one ``GET`` operation, asked by any method and with any query, since these may be those of that
    request. The proxy proves itself in ``X-Portcullis-Key``: other credentials are not its own. With
    ``takes_path`` the raw path of that request follows the template.
    """
    return lambda function: _marked(function, subrequest=True, takes_path=takes_path)


def by_client(function: F) -> F:
    """Let a client authenticate by HTTP Basic, with an API key as its secret (RFC 6749 §2.3.1).

    The guard does it where a login is needed; a public responder does it itself.
    """
    return _marked(function, by_client=True)


def in_browser(function: F) -> F:
    """Refuse by a page that a person reads: browsers are sent to it. A client that accepts JSON gets that."""
    return _marked(function, in_browser=True)


def asks(function: F) -> F:
    """Declare that the operation changes nothing, whatever its method: it needs no operation log entry."""
    return _marked(function, asks=True)


def answers(status: Literal[202, 204]) -> Callable[[F], F]:
    """Answer a success with ``status``: 202 for work done later, 204 for no content (RFC 9110 §15.3)."""
    return lambda function: _marked(function, status=status)


def dry_run(function: F) -> F:
    """Let callers request the impact of a write with ``?dryRun=true``, without making it."""
    return _marked(function, dry_run=True)


def created(template: str) -> Callable[[F], F]:
    """Answer 201 instead of 200, with the ``Location`` of the new record (RFC 9110 §15.3.2).

    ``template`` is its path: the last field stands for the ``id`` of the answer, the others for those of the
    request.
    """
    return lambda function: _marked(function, location=template)


def publishes(function: F) -> F:
    """Declare that the operation may publish a revision; the answer counts the workers with it in force."""
    return _marked(function, publishes=True)


def sends(*media: str, of: type[Struct] | None = None) -> Callable[[F], F]:
    """Declare the media types of a responder that returns a ``Stream``, and the type of its JSON."""
    if not media:
        raise MetadataError("@sends names no media type")
    return lambda function: _marked(function, media=media, sent=of)


def example_body(body: Mapping[str, Any]) -> Callable[[F], F]:
    """Show ``body`` in the documentation as the JSON body of a request; sending it must do no harm."""
    return lambda function: _marked(function, example=body)


def example_parameters(**parameters: Any) -> Callable[[F], F]:
    """Show these values of parameters in the documentation, by name, where the usual ones would not do.

    Required parameters and those of the path are shown with a value anyway.
    """
    return lambda function: _marked(function, parameters=parameters)


def takes_file(field: str) -> Callable[[F], F]:
    """Declare that the body is ``multipart/form-data`` with one file in ``field``; the responder reads it."""
    return lambda function: _marked(function, file=field)


def takes_form(
    takes: type[Struct], *, answers: type[Struct], refuses: type[Struct], statuses: tuple[int, ...]
) -> Callable[[F], F]:
    """Declare that the body is ``application/x-www-form-urlencoded``, and that the answer has no envelope.

    The responder reads it and returns a ``Document``: ``answers`` as JSON, or ``refuses`` with one of
    ``statuses``.
    """
    return lambda function: _marked(function, form=FormExchange(takes, answers, refuses, statuses))


def _with_keys(function: F, **changes: Any) -> F:
    metadata = metadata_of(function)
    if metadata.idempotent is not None or metadata.refuses_keys:
        raise MetadataError(f"{function.__qualname__} says twice whether it takes an Idempotency-Key")
    return _marked(function, **changes)


def _accessible(function: F, access: tuple[str, ...]) -> F:
    if metadata_of(function).access:
        raise MetadataError(f"{function.__qualname__} says twice who may call it")
    return _marked(function, access=access)


def _marked(function: F, **changes: Any) -> F:
    setattr(function, _ATTRIBUTE, replace(metadata_of(function), **changes))
    return function


ACCESS: Final = "/access/"
"""The prefix of what other services ask."""
GROUPS: Final = ("/api/", ACCESS, "/oauth/", "/scim/")
"""The groups: prefixes of the templates of all guarded routes."""


@dataclass(frozen=True, slots=True, eq=False)
class Signature:
    """The types of a responder; ``body`` and ``query`` are None if it takes none.

    Each function at each template has one signature per process, compared and hashed by identity.
    """

    body: type[Struct] | None
    query: type[Struct] | None
    path: Mapping[str, Any]
    answer: Any


@dataclass(frozen=True, eq=False)
class Operation:
    """One method of one URI template.

    ``access`` has the codes that its lines of the endpoint layer must have, empty if nothing was declared.
    ``name`` is the qualified name of the responder, for messages; ``summary`` and ``description`` are its
    docstring. ``object`` is that of its lines in the endpoint layer, such as ``GET /api/role/{id}``. A
    ``public`` operation needs no session; the caller of a ``subrequest`` is a proxy. ``status`` is the status
    of a success. ``dialect`` is None for answers and errors of the usual form.
    """

    method: str
    template: str
    access: tuple[str, ...]
    metadata: OperationMetadata
    signature: Signature
    status: int
    name: str
    summary: str
    description: str
    object: str
    public: bool
    subrequest: bool
    dialect: Dialect | None = None

    @cached_property
    def noun(self) -> str:
        """Return its noun, such as ``role``: the first segment of its template, of ``/api/`` the second."""
        return self.template.removeprefix(GROUPS[0]).strip("/").partition("/")[0]

    @cached_property
    def in_group(self) -> bool:
        """True if its route is in a group, so that every request passes the guard."""
        return self.template.startswith(GROUPS)

    @cached_property
    def conditional(self) -> bool:
        """True if it is answered 304 to a client that already has the answer, by ``If-None-Match``."""
        return self.method == "GET" and self.metadata.tagged and not self.metadata.shows_more
