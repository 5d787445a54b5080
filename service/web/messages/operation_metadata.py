"""Operation metadata: the marks of responders for access, log entries and refusals; and operations as data.

Marks only record, and can be stacked in any order. Contradictions raise ``MetadataError`` at import: a
responder with contradictory access must not serve any request. The guard, the logs and the OpenAPI document
read operations; ``operation`` serves them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Final, Literal, TypeVar

from msgspec import Struct

from service.authz.engine.rules import ANYONE, LOGIN
from service.errors import Refusal
from service.kernel.account_acts import OBJECTS
from service.kernel.codes import is_code
from service.kernel.fields import camel
from service.records.logs.events import DeclaredKind, OperationKind
from service.web.messages.dialect import Dialect

F = TypeVar("F", bound=Callable[..., Any])
Refusals = Sequence[type[Refusal]]
Example = Mapping[str, Any] | None
Keeps = Literal["all", "params", "response", "nothing"]
"""The parts of a call that its entry in the operation log keeps."""

_ATTRIBUTE: Final = "__mark__"
PARAMETER: Final = re.compile(r"\{([^}]*)\}")
"""A parameter of a template."""


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
    """The declarations of a responder, as described by the marks below.

    ``access`` has the codes that the policy lines of the endpoint layer must have: ``@anyone``, ``@login``,
    or alternative permission codes; empty without a declaration. ``media`` are the media types of a
    ``Stream``, ``sent`` is the type of its JSON. ``location`` is ``created`` of ``writes``, ``status`` is its
    ``answers``. ``session_act`` is that of ``by_session``.
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
    session_act: str = ""


_NOTHING: Final = OperationMetadata()


def metadata_of(function: Callable[..., Any]) -> OperationMetadata:
    """Return the operation metadata of ``function`` or of the function of a bound method."""
    metadata: OperationMetadata = getattr(function, _ATTRIBUTE, _NOTHING)
    return metadata


def public(*, name: str = "", refuses: Refusals = ()) -> Callable[[F], F]:
    """Open the operation without authentication; tokens are ignored.

    ``name`` is the name of the operation, which methods of generated clients have: a verb first, such as
    ``listUsers``. ``refuses`` are the responder's own refusals, beside those of every guarded request.
    """
    return _opened((ANYONE,), name, refuses)


def login(*, name: str = "", refuses: Refusals = (), tagged: bool = False) -> Callable[[F], F]:
    """Open the operation to every logged-in caller; the parameters are those of ``public`` and ``needs``."""
    return _opened((LOGIN,), name, refuses, tagged=tagged)


def needs(
    *codes: str, name: str = "", refuses: Refusals = (), tagged: bool = False, shows_more: bool = False
) -> Callable[[F], F]:
    """Open the operation to callers who hold any one of ``codes``, which have no wildcards.

    ``name`` and ``refuses`` are as in ``public``. With ``tagged`` a success has the ``ETag`` of the record,
    with ``shows_more`` also data outside this ``ETag``: then it is never 304.
    """
    if not codes:
        raise MetadataError("@needs names no code")
    for code in codes:
        if not is_code(code) or "*" in code.split(":"):
            raise MetadataError(f"@needs: {code!r} is no permission code without wildcards")
    if len(set(codes)) != len(codes):
        raise MetadataError("@needs names a code twice")
    return _opened(codes, name, refuses, tagged=tagged, shows_more=shows_more)


def outside(*, name: str = "", refuses: Refusals = ()) -> Callable[[F], F]:
    """Describe an operation outside the groups, which no guard protects."""
    return _opened((), name, refuses)


def logged(
    action: str, kind: DeclaredKind, *, module: str = "", keeps: Keeps = "all", example: Example = None
) -> Callable[[F], F]:
    """Record calls in the operation log, as ``action`` of ``module``: by default the noun of the route.

    ``keeps`` is what an entry keeps of the call. The documentation shows ``example`` as the JSON body of a
    request; sending it must do no harm.
    """
    entry = Logged(module, action, kind, keeps in ("all", "params"), keeps in ("all", "response"))

    def mark(function: F) -> F:
        if metadata_of(function).logged is not None:
            raise MetadataError(f"{function.__qualname__} has two declarations for the operation log")
        return _marked(function, logged=entry, example=example)

    return mark


