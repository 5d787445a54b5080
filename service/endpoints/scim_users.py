"""Users that directories provision: ``/scim/v2/Users``."""

from typing import Any, Final

from service.administration.scim_users import Match, ScimUsers, SentUser, source_of
from service.endpoints.scim import BASE, READ, ScimEndpoint, chosen, meta_of, record_id
from service.errors import Conflict, NotFound, PreconditionFailed
from service.kernel.scim.attributes import USER
from service.kernel.scim.patches import patched
from service.records import scim
from service.records.scim import ProvisionedUser
from service.web.messages import operation_metadata as operation
from service.web.messages import scim as messages
from service.web.messages.context import RequestContext
from service.web.messages.preconditions import answer_tag, unchanged, version_tag
from service.web.messages.scim import (
    LIST_OF,
    ScimEmail,
    ScimGetQuery,
    ScimListQuery,
    ScimName,
    ScimPatch,
    ScimReference,
    ScimUserBody,
    understood,
)

USERS: Final = "system:scim:users"
_EXAMPLE: Final = {
    "schemas": [USER.uri],
    "userName": "heron@example.org",
    "externalId": "00u1",
    "displayName": "Grey Heron",
    "emails": [{"value": "heron@example.org", "type": "work", "primary": True}],
    "active": True,
}
_PATCH: Final = {
    "schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
    "Operations": [{"op": "replace", "path": "active", "value": False}],
}


class ListOfScimUsers(ScimEndpoint[ScimUsers]):
    """``/scim/v2/Users``."""

    @operation.needs(READ, USERS)
    @operation.refuses(Conflict)
    @operation.named("listScimUsers")
    async def on_get(self, context: RequestContext, query: ScimListQuery) -> messages.ScimUsers:
        """List the users that the caller has provisioned, by id."""
        async with self.database.snapshot() as connection:
            source = await source_of(connection, context.user)
            with understood():
                users, total = await scim.users(connection, chosen(source.name, query, USER))
        shown = [query.shown(_shown(user)) for user in users]
        return messages.ScimUsers(LIST_OF, total, query.place[0] + 1, len(shown), shown)

    @operation.needs(USERS)
    @operation.named("createScimUser")
    @operation.created(f"{BASE}/Users/{{id}}")
    @operation.tagged
    @operation.logged("scim", "create a user", "INSERT")
    @operation.refuses(Conflict)
    @operation.refuses_keys("a name is unique: sent again, it is refused")
    @operation.example_body(_EXAMPLE)
    async def on_post(self, context: RequestContext, body: ScimUserBody) -> messages.ScimUser:
        """Create an account, without a password.

        A name that anybody has is refused with `uniqueness`, but for a user whom the caller has deleted, who
        comes back. A `password` is refused.
        """
        return _answer(context, await self.part.create(context.write, _sent(body)))


class OneScimUser(ScimEndpoint[ScimUsers]):
    """``/scim/v2/Users/{id}``."""

    @operation.needs(READ, USERS)
    @operation.refuses(NotFound, Conflict)
    @operation.named("getScimUser")
    @operation.tagged
    @operation.example_parameters(id="1")
    async def on_get(self, context: RequestContext, id: str, query: ScimGetQuery) -> messages.ScimUser:
        """Read a user whom the caller has provisioned."""
        async with self.database.snapshot() as connection:
            source = await source_of(connection, context.user)
            user = await scim.one_user(connection, source.name, record_id(id))
        if user is None:
            raise NotFound("There is no such user")
        shown: messages.ScimUser = query.shown(_answer(context, user))
        return shown

    @operation.needs(USERS)
    @operation.named("updateScimUser")
    @operation.tagged
    @operation.logged("scim", "replace a user", "UPDATE")
    @operation.refuses(NotFound, Conflict, PreconditionFailed)
    @operation.example_body(_EXAMPLE)
    @operation.example_parameters(id="999999999999")
    async def on_put(self, context: RequestContext, id: str, body: ScimUserBody) -> messages.ScimUser:
        """Replace a user; what is not there is taken away, and `active` false disables the account.

        Who holds more than the directory may hand out is disabled all the same, and not edited otherwise.
        """
        sent = _sent(body)
        match: Match = unchanged(context)
        return _answer(context, await self.part.update(context.write, record_id(id), lambda _: sent, match))

    @operation.needs(USERS)
    @operation.named("patchScimUser")
    @operation.tagged
    @operation.logged("scim", "patch a user", "UPDATE")
    @operation.refuses(NotFound, Conflict, PreconditionFailed)
    @operation.example_body(_PATCH)
    @operation.example_parameters(id="999999999999")
    async def on_patch(self, context: RequestContext, id: str, body: ScimPatch) -> messages.ScimUser:
        """Patch a user: the edit is that of a replacement by the result."""
        operations = [each.as_sent() for each in body.operations]
        with understood() as deviations:

            def change(stored: ProvisionedUser) -> SentUser:
                made = patched(USER, _attributes(stored), operations, deviations)
                return _sent(ScimUserBody.of_attributes(made))

            user = await self.part.update(context.write, record_id(id), change, unchanged(context))
        return _answer(context, user)

    @operation.needs(USERS)
    @operation.named("deleteScimUser")
    @operation.answers(204)
    @operation.logged("scim", "delete a user", "DELETE")
    @operation.refuses(NotFound, Conflict, PreconditionFailed)
    @operation.example_parameters(id="999999999999")
    async def on_delete(self, context: RequestContext, id: str) -> None:
        """Disable an account, and show it no more. Nothing of it is deleted: its name stays taken."""
        await self.part.delete(context.write, record_id(id), unchanged(context))


def _sent(body: ScimUserBody) -> SentUser:
    """Return the user of a body: of several addresses the primary one, or that for work, or the first."""
    addresses = [each for each in body.emails or () if each.value]
    ranked = sorted(addresses, key=lambda each: (not each.primary, (each.type or "").lower() != "work"))
    email = ranked[0] if ranked else ScimEmail()
    return SentUser(
        user_name=body.user_name,
        external_id=body.external_id,
        display_name=body.display_name or None,
        formatted_name=(body.name and body.name.formatted) or None,
        active=body.active is not False,
        email=email.value,
        email_type=email.type,
    )


def _attributes(user: ProvisionedUser) -> dict[str, Any]:
    """Return the attributes of a stored user that a patch changes."""
    email = {"value": user.email, "type": user.email_type, "primary": True}
    made = {
        "userName": user.user_name,
        "externalId": user.external_id,
        "displayName": user.display_name,
        "name": user.formatted_name and {"formatted": user.formatted_name},
        "active": user.status == "enabled",
        "emails": user.email and [{name: value for name, value in email.items() if value}],
    }
    return {name: value for name, value in made.items() if value is not None}


def _shown(user: ProvisionedUser) -> messages.ScimUser:
    emails = None if user.email is None else [ScimEmail(user.email, user.email_type, primary=True)]
    groups = [
        ScimReference(str(group_id), f"{BASE}/Groups/{group_id}", name, "direct")
        for group_id, name in user.groups
    ]
    return messages.ScimUser(
        schemas=[USER.uri],
        id=str(user.id),
        meta=meta_of("User", user.id, user.create_time, user.update_time, user.version),
        external_id=user.external_id,
        user_name=user.user_name,
        name=None if user.formatted_name is None else ScimName(user.formatted_name),
        display_name=user.display_name,
        active=user.status == "enabled",
        emails=emails,
        groups=groups or None,
    )


def _answer(context: RequestContext, user: ProvisionedUser) -> messages.ScimUser:
    answer_tag(context, version_tag(user.version))
    return _shown(user)
