"""Second factors: codes of authenticator apps (TOTP), passkeys, and recovery codes.

``totp``, ``passkeys``, ``recovery_codes`` and ``sealing`` know neither a user nor a store; the others put
them together with the rows of ``service.records.factors`` and the challenges of the session store.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from service.kernel.assurance import STRENGTHS, Acr

Method: TypeAlias = Literal["totp", "recovery_code", "passkey"]
"""How somebody answers a challenge: with a code of an app, with a recovery code, or with a passkey."""

ACR: Final[Mapping[Method, Acr]] = {"totp": "mfa", "recovery_code": "mfa", "passkey": "phr"}
"""How strong an authentication is that rests on the method."""

AMR: Final[Mapping[Method, tuple[str, ...]]] = {
    "totp": ("otp",),
    "recovery_code": ("otp",),
    "passkey": ("pop", "user"),
}
"""The names of the methods (RFC 8176 §2). Nobody attests whether the key of a passkey is in hardware."""


def is_weaker(method: Method, acr: Acr) -> bool:
    """Tell whether a proof by the method is weaker than an authentication with that ``acr``."""
    return STRENGTHS.index(ACR[method]) < STRENGTHS.index(acr)


def amr_of(method: Method, *, password: bool) -> tuple[str, ...]:
    """Return the methods (claim ``amr``) of who has proved ``method``, and the password too."""
    return (*(("pwd",) if password else ()), *AMR[method], "mfa")


@dataclass(frozen=True, slots=True)
class Answer:
    """What somebody sends to a challenge: a code, or the ``AuthenticationResponseJSON`` of a passkey."""

    method: Method
    code: str = field(default="", repr=False)
    credential: Mapping[str, Any] = field(default_factory=dict, repr=False)
