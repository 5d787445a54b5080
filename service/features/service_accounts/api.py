"""API keys of service accounts: ``/api/user/{id}/keys``."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from service.endpoints.record_endpoints import Endpoint
from service.errors import Conflict, NotFound
from service.features.service_accounts.form import shown_prefix
from service.features.service_accounts.keys import ApiKeys
from service.features.service_accounts.scopes import MOST_SCOPES, sufficient_scopes, unused_scopes
from service.features.service_accounts.store import StoredKey
from service.kernel.codes import MAX_CODE_LENGTH
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import by_session, needs, writes
from service.web.messages.record_schemas import shows
from service.web.messages.schema import Id, Schema
from service.web.requests.routes import Routes

_YEAR = 31_536_000
Scope = Annotated[str, Meta(min_length=1, max_length=MAX_CODE_LENGTH, examples=["system:user:*"])]
Scopes = Annotated[
    list[Scope],
    Meta(
        max_length=MOST_SCOPES,
        description="The permission codes of the key, with wildcards; [] gives none.",
    ),
]


@shows(StoredKey, leave_out=("user_id", "hint", "needed_codes"), key_name="name")
class KeyOfUser(Schema):
    """An API key without its secret. `scopes` is null for a key with all permissions of its account.

    The use of scopes is recorded of keys of people; else `unusedScopes` and `proposedScopes` are null.
    """

    id: Id
    prefix: Annotated[str, Meta(examples=["pck_7_k3Xw"], description="The beginning of the key.")]
    unused_scopes: Annotated[
        list[str] | None,
        Meta(description="The scopes that the key never needed.", examples=[["system:role:*"]]),
    ]
    proposed_scopes: Annotated[
        list[str] | None,
        Meta(
            description="Scopes that would have sufficed until now: the needed permission codes.",
            examples=[["system:user:list"]],
        ),
    ]


class NewKeyOfUser(KeyOfUser, kw_only=True):
    """A new API key; `key` is shown only in this answer."""

    key: Annotated[str, Meta(description="The whole key: keep it secret.")]


class KeysOfUser(Schema):
    """All API keys of an account, the oldest first, expired ones too."""

    items: list[KeyOfUser]


class KeyOrder(Schema):
    """A new key. Without `expiresIn` it does not expire; without `scopes` it is not limited.

    With an empty list of `scopes` it gives access to public operations only.
    """

    name: Annotated[str, Meta(min_length=1, max_length=64, examples=["nightly job"])]
    expires_in: (
        Annotated[int, Meta(ge=1, le=10 * _YEAR, description="Seconds.", examples=[7_776_000])]
        | UnsetType
        | None
    ) = UNSET
    scopes: Scopes | UnsetType | None = UNSET


class UserKeys(Endpoint[ApiKeys], at="/api/user/{id}/keys"):
    @needs("system:user:key", name="listUserKeys", refuses=[NotFound])
    async def on_get(self, context: RequestContext, id: int) -> KeysOfUser:
        """List the API keys of a service account."""
        return KeysOfUser(items=[KeyOfUser.of(key, **beside(key)) for key in await self.part.of_account(id)])

    @needs("system:user:key", name="createUserKey", refuses=[NotFound, Conflict])
    @writes(
        "make an API key",
        "INSERT",
        keeps="params",
        example={"name": "nightly job", "expiresIn": 7_776_000, "scopes": ["system:user:list"]},
        created="/api/user/{id}/keys/{key_id}",
        refuses_keys="its answer holds the API key, which is never kept",
    )
    @by_session("create-key")
    async def on_post(self, context: RequestContext, id: int, body: KeyOrder) -> NewKeyOfUser:
        """Make an API key of a service account.

        Only this answer has the key. Callers can't make keys for accounts with more permissions than their
        own. Requests with an API key can't make keys.
        """
        made = await self.part.create(
            context.user,
            id,
            name=body.name,
            scopes=None if body.scopes is UNSET else body.scopes,
            expires_in=None if body.expires_in is UNSET else body.expires_in,
        )
        return NewKeyOfUser.of(made.stored, **beside(made.stored), key=made.text)


class OneUserKey(Endpoint[ApiKeys], at="/api/user/{id}/keys/{key_id}"):
    @needs("system:user:key", name="deleteUserKey", refuses=[NotFound])
    @writes("delete an API key", "DELETE")
    @by_session("delete-key")
    async def on_delete(self, context: RequestContext, id: int, key_id: int) -> None:
        """Delete an API key, which is refused from the next request on.

        Callers can't delete keys of accounts with more permissions than their own.
        """
        await self.part.delete(context.user, id, key_id)


def beside(key: StoredKey) -> dict[str, Any]:
    """Return the members of ``KeyOfUser`` that are no fields of the stored key."""
    known = key.scopes is not None and key.needed_codes is not None
    scopes, needed = key.scopes or (), key.needed_codes or ()
    return {
        "prefix": shown_prefix(key.id, key.hint),
        "unused_scopes": unused_scopes(scopes, needed) if known else None,
        "proposed_scopes": sufficient_scopes(scopes, needed) if known else None,
    }


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints, made of the parts of ``container``."""
    parts = container.administration
    keys = ApiKeys(container.stores.database, parts.delegation, container.sign_in.revocations, parts.notices)
    routes.serve(UserKeys(keys))
    routes.serve(OneUserKey(keys))
