"""CSRF protection of requests with cookies: their source, and a token that only our pages know.

For state-changing requests in cookie mode. The token is random and bound by HMAC to the token pair issued
with it, by its user and time of issue: a token of an attacker's own account, or of an earlier session, is not
accepted.
"""

import hmac
import re
import secrets
import time
from collections.abc import Callable
from hashlib import sha256

from service.authn.signing_keys import derived_keys
from service.errors import CsrfFailed
from service.kernel.base64url import encoded
from service.kernel.core_sentences import sentence
from service.settings import Auth

_FORM = re.compile(r"([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})")
_PURPOSE = b"csrf"


class Csrf:
    """Issues and checks CSRF tokens; nothing is stored.

    They are made with the current signing key; those made with the previous one pass until it ends.
    """

    def __init__(self, settings: Auth, now: Callable[[], float] = time.time) -> None:
        """``now`` returns the time in seconds since the epoch."""
        self._keys = derived_keys(settings, _PURPOSE)
        self._now = now

    def issue(self, login_id: str, issued: int) -> str:
        """Return a CSRF token for the user's token pair of ``issued`` (milliseconds since the epoch)."""
        nonce = secrets.token_urlsafe(16)
        return f"{nonce}.{_mac(self._keys[0].key, login_id, issued, nonce)}"

    def check(self, token: str | None, login_id: str, issued: int) -> None:
        """Raise ``CsrfFailed`` unless ``token`` was issued for the user's token pair of ``issued``."""
        form = _FORM.fullmatch(token or "")
        if form is None:
            raise CsrfFailed
        nonce, mac = form.groups()
        now = self._now()
        accepted = [key for key, until in self._keys if now < until]
        if not any(hmac.compare_digest(mac, _mac(key, login_id, issued, nonce)) for key in accepted):
            raise CsrfFailed


def _mac(key: bytes, login_id: str, issued: int, nonce: str) -> str:
    message = f"{login_id}.{issued}.{nonce}".encode()
    return encoded(hmac.digest(key, message, sha256))


def check_source(*, fetch_site: str | None, origin: str | None, host: str) -> None:
    """Raise ``CsrfFailed`` if the browser reports that another site caused the request.

    ``fetch_site`` is ``Sec-Fetch-Site``: ``same-origin``, or ``none`` for a direct act of the user. A browser
    without it sends ``Origin``, whose host must be ours (``host``, as in ``Host``). A client that sends
    neither is no current browser; it must still send a CSRF token.
    """
    if fetch_site is not None:
        if fetch_site not in ("same-origin", "none"):
            raise CsrfFailed(sentence("from_another_site"))
    elif origin is not None and origin.partition("://")[2].lower() != host.lower():
        raise CsrfFailed(sentence("from_another_site"))
