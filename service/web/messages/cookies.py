"""Cookie mode: the tokens of a session in cookies, with a CSRF token that pages send back in a header."""

import time
from collections.abc import Callable
from typing import Final

from service.authn.csrf import Csrf, check_source
from service.authn.token_issuer import TokenPair
from service.errors import BadRequest, TokenInvalid
from service.kernel.core_sentences import sentence
from service.settings import Auth
from service.web.messages.context import RequestContext
from service.web.messages.request import Request

CSRF_HEADER: Final = "X-CSRF-Token"

_CSRF_FIELD: Final = CSRF_HEADER.lower().encode("ascii")


class Cookies:
    """Reads and sets the three cookies of a session (RFC 6265); does nothing if cookie mode is off.

    With ``cookie_secure`` their names start with ``__Host-``. A browser then accepts them only over TLS and
    for this host, so a subdomain can't set them.
    """

    def __init__(self, settings: Auth, now: Callable[[], float] = time.time) -> None:
        """``now`` returns the time for the end of the previous key, in seconds since the epoch."""
        self.on = settings.is_read_cookie
        self._proofs = Csrf(settings, now)
        prefix = "__Host-" if settings.cookie_secure else ""
        self.access, self.refresh, self.csrf = (
            f"{prefix}portcullis_{what}" for what in ("access", "refresh", "csrf")
        )
        secure = "; Secure" if settings.cookie_secure else ""
        self._bound = f"{prefix}portcullis_sign_in"
        # Not strict: the browser comes back from the provider with it.
        self._of_sign_in = f"; Path=/{secure}; SameSite=Lax; HttpOnly"
        self._attributes = f"; Path=/{secure}; SameSite={settings.cookie_same_site}"

    def access_token(self, request: Request) -> str | None:
        """Return the access token in the cookies of ``request``; None if there is none.

        Raises BadRequest for two cookies of that name, TokenInvalid for an empty one.
        """
        return self._read(request, self.access)

    def refresh_token(self, request: Request) -> str | None:
        """Return the refresh token in the cookies of ``request``, like ``access_token``."""
        return self._read(request, self.refresh)

    def check_source(self, request: Request, host: str | None = None) -> None:
        """Raise CsrfFailed for a request caused by another site.

        ``host`` is the one that the browser asked, None for that of ``request`` itself.
        """
        if self.on:
            check_source(
                fetch_site=_text(request.raw_header(b"sec-fetch-site")),
                origin=_text(request.raw_header(b"origin")),
                host=(_text(request.raw_header(b"host")) or "") if host is None else host,
            )

    def check_csrf(self, request: Request, login_id: str, issued_at: float, host: str | None = None) -> None:
        """Raise CsrfFailed unless our page sent ``request``, with the CSRF token of these cookies.

        ``login_id`` and ``issued_at`` (seconds) are ``sub`` and ``iat`` of the token in the cookie, ``host``
        as in ``check_source``.
        """
        self.check_source(request, host)
        self._proofs.check(_text(request.raw_header(_CSRF_FIELD)), login_id, round(issued_at * 1000))

    def set(self, context: RequestContext, pair: TokenPair) -> None:
        """Set the cookies of ``pair`` and its CSRF token, each for its lifetime."""
        proof = self._proofs.issue(str(pair.user_id), pair.issued)
        self._put(context, self.access, pair.access_token, pair.expires_in)
        self._put(context, self.refresh, pair.refresh_token, pair.refresh_expires_in)
        self._put(context, self.csrf, proof, pair.refresh_expires_in, readable=True)

    def bind(self, context: RequestContext, secret: str, life: int) -> None:
        """Bind a sign-in with a provider to the browser for ``life`` seconds."""
        context.respond_header("Set-Cookie", f"{self._bound}={secret}; Max-Age={life}{self._of_sign_in}")

    def bound(self, request: Request) -> str | None:
        """Return the secret that binds a sign-in to the browser of ``request``; None if there is none."""
        return self._read(request, self._bound)

    def clear(self, context: RequestContext) -> None:
        for name in (self.access, self.refresh, self.csrf):
            self._put(context, name, "", 0)

    def _put(
        self, context: RequestContext, name: str, value: str, life: int, *, readable: bool = False
    ) -> None:
        if self.on:
            hidden = "" if readable else "; HttpOnly"
            context.respond_header("Set-Cookie", f"{name}={value}; Max-Age={life}{self._attributes}{hidden}")

    def _read(self, request: Request, name: str) -> str | None:
        if not self.on or request.raw_header(b"cookie") is None:
            return None
        cookies = [value for key, value in _pairs(request) if key == name.encode("ascii")]
        if not cookies:
            return None
        if len(cookies) > 1:
            raise BadRequest(sentence("cookie_twice"))
        if not cookies[0] or not cookies[0].isascii():
            raise TokenInvalid
        return cookies[0].decode("ascii")


def _pairs(request: Request) -> list[tuple[bytes, bytes]]:
    """Return names and values of all cookies, undecoded; quotes are part of a value."""
    # Falcon's own parser reads only the last of several headers, and decodes quotes of RFC 2109.
    headers = (value for name, value in request.scope["headers"] if name == b"cookie")
    parts = (part.strip(b" \t").partition(b"=") for header in headers for part in header.split(b";"))
    return [(name, value) for name, _, value in parts]


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("latin-1")
