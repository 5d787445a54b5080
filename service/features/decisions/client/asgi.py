"""ASGI middleware that asks about each request before the application gets it."""

from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import Any, TypeAlias

from .asking import AsyncPortcullis
from .entities import User
from .gate import (
    FAULTY,
    USER,
    Refusal,
    checked_mount,
    is_ours,
    outcome,
    overrides,
    path_asked,
    question_about,
)

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

_POLICY_VIOLATION = 1008  # RFC 6455 §7.4.1


class GuardASGI:
    """Lets requests and WebSocket handshakes pass that their token or API key allows.

    The application finds the ``User`` in ``scope["portcullis.user"]``, and no header of the client whose name
    begins with ``X-Portcullis-``.
    """

    def __init__(
        self,
        app: App,
        portcullis: AsyncPortcullis,
        *,
        unguarded: Collection[str] = (),
        mounted_at: str = "",
    ) -> None:
        """``unguarded`` are paths without authorization; their user is None.

        ``mounted_at`` is the ``root_path`` of every request. Requests with a different ``root_path`` are
        refused: the application would serve another path than the authorized path. Raises ValueError for a
        ``mounted_at`` that does not begin with a slash, or ends with a slash.
        """
        self._app = app
        self._portcullis = portcullis
        self._mounted_at = checked_mount(mounted_at)
        self._unguarded = frozenset(unguarded)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        judged = await self._judge(scope)
        if isinstance(judged, Refusal):
            await _refuse(judged, scope, send)
            return
        headers = [(name, value) for name, value in scope["headers"] if not is_ours(name.decode("latin-1"))]
        await self._app({**scope, "headers": headers, USER: judged}, receive, send)

    async def _judge(self, scope: Scope) -> User | Refusal | None:
        headers = [(name.decode("latin-1").lower(), value) for name, value in scope["headers"]]
        if scope.get("root_path", "") != self._mounted_at or overrides(name for name, _ in headers):
            return FAULTY
        path = path_asked(scope.get("raw_path"), scope["path"], self._mounted_at)
        if path in self._unguarded:
            return None
        sent = [value.decode("latin-1") for name, value in headers if name == "authorization"]
        question = question_about(scope.get("method", "GET"), path, sent)
        if isinstance(question, Refusal):
            return question
        decision = await self._portcullis.evaluate(question.subject, question.action, question.resource)
        return outcome(decision, question.subject.id)


async def _refuse(refusal: Refusal, scope: Scope, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": _POLICY_VIOLATION})  # the server answers 403
        return
    headers = [(name.lower().encode(), value.encode()) for name, value in refusal.headers]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": refusal.body})
