"""A client that provisions by SCIM, as a service account of a running service."""

import json
from dataclasses import dataclass
from typing import Any, Final

from tests.support.inside import Inside
from tests.support.members import member
from tests.web.driver import Answer

SCIM: Final = ("Content-Type", "application/scim+json")
USER: Final = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP: Final = "urn:ietf:params:scim:schemas:core:2.0:Group"
PATCH: Final = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
CODES: Final = ("system:scim:read", "system:scim:users", "system:scim:groups")
CEILING: Final = ("system:file:list", "system:role:list")
MAPPING: Final = [
    {"group": "Readers", "roles": ["reader"]},
    {"group": "Both", "roles": ["reader", "lister"]},
]


@dataclass
class ScimClient:
    """The service account ``name``, which sends its API key."""

    service: Inside
    name: str
    user_id: int
    key: str

    async def ask(self, method: str, target: str, body: Any = None, *headers: tuple[str, str]) -> Answer:
        """Send one request below ``/scim/v2``."""
        sent = b"" if body is None else json.dumps(body).encode()
        named = [SCIM, *headers] if body is not None else [*headers]
        return await self.service.ask_raw(method, f"/scim/v2{target}", sent, *named, token=self.key)

    async def data(self, method: str, target: str, body: Any = None) -> Any:
        """Send one request that must succeed, and return what it answers."""
        answer = await self.ask(method, target, body)
        assert answer.status in (200, 201, 204), answer.body
        if answer.status == 204:
            return None
        assert answer.header("content-type") == "application/scim+json"
        return answer.json

    async def refused(self, method: str, target: str, body: Any = None) -> tuple[int, str | None]:
        """Send one request that must be refused, and return the status and the reason."""
        answer = await self.ask(method, target, body)
        assert answer.status >= 400, answer.body
        assert answer.json["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]
        assert answer.json["status"] == str(answer.status)
        return answer.status, answer.json.get("scimType")

    async def user(self, user_name: str, **others: Any) -> str:
        """Create a user, and return the id."""
        made = await self.data("POST", "/Users", {"schemas": [USER], "userName": user_name, **others})
        return str(made["id"])

    async def group(self, name: str, *members: str) -> str:
        """Create a group, and return the id."""
        listed = [{"value": each} for each in members]
        made = await self.data(
            "POST", "/Groups", {"schemas": [GROUP], "displayName": name, "members": listed}
        )
        return str(made["id"])

    async def patch(self, target: str, *operations: dict[str, Any]) -> Any:
        """Send one patch that must succeed."""
        return await self.data("PATCH", target, {"schemas": [PATCH], "Operations": operations})


async def scim_client(service: Inside, name: str = "entra-feed", source: str = "entra") -> ScimClient:
    """Make a service account that provisions for a directory, and the roles that this gives."""
    roles = (await service.data("GET", "/api/role/list?size=200"))["items"]
    if not any(role["roleCode"] == "reader" for role in roles):
        await member(service, "reader", CEILING[0])
        await member(service, "lister", CEILING[1])
    role = await service.data("POST", "/api/role", {"roleName": name, "roleCode": name})
    path = f"/api/role/{role['id']}/permissions"
    await service.data("PUT", path, {"permissions": list(CODES)})
    account = {"userName": name, "nickName": name, "kind": "service", "roleIds": [role["id"]]}
    made = await service.data("POST", "/api/user", account)
    key = await service.data("POST", f"/api/user/{made['id']}/keys", {"name": "provisioning"})
    body = {"kind": "scim", "client": name, "mapping": MAPPING, "ceiling": list(CEILING)}
    await service.data("PUT", f"/api/directory/{source}", body)
    return ScimClient(service, name, made["id"], key["key"])


async def roles_of(service: Inside, user_id: str) -> set[str]:
    """Return the codes of the roles that a user has."""
    page = await service.data("GET", f"/api/user/{user_id}")
    return {role["roleCode"] for role in page["roles"]}
