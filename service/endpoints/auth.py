"""Authentication: ``/api/auth``."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from service.authn import login as authn
from service.errors import AccountBanned, AccountDisabled, LoginFailed
from service.web.call import Call
from service.web.marks import logged, public, refuses
from service.web.wire import Wire


class Credentials(Wire):
    """What a user logs in with."""

    user_name: Annotated[str, Meta(min_length=1, max_length=64, examples=["admin"])]
    password: Annotated[str, Meta(min_length=1, max_length=1024, examples=["three wary herons"])]
    device: (
        Annotated[
            str,
            Meta(
                max_length=32,
                examples=["web"],
                description="The device type, `[a-z0-9][a-z0-9_-]{0,31}`; left out, the User-Agent tells it.",
            ),
        ]
        | None
    ) = None


class TokenPair(Wire):
    """An access token, the refresh token that renews it, and the life of the access token in seconds."""

    access_token: str
    refresh_token: str
    expires_in: Annotated[int, Meta(ge=1, examples=[7200])]


class Login:
    """``/api/auth/login``."""

    def __init__(self, login: authn.Login) -> None:
        self._login = login

    @public
    @logged("auth", "login", "LOGIN", params=False, response=False)
    @refuses(LoginFailed, AccountDisabled, AccountBanned)
    async def on_post(self, call: Call, body: Credentials) -> TokenPair:
        """Log in with user name and password.

        Opens a session for the device, replacing the one that the user had on it.
        """
        pair = await self._login.login(
            body.user_name, body.password, body.device, call.address, call.user_agent
        )
        return TokenPair.of(pair)
