"""Second factors as a login needs them: the strength of each, and the port that asks for them.

A feature provides ``SecondFactors``. Without it, users with a second factor cannot log in: the account has
the factor, and its proof cannot be verified.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

from service.authn.proving import Proof, ProviderOrigin
from service.errors import LoginFailed, SecondFactorRequired, Unavailable
from service.kernel.assurance import STRENGTHS, Acr
from service.kernel.core_sentences import sentence
from service.kernel.feature import provided
from service.kernel.notify import Notices
from service.keyspace import SessionStore
from service.records.accounts import Credentials
from service.records.database.transactions import Database
from service.settings import Settings

Method: TypeAlias = Literal["totp", "recovery_code", "passkey"]
"""Method of answering a challenge: a code of an app, a recovery code, or a passkey."""

ACR: Final[Mapping[Method, Acr]] = {"totp": "mfa", "recovery_code": "mfa", "passkey": "phr"}
"""Strength of an authentication that rests on the method."""

AMR: Final[Mapping[Method, tuple[str, ...]]] = {
    "totp": ("otp",),
    "recovery_code": ("otp",),
    "passkey": ("pop", "user"),
}
"""The names of the methods (RFC 8176 §2). No attestation shows that a passkey is in hardware."""


CHALLENGE_LIFE: Final = 300
"""Seconds for the answer to a challenge."""


def is_weaker(method: Method, acr: Acr) -> bool:
    """Return True if a proof by the method is weaker than an authentication with that ``acr``."""
    return STRENGTHS.index(ACR[method]) < STRENGTHS.index(acr)


def amr_of(method: Method, *, password: bool) -> tuple[str, ...]:
    """Return the methods (claim ``amr``) of a user who has proved ``method``, and optionally the password."""
    return (*(("pwd",) if password else ()), *AMR[method], "mfa")


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer to a challenge: a code, or the ``AuthenticationResponseJSON`` of a passkey."""

    method: Method
    code: str = field(default="", repr=False)
    credential: Mapping[str, Any] = field(default_factory=dict, repr=False)


class Begun(NamedTuple):
    """A pending second step: its user and device, and the function that makes the proof of an answer."""

    user_name: str
    device: str
    prove: Callable[[], Awaitable[Proof]]


class SecondFactors(Protocol):
    """Asks for second factors, and judges the answers; all raise ``Unavailable``."""

    @property
    def passkeys(self) -> bool:
        """True if passkeys are enabled here."""

    async def has_factor(self, user_id: int) -> bool:
        """Return whether a user has a second factor; recovery codes alone are none."""

    async def methods(self, user_id: int, least: Acr = "pwd") -> list[Method]:
        """Return the methods by which a user can answer now, the strongest first.

        Only methods as strong as ``least``, unless the user has none of them.
        """

    async def required(self, known: Credentials, device: str, origin: ProviderOrigin) -> SecondFactorRequired:
        """Return the refusal of a login whose first step is right, with a challenge.

        ``origin`` is that of a sign-in with a provider.
        """

    async def reset_options(self, user_id: int) -> dict[str, Any]:
        """Return ``methods``, ``expires_in`` and ``public_key`` for the second factor of a password reset."""

    async def prove_reset(self, user_id: int, answer: Answer) -> None:
        """Return if ``answer`` to ``reset_options`` is right; ``LoginFailed`` if not."""


class NoSecondFactors:
    """Stands in where no feature checks second factors: users with one prove nothing, and cannot log in."""

    passkeys = False

    async def has_factor(self, user_id: int) -> bool:  # noqa: ARG002 - nobody is taken for one without
        """See ``SecondFactors``."""
        return True

    async def methods(self, user_id: int, least: Acr = "pwd") -> list[Method]:  # noqa: ARG002
        """See ``SecondFactors``."""
        return []

    async def required(
        self,
        known: Credentials,  # noqa: ARG002
        device: str,  # noqa: ARG002
        origin: ProviderOrigin,  # noqa: ARG002
    ) -> SecondFactorRequired:
        """See ``SecondFactors``."""
        raise Unavailable(sentence("factors_unavailable"))

    async def reset_options(self, user_id: int) -> dict[str, Any]:  # noqa: ARG002
        """See ``SecondFactors``."""
        raise Unavailable(sentence("factors_unavailable"))

    async def prove_reset(self, user_id: int, answer: Answer) -> None:  # noqa: ARG002
        """See ``SecondFactors``."""
        raise LoginFailed


def second_factors_of(
    settings: Settings, database: Database, store: SessionStore, notices: Notices
) -> SecondFactors:
    """Return the feature's checker of second factors; without it, a stand-in that refuses all."""
    for make in provided("second-factors").values():
        made: SecondFactors = make(settings, database, store, notices)
        return made
    return NoSecondFactors()
