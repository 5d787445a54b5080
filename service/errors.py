"""Every refusal: a named value with its status, its stable code and a message that is safe to show.

A refusal is an error chosen on purpose. It is raised where the reason is found and translated to
``application/problem+json`` (RFC 9457) once, in ``service.web.requests.problems``. Nothing here knows HTTP
libraries. A message never holds a password, a token, SQL or a path of the server.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias

from service.kernel.assurance import CURRENT_PASSWORD, Challenge, step_up
from service.kernel.coded_sentences import Sentence
from service.kernel.codes import Ceiling
from service.kernel.core_sentences import sentence
from service.kernel.identity import Caller
from service.kernel.origin import Needed

Stated: TypeAlias = Sentence
"""What a refusal says: a sentence with a code. Extensions may pass a plain text."""


class Decided(Protocol):
    """A decision of the enforcer, as shown in answers and logs."""

    @property
    def allowed(self) -> bool:
        """True if it allows the caller."""

    @property
    def layer(self) -> str:
        """The layer that was asked."""

    @property
    def object(self) -> str:
        """The object that was asked about."""

    @property
    def line(self) -> tuple[str, str, str] | None:
        """The line that allowed: layer, object and code; as text, the line of a policy file."""

    @property
    def codes(self) -> frozenset[str] | None:
        """The codes that the caller held; None without a session."""

    @property
    def required(self) -> tuple[str, ...]:
        """The codes any one of which would do."""

    @property
    def ceilings(self) -> tuple[Ceiling, ...]:
        """The further callers that were asked, such as the scopes of an API key."""

    @property
    def parts(self) -> tuple["Decided", ...]:
        """The decisions about the account and about each ceiling; empty for a caller without ceilings."""

    @property
    def denied_by(self) -> tuple[str, ...]:
        """Which of account and ceilings are denied; empty for a caller without ceilings."""

    @property
    def id(self) -> str:
        """The name of the decision."""

    @property
    def revision(self) -> int:
        """The revision of the policy that decided."""

    @property
    def own_digest(self) -> str:
        """The digest of the static policy that decided."""


class Refusal(Exception):  # noqa: N818 - the field's word; an error chosen on purpose is no accident
    """The base class of all refusals; never raised itself.

    ``sentence`` is that of this occurrence, None for the title alone; ``detail`` is its text. ``headers`` are
    added to the response, and ``extra`` are further members of the problem document. ``decision`` is the
    denial of the enforcer behind the refusal, None without a denial.
    """

    status: ClassVar[int]
    code: ClassVar[str]
    title: ClassVar[str]
    decision: Decided | None = None

    def __init__(
        self, detail: Stated | None = None, *, headers: Mapping[str, str] | None = None, **extra: Any
    ) -> None:
        self.sentence = None if detail is None else Sentence.of(detail)
        self.detail = self.title if detail is None else str(detail)
        super().__init__(self.detail)
        self.headers: dict[str, str] = dict(headers or {})
        self.extra = extra

    def say(self, stated: Sentence | None) -> None:
        """Make ``stated`` the sentence of the refusal; None for the title."""
        self.sentence = stated
        self.detail = self.title if stated is None else str(stated)
        self.args = (self.detail,)

    def stated(self) -> Sentence:
        """Return the sentence; the title if there is none."""
        return self.sentence or Sentence(self.title, self.code, {})


class BadRequest(Refusal):
    """The request can't be read: malformed JSON, two tokens, or a path with forbidden characters."""

    status, code, title = 400, "bad_request", "The request can't be read"


class InvalidScim(Refusal):
    """A SCIM request does not follow RFC 7644; ``scimType`` says in what (§3.12), and it is answered so."""

    status, code, title = 400, "invalid_scim", "The SCIM request is not valid"

    def __init__(self, detail: str | None = None, *, scim_type: str | None = None) -> None:
        super().__init__(None if detail is None else Sentence.of(detail), scimType=scim_type)


class _Challenge(Refusal):
    """A 401 with the challenge that RFC 6750 §3 requires."""

    status = 401
    challenge: ClassVar[str] = 'Bearer error="invalid_token"'

    def __init__(self, detail: Stated | None = None, **extra: Any) -> None:
        super().__init__(detail, headers={"WWW-Authenticate": self.challenge}, **extra)


class Unauthenticated(_Challenge):
    """No token on a route that needs login; RFC 6750 §3.1 wants no error code in this challenge."""

    code, title = "unauthenticated", "Log in first"
    challenge = "Bearer"


class TokenInvalid(_Challenge):
    """The signature, the claims, the type or the form of the token is wrong."""

    code, title = "token_invalid", "The token is not valid"


