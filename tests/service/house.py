"""What a user and an administrator do in a service all day, to be done while something is wrong with it."""

from typing import Any, Final, Protocol

from tests.web.driver import Answer

PASSWORD: Final = "hinges, bolts & portals"


class Service(Protocol):
    """A service in this process or another; requests are sent with ``token`` unless another is given."""

    token: str | None

    async def ask(self, method: str, target: str, body: Any = None, *, token: str | None = None) -> Answer:
        """Send one request with ``body`` as JSON."""

    async def data(self, method: str, target: str, body: Any = None) -> Any:
        """Send one request that must succeed, and return what it answers."""

    async def as_anonymous(self, method: str, target: str) -> Answer:
        """Send one request with no access token."""

    async def log_in(self) -> str:
        """Return an access token of the administrator."""


class House:
    """A service with a user, Ann, who has a role now and then."""

    def __init__(self) -> None:
        self.service: Service
        self._ann = self._role = 0
        self._roles: list[int] = []

    async def fill(self) -> None:
        """Make the user and the role."""
        role = await self.service.data("POST", "/api/role", {"roleName": "Guard", "roleCode": "guard"})
        user = {"userName": "ann", "nickName": "Ann", "password": PASSWORD, "roleIds": []}
        self._ann, self._role = (await self.service.data("POST", "/api/user", user))["id"], role["id"]

    async def is_well(self) -> None:
        """Log in, change rights, refresh, log out, ban and unban: all of it works, and each at once."""
        service = self.service
        service.token = await service.log_in()
        ann = await self.log_in()
        assert await self.passes(ann["accessToken"])
        self._roles = [] if self._roles else [self._role]
        await service.data("PATCH", f"/api/user/{self._ann}", {"roleIds": self._roles})
        assert not await self.passes(ann["accessToken"])
        renewed = await self.refresh(ann)
        assert await self.passes(renewed["accessToken"])
        await service.data("POST", f"/api/online/{self._ann}/ban", {"seconds": 3600})
        assert (await self.ask_login()).status == 403
        await service.data("DELETE", f"/api/online/{self._ann}/ban")
        assert not await self.passes(renewed["accessToken"])
        other = (await self.log_in())["accessToken"]
        assert (await service.ask("POST", "/api/auth/logout", token=other)).status == 200
        assert not await self.passes(other)

    async def passes(self, token: str) -> bool:
        """Tell whether a request with the token is let through."""
        return (await self.service.ask("GET", "/api/user/info", token=token)).status == 200

    async def ask_login(self) -> Answer:
        """Let Ann log in."""
        credentials = {"userName": "ann", "password": PASSWORD}
        return await self.service.ask("POST", "/api/auth/login", credentials, token="none")

    async def log_in(self) -> Any:
        """Do the same, and return what the answer says."""
        answer = await self.ask_login()
        assert answer.status == 200, answer.body
        return answer.json["data"]

    async def refresh(self, tokens: Any) -> Any:
        """Refresh Ann's tokens."""
        given = {"refreshToken": tokens["refreshToken"]}
        return await self.service.data("POST", "/api/auth/refresh", given)

    async def clock(self) -> str:
        """Return what readiness says of the clocks."""
        answer = await self.service.as_anonymous("GET", "/health/ready")
        assert answer.status == 200, answer.body
        state: str = answer.json["data"]["parts"]["clock"]
        return state
