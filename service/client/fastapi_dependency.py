"""A dependency of FastAPI that asks for a permission code."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import HTTPException, Request, Security
from fastapi.security import HTTPBearer

from .asking import AsyncPortcullis
from .entities import Resource, Subject, User
from .gate import NOT_LOGGED_IN, Refusal, outcome, token_of

_SHOWN = HTTPBearer(auto_error=False, description="An access token or API key of Portcullis.")


def needs(portcullis: AsyncPortcullis, code: str) -> Callable[..., Awaitable[User]]:
    """Return a dependency: the ``User``, if the token of the request may do what ``code`` stands for.

    So may an API key. Other requests are answered 401, 403, or 503 if Portcullis gives no answer; ``detail``
    of a 403 is a problem document that names ``code`` as ``required``.
    """

    async def user(request: Request, _document: Annotated[Any, Security(_SHOWN)]) -> User:
        token = token_of(request.headers.getlist("authorization"))
        if token is None:
            raise _refused(NOT_LOGGED_IN)
        decision = await portcullis.evaluate(Subject.token(token), "use", Resource.permission(code))
        judged = outcome(decision, token, (code,))
        if isinstance(judged, Refusal):
            raise _refused(judged)
        return judged

    return user


def _refused(refusal: Refusal) -> HTTPException:
    headers = {"Cache-Control": "no-store"}
    if refusal.status == NOT_LOGGED_IN.status:
        headers["WWW-Authenticate"] = refusal.challenge
    return HTTPException(refusal.status, refusal.problem if refusal.required else refusal.title, headers)