class TokenExpired(_Challenge):
    """The access token is past its ``exp``."""

    code, title = "token_expired", "The token has expired"


class RefreshRequired(_Challenge):
    """The session has changed since the token was issued, or has ended."""

    code, title = "refresh_required", "The session has changed: refresh the token or log in again"


class LoginFailed(_Challenge):
    """Unknown user or wrong password: one answer for both."""

    code, title = "login_failed", "The user name or the password is wrong"
    challenge = "Bearer"


class SignInFailed(_Challenge):
    """Data from a provider or a browser is untrusted. The log has the reason, the response does not."""

    code, title = "sign_in_failed", "The sign-in with the provider was not accepted"
    challenge = "Bearer"


class SecondFactorRequired(_Challenge):
    """The password is right, and a second factor is needed besides.

    At a login ``challenge`` is to be answered by one of ``methods`` within ``expiresIn`` seconds;
    ``publicKey`` are the options for a passkey.
    """

    code, title = "second_factor_required", "A second factor is needed"
    challenge = "Bearer"


class RefreshRejected(_Challenge):
    """The refresh token is not live; ``reason`` is unknown, superseded, reused or ended."""

    code, title = "refresh_rejected", "The refresh token is no longer valid"


class AccountDisabled(Refusal):
    """The password is right and the user is disabled."""

    status, code, title = 403, "account_disabled", "The account is disabled"


class LinkInvalid(Refusal):
    """The token of a link to an account is unknown, expired, used or overtaken: one answer for all."""

    status, code, title = 403, "link_invalid", "The link is not valid or has expired"


class InitialPasswordExpired(Refusal):
    """The password is right, but somebody else has set it, and it was not changed in time."""

    status, code, title = 403, "initial_password_expired", "The initial password has expired"


class AccountBanned(Refusal):
    """The user is banned; ``until`` when the ban ends by itself."""

    status, code, title = 403, "account_banned", "The account is banned"


def _denial(
    decision: Decided, required: Iterable[str] | None, needed: Needed, field: str | None
) -> dict[str, Any]:
    """Return the members that describe a denial of the enforcer."""
    members: dict[str, Any] = {
        "layer": decision.layer,
        "required": list(decision.required if required is None else required),
        "needed": needed,
        "decisionId": decision.id,
    }
    if decision.denied_by:
        members["deniedBy"] = list(decision.denied_by)
    return members if field is None else members | {"field": field}


class PermissionDenied(Refusal):
    """The enforcer denied; ``layer``, ``required``, ``needed`` and ``decisionId`` contain the reason."""

    status, code, title = 403, "permission_denied", "Permission denied"

    def __init__(
        self,
        detail: Stated,
        decision: Decided,
        *,
        required: Iterable[str] | None = None,
        needed: Needed = "any",
        field: str | None = None,
    ) -> None:
        """``required`` are the missing codes, by default those of ``decision``.

        ``needed`` says whether any or all of them are required. ``field`` is the member of the request that
        is denied, if there is one.
        """
        super().__init__(detail, **_denial(decision, required, needed, field))
        self.decision = decision


class ApprovalRequired(Refusal):
    """The person for whom an agent acts has to approve this call first, and has not.

    ``approval`` is the number of the approval to give, ``link`` the page to give it at. A header has the link
    too.
    """

    status, code, title = 403, "approval_required", "The person for whom the agent acts has to approve this"

    def __init__(self, decision: Decided, approval: int, link: str) -> None:
        super().__init__(approval=approval, link=link, decisionId=decision.id)
        self.headers["X-Portcullis-Approval"] = link  # some proxies pass on headers and no body
        self.decision = decision


class InsufficientAuthentication(_Challenge):
    """The enforcer denied: the caller has not authenticated strongly or lately enough for this.

    ``layer``, ``required`` and ``decisionId`` are those of the decision, ``acrValues`` and ``maxAge`` say
    what would do (RFC 9470 §3), and ``methods`` by which of the caller's own methods it can be got.
    """

    code, title = "insufficient_user_authentication", "Stronger or more recent authentication is required"
    challenge = 'Bearer error="insufficient_user_authentication"'

    def __init__(self, decision: Decided, needs: Challenge, user: Caller | None = None) -> None:
        """``user`` is who would have to step up, where that is not the caller of the request."""
        super().__init__(
            layer=decision.layer,
            required=list(decision.required),
            acrValues=list(needs.acr_values),
            methods=[],
            decisionId=decision.id,
        )
        if needs.max_age is not None:
            self.extra["maxAge"] = needs.max_age
        age = "" if needs.max_age is None else f', max_age="{needs.max_age}"'
        acr_values = " ".join(needs.acr_values)
        self.headers["WWW-Authenticate"] = f'{self.challenge}, acr_values="{acr_values}"{age}'
        self.decision = decision
        self.needs = needs
        self.user = user


