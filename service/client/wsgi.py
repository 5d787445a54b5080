"""WSGI middleware: one asks about each request, one trusts the signed assertion that a proxy brings.

WSGI reads ``X_Portcullis_User`` as ``X-Portcullis-User`` (PEP 3333), so no identity header is believed, and
the application gets none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final, Protocol

from .asking import Portcullis
from .entities import User
from .gate import (
    FAULTY,
    NO_ANSWER,
    NOT_LOGGED_IN,
    USER,
    Refusal,
    is_ours,
    outcome,
    overrides_method,
    path_asked,
    question_about,
)

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

_HEADER: Final = "HTTP_"
_ASSERTION: Final = "HTTP_X_PORTCULLIS_ASSERTION"


class AssertionVerifier(Protocol):
    """``assertion.Assertions``, or what does the same."""

    def user(self, assertion: str) -> User | None:
        """Return the user of a good assertion, None for nobody.

        Raises ValueError for a bad one, and ConnectionError if it can't be told.
        """


class GuardWSGI:
    """Lets requests pass that their token allows; ``environ["portcullis.user"]`` is the ``User``."""

    def __init__(
        self, app: WSGIApplication, portcullis: Portcullis, *, unguarded: Collection[str] = ()
    ) -> None:
        """``unguarded`` are paths that nobody is asked about; their user is None."""
        self._app = app
        self._portcullis = portcullis
        self._unguarded = frozenset(unguarded)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request."""
        return _served(self._app, self._judge(environ), environ, start_response)

    def _judge(self, environ: WSGIEnvironment) -> User | Refusal | None:
        path = _path(environ)
        if path in self._unguarded:
            return None
        authorization = environ.get("HTTP_AUTHORIZATION")
        sent = [] if authorization is None else [authorization]
        question = question_about(environ["REQUEST_METHOD"], path, sent)
        if isinstance(question, Refusal):
            return question
        decision = self._portcullis.evaluate(question.subject, question.action, question.resource)
        return outcome(decision, question.subject.id)


class AssertedWSGI:
    """Lets requests pass that a proxy has asked about: it brings a signed assertion.

    ``environ["portcullis.user"]`` is the ``User``, None where a line opens the route to everybody.
    """

    def __init__(self, app: WSGIApplication, assertions: AssertionVerifier) -> None:
        self._app = app
        self._assertions = assertions

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request."""
        return _served(self._app, self._judge(environ), environ, start_response)

    def _judge(self, environ: WSGIEnvironment) -> User | Refusal | None:
        try:
            return self._assertions.user(environ.get(_ASSERTION, ""))
        except ValueError:
            return NOT_LOGGED_IN
        except ConnectionError:
            return NO_ANSWER


def _path(environ: WSGIEnvironment) -> str | None:
    raw = environ.get("REQUEST_URI") or environ.get("RAW_URI")
    try:
        served = f"{environ.get('SCRIPT_NAME', '')}{environ.get('PATH_INFO', '')}".encode("latin-1").decode()
        return path_asked(None if raw is None else raw.partition("?")[0].encode("latin-1"), served)
    except UnicodeError:
        return None


def _served(
    app: WSGIApplication,
    judged: User | Refusal | None,
    environ: WSGIEnvironment,
    start_response: StartResponse,
) -> Iterable[bytes]:
    names = {key: key.removeprefix(_HEADER) for key in environ if key.startswith(_HEADER)}
    if overrides_method(names.values()):
        judged = FAULTY
    if isinstance(judged, Refusal):
        start_response(f"{judged.status} {judged.title}", judged.headers)
        return [judged.body]
    for key, name in names.items():
        if is_ours(name):
            del environ[key]
    environ[USER] = judged
    return app(environ, start_response)
