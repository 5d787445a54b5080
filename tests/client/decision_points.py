"""What answers the client in place of Portcullis, and requests as servers hand them on."""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from service.features.decisions.client import AsyncPortcullis, Portcullis

URL, KEY = "http://portcullis.test", "pck_1_secret"
Answer = Callable[[httpx.Request], httpx.Response]


def token_of(name: str) -> str:
    """Return what looks like an access token of a user."""
    claims = {"sub": "7", "user_name": name, "roles": ["clerk"]}
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{body}.c2ln"


ALICE = token_of("alice")


def decided(allowed: object, reason: str = "opened", **more: Any) -> httpx.Response:
    context = {"reason": reason, "revision": 3, **more}
    return httpx.Response(200, json={"decision": allowed, "context": context})


@dataclass
class DecisionPoint:
    """Answers by ``answer``, and keeps the questions."""

    answer: Answer = lambda _: decided(True)
    asked: list[Any] = field(default_factory=list)

    def _take(self, request: httpx.Request) -> httpx.Response:
        assert request.headers["authorization"] == f"Bearer {KEY}"
        self.asked.append((request.url.path, json.loads(request.content)))
        return self.answer(request)

    async def _take_async(self, request: httpx.Request) -> httpx.Response:
        return self._take(request)

    def client(self, **options: Any) -> Portcullis:
        return Portcullis(URL, KEY, transport=httpx.MockTransport(self._take), **options)

    def async_client(self, **options: Any) -> AsyncPortcullis:
        return AsyncPortcullis(URL, KEY, transport=httpx.MockTransport(self._take_async), **options)

    @property
    def routes(self) -> list[tuple[str, str]]:
        """The methods and paths that were asked about."""
        return [(body["action"]["name"], body["resource"]["id"]) for _, body in self.asked]
