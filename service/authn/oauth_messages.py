"""Requests and answers of OAuth 2.0, as Authlib takes and gives them."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

from authlib.oauth2.rfc6749 import InvalidRequestError, OAuth2Error, OAuth2Request
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload

# Authlib logs new tokens at this level.
logging.getLogger("authlib").setLevel(logging.WARNING)

_MOST_PARAMETERS: Final = 20
_MEDIA_TYPE: Final = "application/x-www-form-urlencoded"
_FORM: Final = re.compile(rf"{_MEDIA_TYPE}[ \t]*(?:;.*)?", re.IGNORECASE)
_URI: Final = "https://localhost/"  # Authlib checks nothing of it but the scheme


class OAuthAnswer(NamedTuple):
    """An answer: the members of its JSON, and further headers."""

    status: int
    body: Mapping[str, Any]
    headers: tuple[tuple[str, str], ...] = ()


class FormRequest(OAuth2Request):  # type: ignore[misc]  # Authlib ships no types
    """A request to an endpoint of OAuth 2.0."""

    def __init__(self, form: Mapping[str, str], authorization: str | None = None) -> None:
        super().__init__("POST", _URI, headers={"Authorization": authorization} if authorization else {})
        self.payload = BasicOAuth2Payload(form)
        self._form = form

    @property
    def form(self) -> Mapping[str, str]:
        """The parameters of the body."""
        return self._form


def form_of(content_type: str | None, body: bytes) -> dict[str, str]:
    """Return the parameters of a body; those without a value are left out (RFC 6749 §3.2).

    Raises ``InvalidRequestError`` for one that is malformed or repeats a parameter.
    """
    if _FORM.fullmatch(content_type or "") is None:
        raise InvalidRequestError(f"The body must be {_MEDIA_TYPE}")
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(body),
            errors="strict",
            max_num_fields=_MOST_PARAMETERS,
        )
    except ValueError:  # also for bytes beyond ASCII and for percent-encoded bytes that are no UTF-8
        raise InvalidRequestError("The body is not a well-formed form") from None
    if len({name for name, _ in pairs}) != len(pairs):
        raise InvalidRequestError("A parameter is repeated")
    return {name: value for name, value in pairs if value}


def answer(status: int, body: Mapping[str, Any], headers: Iterable[tuple[str, str]]) -> OAuthAnswer:
    """Return the answer that Authlib gives, without the headers that every answer has."""
    kept = tuple((name, value) for name, value in headers if name == "WWW-Authenticate")
    return OAuthAnswer(status, body, kept)


def refused(error: OAuth2Error) -> OAuthAnswer:
    """Return the answer of an error (RFC 6749 §5.2)."""
    return answer(*error())
