"""The public keys of the tokens, for other services: ``/.well-known/jwks.json``."""

from __future__ import annotations

from typing import Final

import msgspec

from service.authn.tokens import Tokens
from service.web.messages.context import RequestContext
from service.web.messages.schema import Document

MEDIA_TYPE: Final = "application/jwk-set+json"


class KeySet:
    """GET /.well-known/jwks.json."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def on_get(self, _context: RequestContext) -> Document:
        """Read the public keys that verify tokens now, as a JWK Set (RFC 7517 §5).

        It is empty for the HS algorithms, whose key is secret.
        """
        return Document(msgspec.json.encode({"keys": self._tokens.public_keys()}), MEDIA_TYPE)
