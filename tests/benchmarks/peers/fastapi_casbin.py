"""A guarded GET in FastAPI: PyJWT, a look at Redis for a revoked token, and Casbin with ``keyMatch2``.

The model is that of Casbin's own examples for REST: roles, and 500 lines of paths and methods.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any

import casbin
from fastapi import Depends, FastAPI, HTTPException, Request

from tests.benchmarks.peers.fastapi_set import Answer, Status, current_claims

MODEL = """
[request_definition]
r = sub, obj, act

[policy_definition]
p = sub, obj, act

[role_definition]
g = _, _

[policy_effect]
e = some(where (p.eft == allow))

[matchers]
m = g(r.sub, p.sub) && keyMatch2(r.obj, p.obj) && r.act == p.act
"""
LINES, ROLES = 500, 10

app = FastAPI()


def policy() -> list[str]:
    """Return the lines: for each of ten roles fifty paths; the one that is asked for is in the middle."""
    lines = [
        f"p, role{number % ROLES}, /api/area{number // ROLES}/thing{number % ROLES}/:id, GET"
        for number in range(LINES - 1)
    ]
    lines.insert(LINES // 2, "p, role0, /api/role/list, GET")
    return [*lines, *(f"g, user{number}, role{number % ROLES}" for number in range(100))]


def enforcer() -> casbin.Enforcer:
    """Return an enforcer over these lines."""
    with tempfile.TemporaryDirectory() as folder:
        model, lines = Path(folder, "model.conf"), Path(folder, "policy.csv")
        model.write_text(MODEL)
        lines.write_text("\n".join(policy()))
        return casbin.Enforcer(str(model), str(lines))


rules = enforcer()


async def enforced(request: Request, claims: Annotated[dict[str, Any], Depends(current_claims)]) -> None:
    """Ask Casbin whether the user of the token may send this request."""
    if not rules.enforce(claims["name"], request.url.path, request.method):
        raise HTTPException(403, "permission denied")


@app.get("/api/role/list", dependencies=[Depends(enforced)])
async def roles() -> Answer:
    """Answer."""
    return Answer(data=Status(status="open"))