def too_weak(decision: Decided, user: Caller | None = None) -> InsufficientAuthentication | PermissionDenied:
    """Return the refusal of a denial by the layer ``assurance``: a challenge, unless that does not help.

    ``user`` is who would have to step up, where that is not the caller of the request.
    """
    needs = step_up(decision.required, decision.codes)
    if needs is None and CURRENT_PASSWORD in decision.required:
        return PermissionDenied(sentence("current_password_needed"), decision, field="currentPassword")
    if needs is None:
        return PermissionDenied(sentence("other_method_needed"), decision)
    return InsufficientAuthentication(decision, needs, user)


class CsrfFailed(Refusal):
    """A state-changing request in cookie mode without a valid CSRF proof."""

    status, code, title = 403, "csrf_failed", "The request lacks a valid CSRF proof"


class ProxyRefused(Refusal):
    """The proxy that asks about a request could not prove itself; its client can do nothing about that.

    If the enforcer denied, ``layer`` and ``decisionId`` identify the decision.
    """

    status, code, title = 403, "proxy_refused", "The proxy is not authenticated"

    def __init__(self, detail: Stated, decision: Decided | None = None) -> None:
        super().__init__(detail)
        if decision is not None:
            self.extra |= {"layer": decision.layer, "decisionId": decision.id}
            self.decision = decision


class NotFound(Refusal):
    """No such record or path exists, or the caller may not know that it does."""

    status, code, title = 404, "not_found", "Not found"


class MethodNotAllowed(Refusal):
    """The path does not take this method; ``Allow`` lists the methods that it takes (RFC 9110 §15.5.6)."""

    status, code, title = 405, "method_not_allowed", "The method is not allowed"

    def __init__(self, allowed: Sequence[str]) -> None:
        super().__init__(headers={"Allow": ", ".join(sorted(allowed))})


class RequestTimeout(Refusal):
    """The head or the body of the request did not arrive in time (RFC 9110 §15.5.9)."""

    status, code, title = 408, "request_timeout", "The request took too long to arrive"


ConflictRule: TypeAlias = Literal[
    "changed_meanwhile",
    "confirmed_address",
    "consistent",
    "directory",
    "fixed",
    "has_password",
    "history",
    "in_use",
    "invariant",
    "kept_out",
    "kind_of_account",
    "last_administrator",
    "last_way_in",
    "limit",
    "missing_setting",
    "older_nodes",
    "unique",
    "way_back",
]
"""The rules that keep records whole; ``docs/reference/rules.md`` says what each asks."""


class Conflict(Refusal):
    """The change would break a rule that keeps records consistent and applies to all callers.

    Examples: names are unique, the last administrator stays. For rules that depend on the caller, the
    enforcer decides, and the error is ``PermissionDenied``.
    """

    status, code, title = 409, "conflict", "The request conflicts with the stored data"

    def __init__(
        self, detail: Stated | None = None, *, rule: ConflictRule | None = None, **extra: Any
    ) -> None:
        """``rule`` is the rule of this service that stands against it; None for one of an extension."""
        super().__init__(detail, **extra)
        if rule is not None:
            self.extra["rule"] = rule


class ActOnOneself(Conflict):
    """The enforcer denied an act on the caller's own account; no permission allows it.

    It is a conflict, since no permission would help, and has the members of ``PermissionDenied``.
    """

    def __init__(self, detail: Stated, decision: Decided, *, field: str | None = None) -> None:
        super().__init__(detail, **_denial(decision, None, "any", field))
        self.decision = decision


class MailNotConfigured(Refusal):
    """The request needs mail, and the installation sends none."""

    status, code, title = 409, "mail_not_configured", "This installation does not send mail"


class RevisionUnknown(Refusal):
    """The request asks for a policy revision that no node has published."""

    status, code, title = 409, "revision_unknown", "No such policy revision has been published"


class RevisionUntrusted(Refusal):
    """A past policy revision or its stored lines differ from the published policy."""

    status, code, title = (
        409,
        "revision_untrusted",
        "The policy revision differs from its published version",
    )


class RequestUnderWay(Refusal):
    """Another request with the same ``Idempotency-Key`` has not ended yet."""

    status, code, title = 409, "request_under_way", "The same request is in progress"

    def __init__(self) -> None:
        super().__init__(headers={"Retry-After": "1"})


class PreconditionFailed(Refusal):
    """The record's version is not the one that ``If-Match`` names (RFC 9110 §15.5.13)."""

    status, code, title = 412, "precondition_failed", "The record has changed since it was read"


class TooLarge(Refusal):
    """The body is larger than allowed."""

    status, code, title = 413, "too_large", "The body is too large"


