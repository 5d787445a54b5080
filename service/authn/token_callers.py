"""The caller of an access token, from its claims."""

from msgspec import UNSET

from service.authn.claims import AccessClaims
from service.errors import TokenInvalid
from service.kernel.assurance import Authentication
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller
from service.kernel.permission_map import PermissionMap


def caller_of(claims: AccessClaims, held: HeldCodes) -> Caller:
    """Return the caller of a token, with the codes ``held``."""
    return Caller(
        user_id=int(claims.sub),
        login_id=claims.sub,
        user_name=claims.user_name,
        nick_name=claims.nick_name,
        device=claims.dev,
        roles=claims.roles,
        held=held,
        issued_at=claims.iat,
        authentication=_authentication(claims),
    )


def _authentication(claims: AccessClaims) -> Authentication:
    """Return the authentication of the session; for a token of version 0.2.0, the session has its time."""
    if claims.acr is UNSET or claims.auth_time is UNSET:
        return Authentication(initial=claims.initial)
    return Authentication(claims.acr, claims.amr, claims.auth_time, claims.initial)


def codes_of(claims: AccessClaims, permission_map: PermissionMap) -> frozenset[str]:
    """Return the permission codes of a token; TokenInvalid for bits that are none."""
    if claims.permissions is not UNSET:
        return frozenset(claims.permissions)
    try:
        return permission_map.decode(str(claims.pb))
    except ValueError:
        raise TokenInvalid from None
