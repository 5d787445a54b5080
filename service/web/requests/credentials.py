"""Credentials of requests: access tokens, CSRF protection where a cookie has one, the operator's token."""

from hmac import compare_digest

from authlib.oauth2.rfc6749.util import extract_basic_authorization

from service.errors import BadRequest, TokenInvalid, Unauthenticated
from service.kernel.core_sentences import sentence
from service.kernel.identity import Caller
from service.web.messages.context import RequestContext
from service.web.messages.cookies import Cookies
from service.web.messages.request import Request


def basic_client(request: Request) -> tuple[str, str]:
    """Return the id and the secret of a client that authenticates by HTTP Basic (RFC 6749 §2.3.1).

    Raises Unauthenticated without them, TokenInvalid for malformed ones.
    """
    sent = request.raw_header(b"authorization") or b""
    try:
        client_id, secret = extract_basic_authorization({"Authorization": sent.decode("latin-1")})
    except ValueError:  # bytes that are no text
        raise TokenInvalid from None
    if not client_id or not secret:
        raise Unauthenticated
    return client_id, secret


class HeaderToken:
    """The token in a header, after a prefix such as ``Bearer``."""

    def __init__(self, name: str, prefix: str) -> None:
        """``name`` is the header's name; ``prefix`` precedes the token, with its space; "" for none."""
        self.header = self._name = name.lower().encode("ascii")
        """The header that has the token, if it was verified before."""
        self._prefix = prefix.encode("ascii")

    def of(self, request: Request) -> str:
        """Return the token of ``request``.

        Raises Unauthenticated without a token or with another scheme (RFC 6750 §3.1), TokenInvalid for an
        empty one, BadRequest for two. The scheme is case-insensitive (RFC 9110 §11.1).
        """
        value = request.sent_headers.get(self._name)
        if value is None:
            raise Unauthenticated
        # The fast path of nearly every request.
        if value.startswith(self._prefix):
            token = value[len(self._prefix) :]
            if token and token.isascii() and b"," not in token and b" " not in token and b"\t" not in token:
                return token.decode("ascii")
        return self._loosely(value)

    def check_csrf(self, request: Request, caller: Caller, host: str | None = None) -> None:
        """Always pass: browsers send this header only if our page sets it."""

    def _loosely(self, value: bytes) -> str:
        if b"," in value:
            raise BadRequest(sentence("two_tokens"))
        value, prefix = value.strip(), self._prefix.lower()
        if value.lower() == prefix.rstrip():
            raise TokenInvalid(sentence("token_empty"))
        if not value.lower().startswith(prefix):
            raise Unauthenticated
        token = value[len(prefix) :].split()
        if len(token) != 1:
            raise BadRequest(sentence("two_tokens"))
        if not token[0].isascii():
            raise TokenInvalid
        return token[0].decode("ascii")


class CookieToken(HeaderToken):
    """The token in the access cookie or, without that cookie, in the header."""

    def __init__(self, name: str, prefix: str, cookies: Cookies) -> None:
        """``name`` and ``prefix`` are those of the header; ``cookies`` are read first."""
        super().__init__(name, prefix)
        self.header = b""  # no header has this name: ``of`` always reads the cookies
        self._cookies = cookies

    def of(self, request: Request) -> str:
        """Return the token of ``request``; raises BadRequest if both cookie and header have one."""
        token = self._cookies.access_token(request)
        if token is None:
            return super().of(request)
        if self._is_in_header(request):
            raise BadRequest(sentence("two_tokens"))
        return token

    def check_csrf(self, request: Request, caller: Caller, host: str | None = None) -> None:
        """Raise CsrfFailed if another site may have caused the request with the cookie.

        ``caller`` is the user of its token, ``host`` the one that the browser asked, None for that of
        ``request``.
        """
        if self._cookies.access_token(request) is not None:
            self._cookies.check_csrf(request, caller.login_id, caller.issued_at, host)

    def _is_in_header(self, request: Request) -> bool:
        try:
            super().of(request)
        except Unauthenticated:  # none, or credentials of another scheme
            return False
        except TokenInvalid:  # an empty one
            pass
        return True


class OperatorToken:
    """The token of the setting ``server.metrics_token``; an empty one matches no request."""

    def __init__(self, token: str) -> None:
        self._expected = f"Bearer {token}".encode() if token else None

    @property
    def is_set(self) -> bool:
        return self._expected is not None

    def is_held(self, context: RequestContext) -> bool:
        """True if the request has the token; compared in constant time."""
        sent = context.request.raw_header(b"authorization") or b""
        return self._expected is not None and compare_digest(sent, self._expected)