class QuotaExceeded(Refusal):
    """The user would have more files, or more bytes in files, than one user may have."""

    status, code, title = 413, "quota_exceeded", "The quota is used up"


class RangeNotSatisfiable(Refusal):
    """The range begins after the end of the file; ``Content-Range`` gives its length (RFC 9110 §15.5.17)."""

    status, code, title = 416, "range_not_satisfiable", "The requested range is outside the file"

    def __init__(self, size: int) -> None:
        super().__init__(sentence("file_size", size=size), headers={"Content-Range": f"bytes */{size}"})


class UnsupportedMediaType(Refusal):
    """The endpoint does not read this content type, or files of this type may not be uploaded."""

    status, code, title = 415, "unsupported_media_type", "The content type is not supported"


class Fault(NamedTuple):
    """A fault of a field, with the sentence that states it."""

    field: str
    sentence: Sentence


class ValidationFailed(Refusal):
    """The body or a parameter breaks a rule; ``errors`` names the fields and never echoes a value.

    ``faults`` are the fields with their sentences.
    """

    status, code, title = 422, "validation_failed", "The request breaks a rule"

    def __init__(self, *faults: tuple[str, Stated]) -> None:
        self.faults = tuple(Fault(field, Sentence.of(stated)) for field, stated in faults)
        super().__init__(errors=[{"field": field} | stated.as_member() for field, stated in self.faults])


class RowFault(NamedTuple):
    """A fault in one row of a table; ``row`` counts from 1, ``code`` is the code of a refusal.

    ``message`` is its sentence. ``denial`` is the refusal itself where permissions are lacking.
    """

    row: int
    field: str
    message: Stated
    code: str = ValidationFailed.code
    denial: PermissionDenied | ActOnOneself | None = None

    def as_member(self, most: int) -> dict[str, Any]:
        """Return the fault as a member of ``errors``, with at most ``most`` of the codes that are lacking.

        ``requiredCount`` says how many there are when some are left out.
        """
        stated = Sentence.of(self.message)
        shown: dict[str, Any] = {"row": self.row, "field": self.field} | stated.as_member()
        shown |= {"code": self.code, "detailCode": stated.code}
        if self.denial is not None:
            required = self.denial.extra["required"]
            shown |= {**self.denial.extra, "required": required[:most]}
            if len(required) > most:
                shown["requiredCount"] = len(required)
        return shown


class RowsRefused(ValidationFailed):
    """Some rows of a table can't be saved, so none was; ``errors`` holds the first 100 faults.

    ``denial`` and ``decision`` are those of the first row that lacks permissions.
    """

    MOST: ClassVar[int] = 100

    def __init__(self, faults: Sequence[RowFault]) -> None:
        first = [fault.as_member(self.MOST) for fault in faults[: self.MOST]]
        self.faults = ()
        Refusal.__init__(self, sentence("rows_refused"), errors=first, errorCount=len(faults))
        denials = (fault.denial for fault in faults if fault.denial is not None)
        self.denial = next(denials, None)
        self.decision = None if self.denial is None else self.denial.decision


class IdempotencyKeyReused(Refusal):
    """The ``Idempotency-Key`` belongs to a request with another body."""

    status, code, title = 422, "idempotency_key_reused", "The key belongs to another request"


class RateLimited(Refusal):
    """Too many attempts; ``Retry-After`` in whole seconds. ``limit`` names the reached limit, for the log."""

    status, code, title = 429, "rate_limited", "Too many attempts"

    def __init__(self, retry_after: int, limit: str = "", detail: Stated | None = None) -> None:
        super().__init__(detail, headers={"Retry-After": str(max(1, retry_after))})
        self.limit = limit


class HeadTooLarge(Refusal):
    """The request line and the headers together are longer than allowed (RFC 6585 §5)."""

    status, code, title = 431, "head_too_large", "The head of the request is too large"


class InternalError(Refusal):
    """A fault of the service itself; the log line with the same request id has the details."""

    status, code, title = 500, "internal_error", "The service failed"


class NotImplementedHere(Refusal):
    """A transfer coding that is not supported (RFC 9112 §6.1), or an operation that a store lacks."""

    status, code, title = 501, "not_implemented", "The service does not support this"


class Unavailable(Refusal):
    """A store is out of reach: the request is neither allowed nor answered 401."""

    status, code, title = 503, "unavailable", "A required store is unavailable"

    def __init__(self, detail: Stated | None = None, *, retry_after: int = 1) -> None:
        super().__init__(detail, headers={"Retry-After": str(retry_after)})


class Overloaded(Unavailable):
    """Too many requests use the same resource at once. Clients can cause this, so it is no fault."""
