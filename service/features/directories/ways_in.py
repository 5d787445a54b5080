"""Sign-in methods of a user; users cannot give up their last one."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from service.authn.second_factors import SecondFactors
from service.errors import Conflict
from service.features.directories.sentences import sentence
from service.kernel.feature import provided
from service.records import accounts, factors, origins, role_rights
from service.records.database.transactions import Connection
from service.records.origins import Origin
from service.settings import Settings
from service.settings.providers import Provider


@dataclass(frozen=True, slots=True, kw_only=True)
class WaysIn:
    """Providers, passkeys and passwords.

    ``providers`` are those of the settings, by name; they can close passwords, and have titles. A link signs
    a user in if one of ``openers`` accepts it and no function in ``cut_off`` names its source. ``passkeys``:
    users can sign in with passkeys.
    """

    providers: Mapping[str, Provider]
    openers: Sequence[Callable[[Origin], bool]]
    cut_off: Sequence[Callable[[Connection], Awaitable[Collection[str]]]]
    passkeys: bool

    async def origins_of(self, connection: Connection, user_id: int) -> list[tuple[Origin, bool]]:
        """Return a user's links, each with true if the user can sign in with it."""
        off = {name for names in self.cut_off for name in await names(connection)}
        return [
            (each, self._opens(each) and each.source not in off)
            for each in await origins.origins_of(connection, user_id)
        ]

    async def require(self, connection: Connection, user_id: int, *, without: str = "") -> None:
        """Raise ``Conflict`` if the user could not sign in, or could not ``without`` the named directory."""
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
        if closed:  # administrators keep their passwords
            closed = not await role_rights.is_administrator(connection, user_id)
        if closed or stored is None or stored.password_hash is None:
            why = sentence("last_way_in")
            raise Conflict(why, rule="last_way_in")

    def _opens(self, origin: Origin) -> bool:
        return any(opens(origin) for opens in self.openers)


def ways_in_of(settings: Settings, second_factors: SecondFactors) -> WaysIn:
    """Return the sign-in methods of the installation."""
    return WaysIn(
        providers={each.name: each for each in settings.oidc.providers},
        openers=[opener(settings) for opener in provided("way-in", settings.features.off).values()],
        cut_off=[*provided("cut-off").values()],
        passkeys=second_factors.passkeys,
    )
