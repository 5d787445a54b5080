"""Second factors: ``/api/user/profile/factors``, the caller's own, and ``/api/user/{id}/factors``."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from service.endpoints.record_endpoints import Endpoint
from service.errors import Conflict, NotFound
from service.features.second_factors.challenge_bodies import Credential, Expiry
from service.features.second_factors.challenges import LIFE
from service.features.second_factors.factor_reset import FactorReset
from service.features.second_factors.own_factors import OwnFactors
from service.features.second_factors.sentences import sentence
from service.records.factors import Factor, FactorName
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Responders, asks, by_session, login, needs, writes
from service.web.messages.record_schemas import shows
from service.web.messages.schema import Document, Id, Schema

_SECRETS: Final = "its answer holds secrets, which are never kept"

RecoveryCodes = Annotated[
    list[str],
    Meta(
        examples=[["K3XWQ2-7LPMAZ-RT4EYB-5UJHNC"]],
        description="Ten codes, each valid once in place of the second factor. They are shown only in this "
        "answer.",
    ),
]
CreationOptions = Annotated[
    dict[str, Any],
    Meta(
        description="Options for the browser (WebAuthn Level 3, `PublicKeyCredentialCreationOptionsJSON`).",
        examples=[{"challenge": "uSQ3…", "rp": {"id": "id.example.com", "name": "Portcullis"}}],
    ),
]


@shows(Factor, factor_name="name")
class SecondFactorOfUser(Schema):
    """A second factor, or the set of recovery codes, which is none by itself."""


class SecondFactors(Schema):
    """All second factors of a user, the oldest first."""

    items: list[SecondFactorOfUser]


class AppOrder(Schema):
    """The name of a new authenticator app."""

    name: FactorName | None = None


class NewApp(Schema):
    """A new authenticator app; it becomes a factor when its code is confirmed, within ten minutes."""

    id: Id
    secret: Annotated[str, Meta(examples=["JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"], description="In base32.")]
    uri: Annotated[str, Meta(examples=["otpauth://totp/Portcullis:heron?secret=JBSW…"])]
    qr: Annotated[
        str, Meta(examples=["data:image/svg+xml,%3Csvg…"], description="The URI as a QR code: an SVG.")
    ]


class AppCode(Schema):
    """The code that the app shows."""

    code: Annotated[str, Meta(min_length=1, max_length=16, examples=["287082"])]


class FirstCodes(Schema):
    """The recovery codes for the first factor; null for a further one."""

    recovery_codes: RecoveryCodes | None


class NewCodes(Schema):
    """New recovery codes; earlier ones are invalid."""

    recovery_codes: RecoveryCodes


class PasskeyOptions(Schema):
    """The options for a new passkey."""

    public_key: CreationOptions
    expires_in: Expiry


class PasskeyOrder(Schema):
    """The passkey made by the browser from the options, and its name."""

    name: FactorName
    credential: Credential


class NewPasskey(SecondFactorOfUser, kw_only=True):
    """A new passkey; `recoveryCodes` come with the first factor, and are null for a further one."""

    recovery_codes: RecoveryCodes | None


class Factors(Endpoint[OwnFactors], at="/api/user/profile/factors"):
    @login(name="listOwnFactors")
    async def on_get(self, context: RequestContext) -> SecondFactors:
        """List the caller's second factors, the oldest first."""
        return _listed(await self.part.all(context.user))


class OneFactor(Endpoint[OwnFactors], at="/api/user/profile/factors/{id}"):
    @login(name="deleteOwnFactor", refuses=[NotFound, Conflict])
    @by_session("change-factors")
    @writes("remove an own second factor", "DELETE")
    async def on_delete(self, context: RequestContext, id: int) -> None:
        """Remove a second factor of the caller, which ends their other sessions.

        The recovery codes are deleted with the last factor. A passkey can't be removed if it is the only way
        to sign in.
        """
        await self.part.remove(context.user, id)


class Apps(Endpoint[OwnFactors], at="/api/user/profile/factors/totp"):
    @login(name="createOwnApp", refuses=[Conflict])
    @by_session("change-factors")
    @writes(
        "begin an authenticator app",
        "INSERT",
        keeps="params",
        example={"name": "My phone"},
        created="/api/user/profile/factors/{id}",
        refuses_keys=_SECRETS,
    )
    async def on_post(self, context: RequestContext, body: AppOrder) -> NewApp:
        """Begin to enrol an authenticator app: the answer has its secret.

        The app is a second factor after its code is confirmed. Only one app at a time can wait for
        confirmation.
        """
        app = await self.part.begin_app(context.user, body.name)
        return NewApp(app.id, app.secret, app.uri, _qr_code(app.uri))


