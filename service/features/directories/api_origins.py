"""Links between users and directories: ``/api/user/profile/origins`` and ``/api/user/{id}/origins``."""

from typing import Annotated

from msgspec import Meta

from service.endpoints.record_endpoints import Endpoint
from service.errors import Conflict, NotFound
from service.features.directories.origins import OriginOfUser, SignInOrigins
from service.records.origins import Origin
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import by_session, login, needs, writes
from service.web.messages.record_schemas import shows
from service.web.messages.schema import Schema

_Source = Annotated[str, Meta(max_length=32, examples=["entra"])]


@shows(Origin, leave_out=("user_id", "linked_by"))
class UserOrigin(Schema, kw_only=True):
    """A directory that knows the user, as `subject` of `issuer`."""

    title: Annotated[str, Meta(examples=["Example Inc."], description="What pages call it.")]
    provider: Annotated[bool, Meta(description="The user can sign in there now.")]
    current: Annotated[bool, Meta(description="The caller's own session was opened by signing in there.")]


class UserOrigins(Schema):
    """All directories that know a user, by name."""

    items: list[UserOrigin]


class OwnOrigins(Endpoint[SignInOrigins], at="/api/user/profile/origins"):
    @login(name="listOwnOrigins")
    async def on_get(self, context: RequestContext) -> UserOrigins:
        """List the directories that know the caller."""
        return _listed(await self.part.own(context.user))


class OneOwnOrigin(Endpoint[SignInOrigins], at="/api/user/profile/origins/{source}"):
    @login(name="deleteOwnOrigin", refuses=[NotFound, Conflict])
    @by_session("change-factors")
    @writes("unlink from a directory", "DELETE", module="auth")
    async def on_delete(self, context: RequestContext, source: _Source) -> None:
        """Unlink the caller's account from a provider, which ends sign-ins by this provider.

        The demands are those of a change of second factors. Roles from the directory and its other sessions
        end. The last way to sign in can't be removed.
        """
        await self.part.unlink_own(context.write, source)


class OriginsOfUser(Endpoint[SignInOrigins], at="/api/user/{id}/origins"):
    @needs("system:user:detail", name="listUserOrigins", refuses=[NotFound])
    async def on_get(self, context: RequestContext, id: int) -> UserOrigins:
        """List the directories that know a user."""
        return _listed(await self.part.of_user(id))


class OneUserOrigin(Endpoint[SignInOrigins], at="/api/user/{id}/origins/{source}"):
    @needs("system:user:factor", name="deleteUserOrigin", refuses=[NotFound, Conflict])
    @writes("unlink from a directory", "DELETE")
    @by_session("reset-factors")
    async def on_delete(self, context: RequestContext, id: int, source: _Source) -> None:
        """Unlink a user from a provider, which ends sign-ins by this provider.

        Roles from the directory and its sessions end. Callers can't unlink users with more permissions than
        their own, nor themselves here.
        """
        await self.part.unlink(context.write, id, source)


def _listed(origins: list[OriginOfUser]) -> UserOrigins:
    return UserOrigins(
        [
            UserOrigin.of(each.origin, title=each.title, provider=each.provider, current=each.current)
            for each in origins
        ]
    )
