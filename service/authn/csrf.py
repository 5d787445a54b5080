"""Proof that a request with cookies was meant: where it came from, and a token that only our pages know.

For state-changing requests in cookie mode. The token is random and bound by HMAC to the pair of tokens that
was issued with it, that is to its user and its moment: one that an attacker got for an account of his own, or
that is left from an earlier session, proves nothing.
"""

from __future__ import annotations

import base64
import hmac
import re
import secrets
from hashlib import sha256

from service.authn.signing_keys import derived_key
from service.errors import CsrfFailed
from service.settings import Auth

_FORM = re.compile(r"([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})")
_PURPOSE = b"csrf"


class Csrf:
    """Issues and checks CSRF tokens; nothing is stored."""

    def __init__(self, settings: Auth) -> None:
        self._key = derived_key(settings, _PURPOSE)

    def issue(self, login_id: str, issued: int) -> str:
        """Return a token for the user's pair of tokens of the moment ``issued`` (milliseconds)."""
        nonce = secrets.token_urlsafe(16)
        return f"{nonce}.{self._mac(login_id, issued, nonce)}"

    def check(self, token: str | None, login_id: str, issued: int) -> None:
        """Raise ``CsrfFailed`` unless ``token`` was issued for the user and that moment."""
        form = _FORM.fullmatch(token or "")
        if form is None:
            raise CsrfFailed
        nonce, mac = form.groups()
        if not hmac.compare_digest(mac, self._mac(login_id, issued, nonce)):
            raise CsrfFailed

    def _mac(self, login_id: str, issued: int, nonce: str) -> str:
        said = f"{login_id}.{issued}.{nonce}".encode()
        return base64.urlsafe_b64encode(hmac.digest(self._key, said, sha256)).rstrip(b"=").decode()


def check_source(*, fetch_site: str | None, origin: str | None, host: str) -> None:
    """Raise ``CsrfFailed`` for a request that a browser says another site has caused.

    ``fetch_site`` is ``Sec-Fetch-Site``: ``same-origin``, or ``none`` for what the user did himself. A
    browser without it sends ``Origin``, whose host must be ours (``host``, as in ``Host``). A client that
    sends neither is no browser of today, and must show a token all the same.
    """
    if fetch_site is not None:
        if fetch_site not in ("same-origin", "none"):
            raise CsrfFailed("The request comes from another site")
    elif origin is not None and origin.partition("://")[2].lower() != host.lower():
        raise CsrfFailed("The request comes from another site")
