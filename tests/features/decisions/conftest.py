"""A service with the subjects, resources and actions of the AuthZEN certification scenario."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.support.databases import database
from tests.support.inside import Inside, all_decisions, inside_published
from tests.support.members import Member, member, query
from tests.web.driver import Answer

EVALUATION = "/access/v1/evaluation"
EVALUATIONS = "/access/v1/evaluations"

CODES = {
    "alice": ("record:record-1:read", "record:record-1:write"),
    "bob": ("record:record-1:read", "record:record-2:write"),
    "gateway": ("system:policy:evaluate",),
    "searcher": ("system:policy:read",),
}


class Access:
    """A service that is asked by the account of a gateway."""

    def __init__(self, service: Inside, members: dict[str, Member], log: Path) -> None:
        self.service = service
        self.members = members
        self.log = log

    async def ask(self, path: str, body: Any, *headers: tuple[str, str], by: str = "gateway") -> Answer:
        """Ask as the member ``by``."""
        length = ("Content-Length", str(len(json.dumps(body).encode())))  # as clients send it
        return await self.members[by].ask("POST", path, body, *headers, length)

    async def decision(self, subject: dict[str, Any], action: str, resource: dict[str, Any]) -> Any:
        """Return the decision about one question, with its context."""
        body = {"subject": subject, "action": {"name": action}, "resource": resource}
        answer = await self.ask(EVALUATION, body)
        assert answer.status == 200, answer.body
        return answer.json

    async def allows(self, subject: str, action: str, resource: str, kind: str = "record") -> bool:
        """Return the decision about a user and a resource."""
        answer = await self.decision(user(subject), action, {"type": kind, "id": resource})
        allowed: bool = answer["decision"]
        return allowed


def user(name: str) -> dict[str, Any]:
    """Return a subject."""
    return {"type": "user", "id": name}


BUTTONS = """
INSERT INTO sys.menu (menu_type, title, auth_mark) SELECT 'Button', code, code FROM unnest(%s::text[]) code
"""


@pytest.fixture(scope="module")
async def access(
    stores: EmbeddedStores,
    published_template: str,
    module_redis_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Access]:
    """One service for the tests of a module; everybody is logged in."""
    with database(stores, published_template) as url:
        log = {
            **all_decisions(tmp_path_factory.mktemp("log") / "decisions"),
            "PORTCULLIS_SERVER__PUBLIC_URL": "https://access.example.com",
        }
        async with inside_published(url, module_redis_url, **log) as service:
            codes = {code for held in CODES.values() for code in held if not code.startswith("system:")}
            await query(service, BUTTONS, sorted(codes))
            await service.data("POST", "/api/policy/reload")  # written past the service
            members = {name: await member(service, name, *held) for name, held in CODES.items()}
            yield Access(service, members, Path(log["PORTCULLIS_POLICY__DECISION_LOG"]))
