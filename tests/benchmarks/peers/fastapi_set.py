"""A guarded GET in FastAPI: PyJWT, a look at Redis for a revoked token, and a set of codes in the token."""

from __future__ import annotations

import os
from typing import Annotated, Any

import jwt
from fastapi import Depends, FastAPI, HTTPException
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel
from redis.asyncio import Redis

SECRET = os.environ["PEER_SECRET"]
redis: Redis = Redis.from_url(os.environ["REDIS_URL"])
bearer = HTTPBearer()
app = FastAPI()


class Status(BaseModel):
    """A small answer."""

    status: str


class Answer(BaseModel):
    """What every answer looks like."""

    data: Status


async def current_claims(
    credentials: Annotated[HTTPAuthorizationCredentials, Depends(bearer)],
) -> dict[str, Any]:
    """Return the claims of a token that is valid and not revoked."""
    try:
        claims: dict[str, Any] = jwt.decode(credentials.credentials, SECRET, algorithms=["HS256"])
    except jwt.InvalidTokenError as error:
        raise HTTPException(401, "the token is not valid") from error
    if await redis.exists(f"revoked:{claims['jti']}"):
        raise HTTPException(401, "the token is revoked")
    return claims


class Needs:
    """A dependency: the caller must hold one of the codes."""

    def __init__(self, *codes: str) -> None:
        self._codes = set(codes)

    def __call__(self, claims: Annotated[dict[str, Any], Depends(current_claims)]) -> dict[str, Any]:
        """Return the claims; 403 if none of the codes is held."""
        if self._codes.isdisjoint(claims["permissions"]):
            raise HTTPException(403, "permission denied")
        return claims


@app.get("/api/role/list", dependencies=[Depends(Needs("system:role:list", "system:user:create"))])
async def roles() -> Answer:
    """Answer."""
    return Answer(data=Status(status="open"))
