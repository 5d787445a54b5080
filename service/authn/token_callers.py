"""The callers of access tokens, from their claims."""

from msgspec import UNSET

from service.authn.claims import AccessClaims, BearerClaims
from service.errors import TokenInvalid
from service.kernel.assurance import Authentication
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller
from service.kernel.permission_map import PermissionMap


class TokenCallers:
    """Makes the callers of tokens.

    Callers with equal permissions share one object of held codes, so that decisions cached by it are found.
    It keeps those of one permission map, and at most ``most`` of them.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: dict[object, HeldCodes] = {}
        self._map: PermissionMap | None = None

    def of(self, claims: BearerClaims, permission_map: PermissionMap) -> Caller | None:
        """Return the caller of a token; None for a client or delegated token, whose rights are not in it.

        Raises ``TokenInvalid`` for permission bits that are none. The session has the time of authentication
        of a token of version 0.2.0.
        """
        if not isinstance(claims, AccessClaims):
            return None
        if self._map is not permission_map or len(self._held) > self._most:
            self._map, self._held = permission_map, {}
        permissions = claims.pb if claims.permissions is UNSET else claims.permissions
        if (held := self._held.get(permissions)) is None:
            try:
                held = HeldCodes(
                    permission_map.decode(str(claims.pb))
                    if claims.permissions is UNSET
                    else claims.permissions
                )
            except ValueError:
                raise TokenInvalid from None
            self._held[permissions] = held
        authentication = Authentication(initial=claims.initial)
        if claims.acr is not UNSET and claims.auth_time is not UNSET:
            authentication = Authentication(claims.acr, claims.amr, claims.auth_time, claims.initial)
        return Caller(
            user_id=int(claims.sub),
            login_id=claims.sub,
            user_name=claims.user_name,
            nick_name=claims.nick_name,
            device=claims.dev,
            roles=claims.roles,
            held=held,
            issued_at=claims.iat,
            authentication=authentication,
        )
