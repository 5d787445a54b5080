"""Users provisioned by directories: ``/scim/v2/Users``."""

from typing import Final

from service.features.scim import messages
from service.features.scim import store as scim
from service.features.scim.api_kinds import ScimEndpoint, ScimKind, meta_of
from service.features.scim.attributes import PATCH_OF, USER
from service.features.scim.messages import ScimEmail, ScimName, ScimReference, ScimUserBody
from service.features.scim.store import ProvisionedUser
from service.features.scim.users import ScimUsers, SentUser
from service.kernel.languages import shipped_language
from service.kernel.time_zones import zone_fault


def _sent(body: ScimUserBody) -> SentUser:
    """Return the user of a body, with the primary address, or else the one for work, or the first."""
    addresses = [each for each in body.emails or () if each.value]
    ranked = sorted(addresses, key=lambda each: (not each.primary, (each.type or "").lower() != "work"))
    email = ranked[0] if ranked else ScimEmail()
    return SentUser(
        user_name=body.user_name,
        external_id=body.external_id,
        display_name=body.display_name or None,
        formatted_name=(body.name and body.name.formatted) or None,
        active=body.active,
        language=shipped_language(body.preferred_language or ""),
        time_zone=None if zone_fault(body.timezone or "") else body.timezone,
        email=email.value,
        email_type=email.type,
    )


def _shown(user: ProvisionedUser, base: str) -> messages.ScimUser:
    emails = None if user.email is None else [ScimEmail(user.email, user.email_type, primary=True)]
    groups = [
        ScimReference(str(group_id), f"{base}/Groups/{group_id}", name, "direct")
        for group_id, name in user.groups
    ]
    return messages.ScimUser(
        schemas=[USER.uri],
        id=str(user.id),
        meta=meta_of(base, "User", user),
        external_id=user.external_id,
        user_name=user.user_name,
        name=None if user.formatted_name is None else ScimName(user.formatted_name),
        display_name=user.display_name,
        active=user.status == "enabled",
        preferred_language=user.language,
        timezone=user.time_zone,
        emails=emails,
        groups=groups or None,
    )


USERS: Final = ScimKind(
    schema=USER,
    code="system:scim:users",
    linked="groups",
    body=ScimUserBody,
    answer=messages.ScimUser,
    page=messages.ScimUsers,
    find=scim.users,
    read=scim.one_user,
    sent=_sent,
    shown=_shown,
    example={
        "schemas": [USER.uri],
        "userName": "heron@example.org",
        "externalId": "00u1",
        "displayName": "Grey Heron",
        "emails": [{"value": "heron@example.org", "type": "work", "primary": True}],
        "active": True,
    },
    patch_example={
        "schemas": [PATCH_OF],
        "Operations": [{"op": "replace", "path": "active", "value": False}],
    },
)


class ListOfScimUsers(ScimEndpoint[ScimUsers], at="/scim/v2/Users"):
    on_get = USERS.lists("List the users provisioned by the caller, by id unless sorted.")
    on_post = USERS.creates(
        """Create an account, without a password.

        A name in use is refused with `uniqueness`. The name of a user deleted by the caller restores that
        user. A `password` is refused.
        """
    )


class SearchForScimUsers(ScimEndpoint[ScimUsers], at="/scim/v2/Users/.search"):
    on_post = USERS.searches("Search the users provisioned by the caller (RFC 7644 §3.4.3).")


class OneScimUser(ScimEndpoint[ScimUsers], at="/scim/v2/Users/{id}"):
    on_get = USERS.reads("Read a user provisioned by the caller.")
    on_put = USERS.replaces(
        """Replace a user; omitted attributes are removed, and `active` false disables the account.

        Without `active` the account keeps its status, and without `preferredLanguage` or `timezone` the
        person's choice. For a user with permissions beyond the ceiling of the directory, only disabling is
        possible.
        """
    )
    on_patch = USERS.patches("Patch a user: the edit is that of a replacement by the result.")
    on_delete = USERS.deletes(
        "Disable an account and hide it from the directory; its data stay, and its name stays in use."
    )
