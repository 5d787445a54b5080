"""WSGI middleware: one asks about each request, one trusts the signed assertion that a proxy brings.

WSGI reads ``X_Portcullis_User`` as ``X-Portcullis-User`` (PEP 3333), so no identity header is believed, and
the application gets none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final, Protocol

from .asking import Portcullis
from .entities import User
from .gate import (
    BAD_TOKEN,
    FAULTY,
    NO_ANSWER,
    NOT_LOGGED_IN,
    USER,
    Refusal,
    checked_mount,
    is_ours,
    outcome,
    overrides,
    path_asked,
    question_about,
)

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

_HEADER: Final = "HTTP_"
_ASSERTION: Final = "HTTP_X_PORTCULLIS_ASSERTION"


class AssertionVerifier(Protocol):
    """``assertion.Assertions`` or a replacement."""

    def user(self, assertion: str) -> User | None:
        """Return the user of a valid assertion, None for a request without a user.

        Raises ValueError for an invalid assertion, and ConnectionError if it can't be verified.
        """


class _Middleware(ABC):
    """Serves judged requests, and refuses headers that would change the method or the path."""

    def __init__(self, app: WSGIApplication, mounted_at: str) -> None:
        self._app = app
        self._mounted_at = checked_mount(mounted_at)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request."""
        names = {key: key.removeprefix(_HEADER) for key in environ if key.startswith(_HEADER)}
        is_moved = _text(environ, "SCRIPT_NAME") != self._mounted_at or overrides(names.values())
        judged = FAULTY if is_moved else self._judge(environ)
        if isinstance(judged, Refusal):
            start_response(f"{judged.status} {judged.reason}", judged.headers)
            return [judged.body]
        for key, name in names.items():
            if is_ours(name):
                del environ[key]
        environ[USER] = judged
        return self._app(environ, start_response)

    @abstractmethod
    def _judge(self, environ: WSGIEnvironment) -> User | Refusal | None:
        """Return the user of the request, or the refusal."""


class GuardWSGI(_Middleware):
    """Lets requests pass that their token or API key allows.

    ``environ["portcullis.user"]`` is the ``User``.
    """

    def __init__(
        self,
        app: WSGIApplication,
        portcullis: Portcullis,
        *,
        unguarded: Collection[str] = (),
        mounted_at: str = "",
    ) -> None:
        """``unguarded`` are paths without authorization; their user is None.

        ``mounted_at`` is the ``SCRIPT_NAME`` of every request. Requests with a different ``SCRIPT_NAME`` are
        refused: the application would serve another path than the authorized path. Raises ValueError for a
        ``mounted_at`` that does not begin with a slash, or ends with a slash.
        """
        super().__init__(app, mounted_at)
        self._portcullis = portcullis
        self._unguarded = frozenset(unguarded)

    def _judge(self, environ: WSGIEnvironment) -> User | Refusal | None:
        path = self._path(environ)
        if path in self._unguarded:
            return None
        authorization = environ.get("HTTP_AUTHORIZATION")
        sent = [] if authorization is None else [authorization]
        question = question_about(environ["REQUEST_METHOD"], path, sent)
        if isinstance(question, Refusal):
            return question
        decision = self._portcullis.evaluate(question.subject, question.action, question.resource)
        return outcome(decision, question.subject.id)

    def _path(self, environ: WSGIEnvironment) -> str | None:
        below = _text(environ, "PATH_INFO")
        if below is None:
            return None
        raw = environ.get("REQUEST_URI") or environ.get("RAW_URI")
        try:
            sent = None if raw is None else raw.partition("?")[0].encode("latin-1")
        except UnicodeError:
            return None
        return path_asked(sent, self._mounted_at + below, self._mounted_at)


class AssertedWSGI(_Middleware):
    """Lets requests pass that a proxy has asked about: it brings a signed assertion.

    ``environ["portcullis.user"]`` is the ``User``, None where a line opens the route to everybody.
    """

    def __init__(self, app: WSGIApplication, assertions: AssertionVerifier, *, mounted_at: str = "") -> None:
        """``mounted_at`` is as of ``GuardWSGI``: the proxy has asked about the whole path."""
        super().__init__(app, mounted_at)
        self._assertions = assertions

    def _judge(self, environ: WSGIEnvironment) -> User | Refusal | None:
        try:
            return self._assertions.user(environ.get(_ASSERTION, ""))
        except ValueError:
            return BAD_TOKEN if _ASSERTION in environ else NOT_LOGGED_IN
        except ConnectionError:
            return NO_ANSWER


def _text(environ: WSGIEnvironment, key: str) -> str | None:
    """Return a part of the path, decoded; None for one that is no UTF-8."""
    part: str = environ.get(key, "")
    try:
        return part.encode("latin-1").decode()
    except UnicodeError:
        return None