class AppConfirmation(Endpoint[OwnFactors], at="/api/user/profile/factors/totp/{id}/confirm"):
    @login(name="confirmOwnApp", refuses=[NotFound, Conflict])
    @by_session("change-factors")
    @writes(
        "confirm an authenticator app",
        "UPDATE",
        keeps="nothing",
        example={"code": "287082"},
        refuses_keys=_SECRETS,
    )
    async def on_post(self, context: RequestContext, id: int, body: AppCode) -> FirstCodes:
        """Confirm an authenticator app by its code, which makes it a second factor."""
        return FirstCodes(await self.part.confirm_app(context.user, id, body.code))


class PasskeyCreation(Endpoint[OwnFactors], at="/api/user/profile/factors/passkey/options"):
    @login(name="getPasskeyOptions", refuses=[Conflict])
    @by_session("change-factors")
    @asks()
    async def on_post(self, context: RequestContext) -> PasskeyOptions:
        """Begin to enrol a passkey: the answer has the options for the browser."""
        return PasskeyOptions(await self.part.passkey_options(context.user), LIFE)


class Passkeys(Endpoint[OwnFactors], at="/api/user/profile/factors/passkey"):
    @login(name="createOwnPasskey", refuses=[Conflict])
    @by_session("change-factors")
    @writes(
        "enrol a passkey",
        "INSERT",
        keeps="nothing",
        example={"name": "My phone", "credential": {"id": "…", "type": "public-key"}},
        created="/api/user/profile/factors/{id}",
        refuses_keys=_SECRETS,
    )
    async def on_post(self, context: RequestContext, body: PasskeyOrder) -> NewPasskey:
        """Enrol a passkey made by the browser: a second factor, which also logs in alone."""
        enrolled = await self.part.add_passkey(context.user, body.name, body.credential)
        return NewPasskey.of(enrolled.factor, recovery_codes=enrolled.recovery_codes)


class OwnRecoveryCodes(Endpoint[OwnFactors], at="/api/user/profile/factors/recovery-codes"):
    @login(name="createOwnRecoveryCodes", refuses=[Conflict])
    @by_session("change-factors")
    @writes("make recovery codes", "UPDATE", keeps="params", refuses_keys=_SECRETS)
    async def on_post(self, context: RequestContext) -> NewCodes:
        """Make ten new recovery codes for a caller with a second factor; earlier codes become invalid."""
        return NewCodes(await self.part.new_codes(context.user))


class FactorsOfUser(Endpoint[FactorReset], at="/api/user/{id}/factors"):
    @needs("system:user:factor", name="listUserFactors", refuses=[NotFound, Conflict])
    async def on_get(self, context: RequestContext, id: int) -> SecondFactors:
        """List the second factors of another user with at most the caller's permissions."""
        return _listed(await self.part.factors_of(context.user, id))

    @needs("system:user:factor", name="resetUserFactors", refuses=[NotFound, Conflict])
    @writes("reset second factors", "DELETE")
    async def on_delete(self, context: RequestContext, id: int) -> None:
        """Remove all second factors of a user, such as after a loss.

        Ends all sessions of the user, who then logs in with the password alone. Callers can't reset their own
        factors, nor those of users with more permissions than their own.
        """
        await self.part.reset(context.user, id)


class PasskeyEndpoints(Responders, at="/.well-known/passkey-endpoints"):
    def __init__(self, public_url: str) -> None:
        self._document = Document(
            msgspec.json.encode(dict.fromkeys(("enroll", "manage"), f"{public_url}{_ENROLMENT}")),
            "application/json",
        )
        self._known = bool(public_url)

    async def on_get(self, _context: RequestContext) -> Document:
        """Read where users make and manage passkeys (W3C Passkey Endpoints)."""
        if not self._known:
            raise NotFound(sentence("address_unset"))
        return self._document


_ENROLMENT: Final = "/console#/account"


def _qr_code(text: str) -> str:
    """Return a data URL of an SVG with the QR code of ``text``."""
    from segno import make_qr  # noqa: PLC0415 - 6 MB, and most workers enrol nobody

    return make_qr(text, error="m").svg_data_uri(encode_minimal=False, omit_charset=True)


def _listed(factors: list[Factor]) -> SecondFactors:
    return SecondFactors(items=[SecondFactorOfUser.of(factor) for factor in factors])
