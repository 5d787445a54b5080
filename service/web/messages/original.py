"""The request that a proxy asks about (forward authentication): read from the headers of one header profile.

Whatever header a header profile did not name could be the client's, so nothing else is read and no family
stands in for another. Values come from the raw list of headers: joined duplicates could look like one value.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from service.authz.engine.paths import canonical_external_path
from service.authz.engine.rules import METHODS
from service.errors import BadRequest
from service.kernel.core_sentences import sentence

PROXY_KEY: Final = "X-Portcullis-Key"
"""The header in which a proxy proves itself, by the API key of its account."""

IDENTITY: Final = (
    "X-Portcullis-User",
    "X-Portcullis-User-Id",
    "X-Portcullis-Roles",
    "X-Portcullis-Decision",
    "X-Portcullis-Assertion",
)
"""The headers of each 200, for the service: an empty one too, so that it replaces what a client has sent."""

TAIL: Final = "portcullis.tail"
"""The key in the ASGI scope of what follows the template of an operation that takes a raw path."""

TAIL_QUERY: Final = "portcullis.tail-query"
"""The key of the query behind that path: it is one of the original request, and not of the operation."""

PREFLIGHT: Final = "OPTIONS"
_HEAD: Final = "HEAD"
_METHODS: Final = frozenset({*METHODS, _HEAD, PREFLIGHT})
SAFE: Final = frozenset({"GET", _HEAD, PREFLIGHT})
"""The methods that change nothing (RFC 9110 §9.2.1)."""

_OURS: Final = b"x-portcullis-"
_KEY: Final = PROXY_KEY.lower().encode("ascii")
_OVERRIDES: Final = frozenset(
    {
        b"x-http-method-override",
        b"x-http-method",
        b"x-method-override",
        b"script-name",  # gunicorn cuts it off the path
        b"path-info",
        b"daphne-root-path",
        b"x-script-name",  # as gunicorn, by a widespread middleware for Flask
        b"x-original-url",  # IIS, and what follows it
        b"x-rewrite-url",
    }
)
"""Headers by which a back end takes another method or path; the Python client refuses the same."""

# All that a name may have beside letters, digits and "-" (RFC 9110 §5.6.2).
_SEPARATORS: Final = b"!#$%&'*+.^_`|~"
_SPELT: Final = bytes.maketrans(_SEPARATORS, b"-" * len(_SEPARATORS))
"""Back ends behind CGI and WSGI take "_" for "-", some take any of these for it."""


@dataclass(frozen=True, slots=True)
class HeaderProfile:
    """The headers in which a kind of proxy sends the method, target and host of the original request.

    Names of headers in lower case; None for parts in the request line.
    """

    method: bytes | None
    target: bytes | None
    host: bytes


CADDY: Final = HeaderProfile(b"x-forwarded-method", b"x-forwarded-uri", b"x-forwarded-host")
TRAEFIK: Final = HeaderProfile(b"x-forwarded-method", b"x-forwarded-uri", b"x-forwarded-host")
NGINX: Final = HeaderProfile(b"x-original-method", b"x-original-uri", b"x-original-host")
ENVOY: Final = HeaderProfile(None, None, b"host")


@dataclass(frozen=True, slots=True)
class Original:
    """The request that the client has sent; ``path`` is canonical, decoded and without the query.

    ``query`` is as it was sent.
    """

    method: str
    path: str
    host: str
    query: str = ""


def original_of(scope: Mapping[str, Any], profile: HeaderProfile) -> Original:
    """Return the original request that ``scope`` asks about.

    Raises BadRequest if a header of the profile is missing or repeated, and for a method that is unknown or
    not in upper case. Raises it also for an ambiguous path, and for headers that change the method or forge
    an identity, in any spelling that a back end accepts.
    """
    headers = scope["headers"]
    for name, _ in headers:
        _refuse_forgery(name)
    method = scope["method"] if profile.method is None else _only(headers, profile.method)
    if method not in _METHODS:
        raise BadRequest(sentence("original_method_unknown"))
    if profile.target is None:
        place, query = scope.get(TAIL, b""), scope.get(TAIL_QUERY, b"")
    else:
        # Not by a parser of URLs, which would read the first segment of //a//b as a host.
        place, _, query = _only(headers, profile.target).encode("latin-1").partition(b"?")
    path = canonical_external_path(place)
    return Original(method, path, _only(headers, profile.host), query.decode("ascii", "backslashreplace"))


def _refuse_forgery(name: bytes) -> None:
    spelt = name.translate(_SPELT)
    if spelt in _OVERRIDES:
        raise BadRequest(sentence("header_changes_request"))
    if spelt.startswith(_OURS) and name != _KEY:
        raise BadRequest(sentence("header_of_the_service"))


def _only(headers: list[tuple[bytes, bytes]], name: bytes) -> str:
    sent = [value for header, value in headers if header == name]
    if len(sent) != 1:
        raise BadRequest(sentence("proxy_header_missing", header=name.decode()))
    return sent[0].decode("latin-1")
