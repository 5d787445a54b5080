"""Paths: the canonical form of request paths, and the grammar of registered paths.

An unregistered resource may be open. Two spellings of one path are a bypass if the router serves both and the
resource index knows one. So a request is refused, not normalised, unless its path has exactly one reading.
"""

import re
from functools import lru_cache
from typing import Final
from urllib.parse import unquote_to_bytes

from service.errors import BadRequest
from service.kernel.cache_sizes import cache_size
from service.kernel.coded_sentences import Sentence
from service.kernel.core_sentences import sentence
from service.kernel.value_rules import MAX_REGISTERED_PATH

MAX_REQUEST_PATH: Final = 2048
"""The longest request path in bytes, percent-encoded."""

_PARAMETER = r"\{[A-Za-z_][A-Za-z0-9_]*\}"
_NO_DOTS = r"(?!\.{1,2}(?:/|\Z))"
_SEGMENT = rf"(?:{_NO_DOTS}[A-Za-z0-9._~-]+|{_PARAMETER})"
_REGISTERED = re.compile(rf"/(?:{_SEGMENT}(?:/{_SEGMENT})*)?")
_REMEMBERED: Final = cache_size("resources", 1024)  # cached paths: most requests are for few of them
_ANY_PARAMETER = re.compile(_PARAMETER)

# RFC 3986 §3.3: pchar without ";", and no percent-encoding. The fast path of nearly all requests.
_PLAIN = re.compile(
    rf"/(?:{_NO_DOTS}[A-Za-z0-9._~!$&'()*+,=:@-]+(?:/{_NO_DOTS}[A-Za-z0-9._~!$&'()*+,=:@-]+)*)?"
)
_ENCODED = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,=:@/-]|%[0-9A-Fa-f]{2})+")
_TRIPLET = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_TRICKS = frozenset(b"/\\%;")


@lru_cache(_REMEMBERED)
def canonical(raw_path: bytes | str) -> str:
    """Return the decoded path of a request if it is canonical; the router routes on it.

    ``raw_path`` is the path as sent, percent-encoded and without the query. Raises BadRequest for an empty,
    ``.`` or ``..`` segment (so also for ``//`` and a trailing ``/``). The same for characters outside RFC
    3986 §3.3, ``;``, bad UTF-8, and more than ``MAX_REQUEST_PATH`` bytes. The same for percent-encoded
    slashes, backslashes, percent signs, semicolons, control characters or unreserved characters (RFC 3986
    §2.3). The message never repeats the path.
    """
    if len(raw_path) > MAX_REQUEST_PATH:
        raise BadRequest(sentence("request_path_too_long", most=MAX_REQUEST_PATH))
    try:
        text = raw_path.decode("ascii") if isinstance(raw_path, bytes) else raw_path
    except UnicodeDecodeError:
        raise BadRequest(sentence("path_without_encoding")) from None
    if _PLAIN.fullmatch(text) is not None:
        return text
    if not text.startswith("/"):
        raise BadRequest(sentence("path_without_slash"))
    if _ENCODED.fullmatch(text) is None:
        raise BadRequest(sentence("path_with_forbidden_character"))
    for triplet in _TRIPLET.finditer(text):
        _check_encoded(int(triplet[1], 16))
    for segment in text[1:].split("/"):
        if segment in ("", ".", ".."):
            raise BadRequest(sentence("path_with_dot_segment"))
    return _decoded(text)


def _check_encoded(byte: int) -> None:
    if byte in _UNRESERVED:
        raise BadRequest(sentence("path_with_needless_encoding"))
    if byte in _TRICKS:
        raise BadRequest(sentence("path_with_encoded_slash"))


def _decoded(text: str) -> str:
    try:
        path = unquote_to_bytes(text).decode("utf-8")
    except UnicodeDecodeError:
        raise BadRequest(sentence("path_not_utf8")) from None
    if any(character < " " or "\x7f" <= character < "\xa0" for character in path):
        raise BadRequest(sentence("path_with_control_character"))
    return path


def canonical_external_path(raw_path: bytes | str) -> str:
    """Return the decoded path of a request to another service; as ``canonical``, but it may end in a slash.

    Raises BadRequest as ``canonical``.
    """
    slash: bytes | str = b"/" if isinstance(raw_path, bytes) else "/"
    if len(raw_path) > 2 and raw_path[-1:] == slash:  # noqa: PLR2004 - "//" is not canonical
        return f"{canonical(raw_path[:-1])}/"
    return canonical(raw_path)


def registered_fault(path: str, *, may_end_in_slash: bool = False) -> Sentence | None:
    """Return why ``path`` can't be registered as a resource or an endpoint template; None if it can.

    Allowed are literal segments of ``[A-Za-z0-9._~-]``, and ``{name}`` for a whole segment; no empty, ``.``
    or ``..`` segment; ``/`` alone is allowed. Resources of other services may end in a slash.
    """
    if len(path) > MAX_REGISTERED_PATH:
        return sentence("path_too_long", most=MAX_REGISTERED_PATH)
    tested = path[:-1] if may_end_in_slash and len(path) > 1 and path.endswith("/") else path
    if tested == "/" != path or _REGISTERED.fullmatch(tested) is None:
        return sentence("not_a_path", segment="{name}")
    return None


def shape(path: str) -> str:
    """Return a registered path with parameters as ``{}``; paths of the same shape match the same requests."""
    return _ANY_PARAMETER.sub("{}", path)
