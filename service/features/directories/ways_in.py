"""The ways in which somebody signs in: nobody gives up the own last one."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from service.authn.second_factors import SecondFactors
from service.errors import Conflict
from service.kernel.feature import provided
from service.records import accounts, factors, origins, role_rights
from service.records.database.transactions import Connection
from service.records.origins import Origin
from service.settings import Settings
from service.settings.providers import Provider


@dataclass(frozen=True, slots=True, kw_only=True)
class WaysIn:
    """Providers, passkeys and passwords.

    ``providers`` are those of the settings, by name: they close passwords and have titles, whether people
    sign in with them or not. By an origin that one of ``openers`` accepts somebody signs in, unless one of
    ``cut_off`` names its source. ``passkeys``: people log in with them.
    """

    providers: Mapping[str, Provider]
    openers: Sequence[Callable[[Origin], bool]]
    cut_off: Sequence[Callable[[Connection], Awaitable[Collection[str]]]]
    passkeys: bool

    async def origins_of(self, connection: Connection, user_id: int) -> list[tuple[Origin, bool]]:
        """Return what knows a user, each with whether it signs the user in."""
        off = {name for names in self.cut_off for name in await names(connection)}
        return [
            (each, self._opens(each) and each.source not in off)
            for each in await origins.origins_of(connection, user_id)
        ]

    async def require(self, connection: Connection, user_id: int, *, without: str = "") -> None:
        """Return if the user can sign in, also ``without`` the directory of that name; ``Conflict`` else."""
        kept = [each for each in await self.origins_of(connection, user_id) if each[0].source != without]
        if any(opens for _, opens in kept):
            return
        if self.passkeys and await factors.has_any(connection, user_id, "phr"):
            return
        stored = await accounts.credentials_of(connection, user_id)
        closed = any(
            provider is not None and not provider.allow_password
            for provider in (self.providers.get(origin.source) for origin, _ in kept)
        )
        if closed:  # but not to who may do everything
            closed = not await role_rights.is_administrator(connection, user_id)
        if closed or stored is None or stored.password_hash is None:
            why = "This is your only way to sign in: make a passkey first, or ask for an invitation"
            raise Conflict(why, rule="last_way_in")

    def _opens(self, origin: Origin) -> bool:
        return any(opens(origin) for opens in self.openers)


def ways_in_of(settings: Settings, second_factors: SecondFactors) -> WaysIn:
    """Return the ways in of the installation of ``settings``."""
    return WaysIn(
        providers={each.name: each for each in settings.oidc.providers},
        openers=[opener(settings) for opener in provided("way-in", settings.features.off).values()],
        cut_off=[*provided("cut-off").values()],
        passkeys=second_factors.passkeys,
    )
