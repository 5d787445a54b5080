"""API keys of the caller's own account: ``/api/user/profile/keys``; and leaked keys: ``/api/key/leaked``."""

from typing import Annotated, Any

from msgspec import Meta

from service.endpoints.record_endpoints import Endpoint
from service.errors import Conflict, NotFound, RateLimited
from service.features.personal_keys.keys import LeakedKeys, PersonalKeys
from service.features.service_accounts.api import KeyOfUser, KeysOfUser, NewKeyOfUser, Scope, beside
from service.features.service_accounts.scopes import MOST_SCOPES
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import by_session, login, public, writes
from service.web.messages.schema import Schema
from service.web.requests.routes import Routes

_YEAR = 31_536_000


class OwnKeyOrder(Schema):
    """A new key of the caller; each member is required.

    `expiresIn` is at most the setting `auth.personal_key_max`. A scope is a permission code, whose segments
    after the first one may be `*`.
    """

    name: Annotated[str, Meta(min_length=1, max_length=64, examples=["backup script"])]
    scopes: Annotated[
        list[Scope],
        Meta(min_length=1, max_length=MOST_SCOPES, description="The permission codes of the key."),
    ]
    expires_in: Annotated[int, Meta(ge=1, le=10 * _YEAR, description="Seconds.", examples=[2_592_000])]


class OwnKeysOfUser(KeysOfUser):
    """The API keys of the caller, the oldest first, expired ones too."""

    max_expires_in: Annotated[
        int, Meta(description="The longest lifetime of a new key in seconds.", examples=[7_776_000])
    ]
    allowed: Annotated[
        bool, Meta(description="False if a role of the caller allows no keys: none is made or accepted.")
    ]


class LeakedKey(Schema):
    """A key that somebody has found where it does not belong."""

    key: Annotated[str, Meta(min_length=1, max_length=128, description="The whole key.", examples=["pck_…"])]


class OwnKeys(Endpoint[PersonalKeys], at="/api/user/profile/keys"):
    @login(name="listOwnKeys")
    async def on_get(self, context: RequestContext) -> OwnKeysOfUser:
        """List the caller's own API keys."""
        keys, allowed = await self.part.own(context.user)
        return OwnKeysOfUser(
            items=[KeyOfUser.of(key, **beside(key)) for key in keys],
            max_expires_in=self.part.longest,
            allowed=allowed,
        )

    @login(name="createOwnKey", refuses=[Conflict])
    @by_session("create-personal-key")
    @writes(
        "make an own API key",
        "INSERT",
        keeps="params",
        example={"name": "backup script", "scopes": ["system:user:list"], "expiresIn": 2_592_000},
        created="/api/user/profile/keys/{key_id}",
        refuses_keys="its answer holds the API key, which is never kept",
    )
    async def on_post(self, context: RequestContext, body: OwnKeyOrder) -> NewKeyOfUser:
        """Make an API key of the caller's own account.

        Only this answer has the key. A request with the key is allowed if both the permissions that the
        caller has at that moment and the scopes of the key allow it. Requests with an API key can't make
        keys.
        """
        made = await self.part.create(
            context.user,
            name=body.name,
            scopes=body.scopes,
            expires_in=body.expires_in,
            address=context.address,
        )
        return NewKeyOfUser.of(made.stored, **beside(made.stored), key=made.text)


class OneOwnKey(Endpoint[PersonalKeys], at="/api/user/profile/keys/{key_id}"):
    @login(name="deleteOwnKey", refuses=[NotFound])
    @by_session("delete-key")
    @writes("delete an own API key", "DELETE")
    async def on_delete(self, context: RequestContext, key_id: int) -> None:
        """Delete an API key of the caller, which is refused from the next request on."""
        await self.part.delete(context.user, key_id)


class LeakReport(Endpoint[LeakedKeys], at="/api/key/leaked"):
    @public(name="revokeLeakedKey", refuses=[RateLimited])
    @writes(
        "report a leaked API key",
        "DELETE",
        keeps="nothing",
        example={"key": "pck_…"},
        answers=204,
        refuses_keys="a repeated request changes nothing",
    )
    async def on_post(self, context: RequestContext, body: LeakedKey) -> None:
        """Revoke an API key that was found in public, and notify its owner.

        The answer is the same for a key that does not exist.
        """
        await self.part.revoke(body.key, context.address)


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints, made of the parts of ``container``."""
    parts, sign_in = container.administration, container.sign_in
    shared = {
        "database": container.stores.database,
        "revocations": sign_in.revocations,
        "notices": parts.notices,
    }
    keys = PersonalKeys(
        **shared,
        delegation=parts.delegation,
        sessions=container.stores.sessions,
        longest=container.settings.auth.personal_key_max,
    )
    routes.serve(OwnKeys(keys))
    routes.serve(OneOwnKey(keys))
    routes.serve(LeakReport(LeakedKeys(**shared, throttle=sign_in.throttle)))