def writes(
    action: str,
    kind: DeclaredKind,
    *,
    module: str = "",
    keeps: Keeps = "all",
    example: Example = None,
    dry_run: bool = False,
    publishes: bool = False,
    created: str = "",
    answers: Literal[0, 202, 204] = 0,
    idempotent: Callable[..., Any] | None = None,
    refuses_keys: str = "",
) -> Callable[[F], F]:
    """Declare a write. It is recorded as ``logged`` does it; that has the first five parameters.

    With ``dry_run`` callers can request its impact with ``?dryRun=true``. With ``publishes`` it may publish a
    revision, and the answer counts the workers with it in force.

    A success is answered 200. With ``created`` it is 201, with the ``Location`` of the new record (RFC 9110
    §15.3.2): ``created`` is the template of its path, whose last field stands for the ``id`` of the answer.
    ``answers`` is 202 for work done later, 204 for no content (RFC 9110 §15.3).

    With ``idempotent`` it takes an ``Idempotency-Key``: the write is made once, and each repetition gets the
    same answer. ``idempotent`` returns the answer for the context and the saved record, and may add headers.
    It is called before the commit, so the answer is kept with the write. The unit of work must call
    ``authorized`` and ``made``. ``refuses_keys`` is the reason to reject keys, such as a secret answer.
    """
    if idempotent is not None and refuses_keys:
        raise MetadataError(f"@writes of {action!r} takes an Idempotency-Key and refuses it")

    def mark(function: F) -> F:
        return _marked(
            logged(action, kind, module=module, keeps=keeps, example=example)(function),
            dry_run=dry_run,
            publishes=publishes,
            location=created,
            status=answers,
            idempotent=idempotent,
            refuses_keys=refuses_keys,
        )

    return mark


def asks(*, example: Example = None, refuses_keys: str = "") -> Callable[[F], F]:
    """Declare that the operation changes nothing, whatever its method: it needs no operation log entry.

    ``example`` is as in ``logged``, ``refuses_keys`` as in ``writes``.
    """
    return lambda function: _marked(function, asks=True, example=example, refuses_keys=refuses_keys)


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


def by_session(act: str) -> Callable[[F], F]:
    """Ask the policy's layer ``account`` if an API key of a person may do ``act``, before the responder runs.

    ``act`` is one of that layer, such as ``end-sessions`` or ``approve``.
    """
    if f"{act} by-personal-key" not in OBJECTS:
        raise MetadataError(f"@by_session: the layer account has no act {act!r}")
    return lambda function: _marked(function, session_act=act)


def sends(*media: str, of: type[Struct] | None = None) -> Callable[[F], F]:
    """Declare the media types of a responder that returns a ``Stream``, and the type of its JSON."""
    if not media:
        raise MetadataError("@sends names no media type")
    return lambda function: _marked(function, media=media, sent=of)


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


def _opened(access: tuple[str, ...], name: str, refuses: Refusals, **more: bool) -> Callable[[F], F]:
    def mark(function: F) -> F:
        if metadata_of(function).access:
            raise MetadataError(f"{function.__qualname__} says twice who may call it")
        return _marked(function, access=access, operation_id=name, refusals=tuple(refuses), **more)

    return mark


def _marked(function: F, **changes: Any) -> F:
    setattr(function, _ATTRIBUTE, replace(metadata_of(function), **changes))
    return function


class Responders:
    """The base of endpoints: ``at`` in the head of a class is the URI template that its responders serve.

    So ``class OneRole(Responders, at="/api/role/{id}")``. ``Routes.serve`` reads it.
    """

    at: ClassVar[str] = ""

    def __init_subclass__(cls, *, at: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        if at:
            cls.at = at


ACCESS: Final = "/access/"
"""The prefix of what other services ask."""
GROUPS: Final = ("/api/", ACCESS, "/oauth/", "/scim/")
"""The groups: prefixes of the templates of all guarded routes."""


def noun_of(template: str) -> str:
    """Return the noun of a route, such as ``role``: its first segment, of ``/api/`` the second."""
    return template.removeprefix(GROUPS[0]).strip("/").partition("/")[0]


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
        """Return the noun of its route."""
        return noun_of(self.template)

    @property
    def shown_path(self) -> str:
        """Return its template as the document of the API names it: ``/api/online/{loginId}``."""
        return PARAMETER.sub(lambda parameter: f"{{{camel(parameter[1])}}}", self.template)

    @cached_property
    def in_group(self) -> bool:
        """True if its route is in a group, so that every request passes the guard."""
        return self.template.startswith(GROUPS)

    @cached_property
    def conditional(self) -> bool:
        """True if it is answered 304 to a client that already has the answer, by ``If-None-Match``."""
        return self.method == "GET" and self.metadata.tagged and not self.metadata.shows_more
