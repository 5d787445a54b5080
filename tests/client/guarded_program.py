"""Applications behind the middleware, as servers load them: each answers what it serves, and what was asked.

``MOUNTED_AT`` in the environment is where they are mounted. Everything is allowed to whoever sends a token.
"""

import json
import os
from typing import Any

from service.features.decisions.client import GuardASGI, GuardWSGI, User
from service.features.decisions.client.wsgi import AssertedWSGI
from tests.client.decision_points import DecisionPoint

MOUNTED_AT = os.environ.get("MOUNTED_AT", "")
POINT = DecisionPoint()


def _answer(mount: str, below: str) -> bytes:
    asked = POINT.routes[-1][1] if POINT.routes else None
    return json.dumps({"mount": mount, "below": below, "asked": asked}).encode()


def plain(environ: Any, start_response: Any) -> list[bytes]:
    """Answer the two parts of the path; knows nothing of Portcullis."""
    mount, below = (environ.get(key, "").encode("latin-1").decode() for key in ("SCRIPT_NAME", "PATH_INFO"))
    body = _answer(mount, below)
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]


async def _by_asgi(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        for _ in range(2):
            event = await receive()
            await send({"type": f"{event['type']}.complete"})
        return
    mount = scope.get("root_path", "")
    body = _answer(mount, scope["path"].removeprefix(mount))
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Anybody:
    """Believes every assertion."""

    def user(self, _: str) -> User | None:
        return None


wsgi = GuardWSGI(plain, POINT.client(), mounted_at=MOUNTED_AT)
asgi = GuardASGI(_by_asgi, POINT.async_client(), mounted_at=MOUNTED_AT)
asserted = AssertedWSGI(plain, Anybody(), mounted_at=MOUNTED_AT)
