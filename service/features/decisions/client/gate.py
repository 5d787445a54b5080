"""Questions from requests, and users or refusals from decisions; without any I/O."""

import base64
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import unquote_to_bytes

from .entities import NOT_ACTIVE, TOO_WEAK, UNAVAILABLE, Decision, Question, Resource, StepUp, Subject, User

USER: Final = "portcullis.user"
"""The key of the ``User`` in the scope of ASGI and the environment of WSGI."""

_TOKEN: Final = re.compile(r"bearer +([A-Za-z0-9._~+/-]+=*)", re.IGNORECASE)  # RFC 6750 §2.1
_METHOD: Final = re.compile(r"[A-Z]{1,32}")
# RFC 3986 §3.3, without ";". A brace would make a template of a path.
_PATH: Final = re.compile(r"/[A-Za-z0-9._~!$&'()*+,=:@%/-]*")
_PLAIN_PATH: Final = re.compile(r"/[A-Za-z0-9._~/-]*")
_LONGEST: Final = 8192  # bytes of a token or a path
_OURS: Final = "x-portcullis-"
_API_KEY: Final = "pck_"
_OVERRIDES: Final = frozenset(
    {
        "x-http-method-override",
        "x-http-method",
        "x-method-override",
        "script-name",  # gunicorn cuts it off the path
        "path-info",
        "daphne-root-path",
        "x-script-name",  # as gunicorn, by a widespread middleware for Flask
        "x-original-url",  # IIS, and what follows it
        "x-rewrite-url",
    }
)
_REASONS: Final = {400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 503: "Service Unavailable"}
_TITLES: Final = {
    "bad_request": "The request can't be read",
    "unauthenticated": "Log in first",
    "token_invalid": "The token is not valid",
    "refresh_required": "The session has changed: refresh the token or log in again",
    TOO_WEAK: "Stronger or more recent authentication is required",
    "permission_denied": "Permission denied",
    "unavailable": "Portcullis is unavailable",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused request: not logged in, no permission, no answer, or a faulty request.

    ``code`` is the code of Portcullis' own refusals for the same reason. ``required`` are the permission
    codes of which any would have sufficed, as far as they are known. ``step_up`` is set if a logged-in person
    has to authenticate more strongly or again: a refresh of the token does not help. ``decision_id`` is that
    of the denial, "" where the enforcer was not asked.
    """

    status: Literal[400, 401, 403, 503]
    code: str
    required: tuple[str, ...] = ()
    step_up: StepUp | None = None
    decision_id: str = ""

    @property
    def reason(self) -> str:
        """The reason phrase."""
        return _REASONS[self.status]

    @property
    def headers(self) -> list[tuple[str, str]]:
        """The headers of the answer; its length among them."""
        shown = [
            ("Content-Type", "application/problem+json"),
            ("Content-Length", str(len(self.body))),
            ("Cache-Control", "no-store"),
        ]
        return [*shown, *self.instructions]

    @property
    def instructions(self) -> list[tuple[str, str]]:
        """The headers that say what to do: the challenge of a 401, when to ask again after a 503."""
        match self.status:
            case 401:
                return [("WWW-Authenticate", self.challenge)]
            case 503:
                return [("Retry-After", "1")]
        return []

    @property
    def challenge(self) -> str:
        """The challenge of a 401 (RFC 6750 §3); for a step-up that of RFC 9470 §3."""
        if self.step_up is None:
            return "Bearer" if self.code == "unauthenticated" else 'Bearer error="invalid_token"'
        parts = [f'error="{TOO_WEAK}"']
        if self.step_up.acr_values:
            parts.append(f'acr_values="{" ".join(self.step_up.acr_values)}"')
        if self.step_up.max_age is not None:
            parts.append(f'max_age="{self.step_up.max_age}"')
        return f"Bearer {', '.join(parts)}"

    @property
    def problem(self) -> dict[str, Any]:
        """The members of the problem document, as Portcullis names them."""
        title = _TITLES[self.code]
        shown: dict[str, Any] = {
            "type": f"/docs/errors#{self.code.replace('_', '-')}",
            "title": title,
            "status": self.status,
            "detail": title,
            "code": self.code,
        }
        if self.step_up is not None:
            shown["acrValues"] = list(self.step_up.acr_values)
            if self.step_up.max_age is not None:
                shown["maxAge"] = self.step_up.max_age
        if self.required:
            shown |= {"required": list(self.required), "needed": "any"}
        return shown | {"decisionId": self.decision_id} if self.decision_id else shown

    @property
    def body(self) -> bytes:
        """A problem document (RFC 9457)."""
        return json.dumps(self.problem).encode()


FAULTY: Final = Refusal(400, "bad_request")
NOT_LOGGED_IN: Final = Refusal(401, "unauthenticated")
BAD_TOKEN: Final = Refusal(401, "token_invalid")
STALE_TOKEN: Final = Refusal(401, "refresh_required")
NO_ANSWER: Final = Refusal(503, "unavailable")


def checked_mount(path: str) -> str:
    """Return ``path`` if an application can be mounted there: "" is the whole server.

    Raises ValueError for one that does not begin with a slash, or ends with one.
    """
    if path and (not path.startswith("/") or path.endswith("/")):
        raise ValueError('The mount path must be "" or a path such as "/orders"')
    return path


def path_asked(raw: bytes | None, served: str, mounted_at: str) -> str | None:
    """Return the path to ask about; None if it is unknown, or differs from the path to be served.

    ``raw`` is the path as it was sent, None if the server does not provide it. ``served`` is the decoded
    path, by which the application routes after removing ``mounted_at``. Without ``raw``, only a path that
    needs no encoding is unambiguous.
    """
    if served != mounted_at and not served.startswith(f"{mounted_at}/"):
        return None
    if raw is None:
        return served if len(served) <= _LONGEST and _PLAIN_PATH.fullmatch(served) else None
    text = raw.decode("latin-1")
    if len(raw) > _LONGEST or _PATH.fullmatch(text) is None:
        return None
    try:
        return text if unquote_to_bytes(raw).decode("utf-8") == served else None
    except UnicodeDecodeError:
        return None


def is_ours(header: str) -> bool:
    """True for a header that only Portcullis sets, in any spelling that a server takes for it."""
    return _spelt(header).startswith(_OURS)


def overrides(headers: Iterable[str]) -> bool:
    """True if a header asks a server or framework to take another method or path than is decided about."""
    return any(_spelt(header) in _OVERRIDES for header in headers)


def _spelt(header: str) -> str:
    return header.lower().replace("_", "-")  # one variable of CGI and WSGI (RFC 3875 §4.1.18)


def token_of(authorization: Sequence[str]) -> str | Refusal:
    """Return the token of the only ``Authorization`` header, or why there is none."""
    if not authorization:
        return NOT_LOGGED_IN
    if len(authorization) > 1 or len(authorization[0]) > _LONGEST:
        return BAD_TOKEN
    match = _TOKEN.fullmatch(authorization[0])
    return BAD_TOKEN if match is None else match[1]


def question_about(method: str, path: str | None, authorization: Sequence[str]) -> Question | Refusal:
    """Return the question about a request; ``path`` is the result of ``path_asked``."""
    if path is None or _METHOD.fullmatch(method) is None:
        return FAULTY
    token = token_of(authorization)
    if isinstance(token, Refusal):
        return token
    return Question(Subject.token(token), method, Resource.route(path))


def outcome(decision: Decision, token: str, required: tuple[str, ...] = ()) -> User | Refusal:
    """Return the user whose token or API key the decision was about, or why the request is refused.

    ``required`` are the codes of the question, for answers that do not repeat them.
    """
    if decision.allowed:
        return _user(token, decision) or BAD_TOKEN
    decided = decision.decision_id
    if decision.reason == TOO_WEAK:
        return Refusal(401, TOO_WEAK, step_up=decision.step_up or StepUp(), decision_id=decided)
    denied = Refusal(403, "permission_denied", decision.required or required, decision_id=decided)
    # A refresh may help here; API keys can't be refreshed.
    ended = BAD_TOKEN if token.startswith(_API_KEY) else STALE_TOKEN
    return {UNAVAILABLE: NO_ANSWER, NOT_ACTIVE: ended}.get(decision.reason, denied)


def _user(token: str, decision: Decision) -> User | None:
    """Return the user of a token that Portcullis has verified just now: an allowed one always is.

    For an API key, which names no account, the answer has the account.
    """
    try:
        if decision.subject is None:
            part = token.split(".")[1]
            claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        else:
            claims = {"sub": decision.subject["id"], "user_name": decision.subject["name"]}
            claims["roles"] = decision.subject["roles"]
        user_id = claims["sub"]
        name = claims.get("user_name", "")
        roles = claims.get("roles", [])
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        return None
    if not (isinstance(user_id, str) and isinstance(name, str) and isinstance(roles, list)):
        return None
    return User(user_id, name, tuple(map(str, roles)), decision.decision_id)
