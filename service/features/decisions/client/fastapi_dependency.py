"""A dependency of FastAPI that asks for a permission code."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import HTTPException, Request, Response, Security
from fastapi.security import HTTPBearer

from .asking import AsyncPortcullis
from .entities import Resource, Subject, User
from .gate import Refusal, outcome, token_of

_SHOWN = HTTPBearer(auto_error=False, description="An access token or API key of Portcullis.")


class Refused(HTTPException):
    """A refused request; ``detail`` is the problem document (RFC 9457), ``refusal`` its source."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.status, refusal.problem, dict(refusal.instructions))
        self.refusal = refusal


async def answer_problem(_request: Request, refused: Exception) -> Response:
    """Answer a ``Refused`` as Portcullis does: a handler for ``FastAPI(exception_handlers=…)``.

    Without it FastAPI answers JSON whose member ``detail`` is the problem document.
    """
    if not isinstance(refused, Refused):
        raise refused
    refusal = refused.refusal
    return Response(refusal.body, refusal.status, dict(refusal.headers))


def needs(portcullis: AsyncPortcullis, code: str) -> Callable[..., Awaitable[User]]:
    """Return a dependency: the ``User``, if the token of the request may do what ``code`` stands for.

    So may an API key. Other requests are ``Refused``: 401, 403, or 503 if Portcullis gives no answer. The
    document of a 403 names ``code`` as ``required``.
    """

    async def user(request: Request, _document: Annotated[Any, Security(_SHOWN)]) -> User:
        token = token_of(request.headers.getlist("authorization"))
        if isinstance(token, Refusal):
            raise Refused(token)
        decision = await portcullis.evaluate(Subject.token(token), "use", Resource.permission(code))
        judged = outcome(decision, token, (code,))
        if isinstance(judged, Refusal):
            raise Refused(judged)
        return judged

    return user
