"""Exchanges codes for tokens at a provider; the client authenticates with its secret or private key."""

import base64
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

import structlog
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey

from service.errors import Unavailable
from service.features.oidc.fetching import Fetcher, ProviderRefused
from service.features.oidc.sentences import sentence
from service.features.oidc.signatures import Untrusted
from service.settings import Provider as Settings
from service.settings.secrecy import mounted_text

_ASSERTION: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_ASSERTION_LIFE: Final = 60
_MOST_ACCESS_TOKEN: Final = 16 * 1024
_ALGORITHMS: Final = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}

_log = structlog.get_logger(__name__)


class Tokens(NamedTuple):
    """The result of a code exchange: the ID token, and the access token if the provider issued one."""

    id_token: str
    access_token: str | None


async def exchange(
    settings: Settings, fetcher: Fetcher, place: str, form: dict[str, str], now: float, *, by_form: bool
) -> Tokens:
    """Return the tokens for the code in ``form``, from the token endpoint ``place``.

    A secret is sent by HTTP Basic, or in the form (``by_form``) if the provider accepts nothing else. Raises
    ``Untrusted`` for a refused code, and ``Unavailable``.
    """
    headers = {}
    if settings.client_key_file is not None:
        form |= {
            "client_id": settings.client_id,
            "client_assertion_type": _ASSERTION,
            "client_assertion": _assertion(settings, settings.client_key_file, place, int(now)),
        }
    elif by_form:
        form |= {"client_id": settings.client_id, "client_secret": _secret(settings)}
    else:
        # Both form-encoded (RFC 6749 §2.3.1).
        pair = f"{quote(settings.client_id, safe='')}:{quote(_secret(settings), safe='')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    try:
        answer = await fetcher.post(place, form, headers)
    except ProviderRefused as refusal:
        raise Untrusted(f"the code was refused with status {refusal.status}") from None
    token, access = answer.get("id_token"), answer.get("access_token")
    if not isinstance(token, str):
        raise Untrusted("no ID token")
    usable = isinstance(access, str) and access.isascii() and access.isprintable() and " " not in access
    return Tokens(token, str(access) if usable and len(str(access)) <= _MOST_ACCESS_TOKEN else None)


def _secret(settings: Settings) -> str:
    if settings.client_secret_file is None:
        return settings.client_secret
    return _mounted(settings, settings.client_secret_file)


def _mounted(settings: Settings, path: Path) -> str:
    text, complaint = mounted_text(path)
    if complaint:
        raise _incomplete(settings, complaint)
    return text


def _assertion(settings: Settings, path: Path, audience: str, now: int) -> str:
    """Return the client assertion, signed with the private key (RFC 7523 §2.2) and valid for a minute."""
    from authlib.oauth2.rfc7523 import private_key_jwt_sign  # noqa: PLC0415 - for those who have a key

    text = _mounted(settings, path)
    try:
        key: ECKey | RSAKey = ECKey.import_key(text)
        algorithm = _ALGORITHMS[str(key.as_dict(private=False)["crv"])]
    except (ValueError, KeyError, JoseError):
        try:
            key, algorithm = RSAKey.import_key(text), "RS256"
        except (ValueError, JoseError):
            raise _incomplete(settings, "no private key in PEM that is RSA, or EC of a known curve") from None
    try:
        signed: str = private_key_jwt_sign(
            key,
            settings.client_id,
            audience,
            alg=algorithm,
            issued_at=now,
            expires_in=_ASSERTION_LIFE,
        )
    except (ValueError, JoseError):
        raise _incomplete(settings, "a key that can't sign") from None
    return signed


def _incomplete(settings: Settings, complaint: str) -> Unavailable:
    _log.error("a file of a provider can't be used", provider=settings.name, complaint=complaint)
    return Unavailable(sentence("provider_incomplete"))
