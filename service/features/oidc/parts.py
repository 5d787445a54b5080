"""The providers of a worker, with sign-in and logout; closes their connections at its end."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from service.administration.delegation import Delegation, SignInDelegation
from service.administration.people import People
from service.administration.unit_of_work import RightsUnits
from service.app.parts import Part
from service.features.directories.parts import directories_of
from service.features.oidc.accounts import ProviderAccounts
from service.features.oidc.handover import Handover
from service.features.oidc.logout import ProviderLogout
from service.features.oidc.provider import Provider
from service.features.oidc.sign_in import ProviderSignIn
from service.settings import Settings


def providers_of(settings: Settings, now: Callable[[], float]) -> dict[str, Provider]:
    """Return the providers of the settings, by name, without a request to them."""
    return {
        each.name: Provider(
            each,
            f"{settings.server.public_url}/api/auth/oidc/{each.name}/callback",
            settings.oidc.timeout,
            now,
        )
        for each in settings.oidc.providers
    }


class Providers(Part):
    """Sign-in and logout with the providers of the settings, and handover of accounts to them."""

    def __init__(self, container: Any) -> None:
        settings, stores = container.settings, container.stores
        sign_in, changes = container.sign_in, container.administration
        live = container.policy.live
        database, instant = stores.database, stores.sessions.synchronized.instant
        people = People(settings.policy.takeover_days)
        providers = providers_of(settings, stores.sessions.synchronized.now)
        self.handover = Handover(
            changes.units,
            changes.notices,
            {name: each.settings.issuer for name, each in providers.items()},
            people=people,
            now=instant,
        )
        self.logout = ProviderLogout(providers, database, stores.sessions, container.trail.logins)
        self.sign_in = ProviderSignIn(
            settings=settings.oidc,
            providers=providers,
            database=database,
            store=stores.sessions,
            logins=sign_in.logins,
            delegation=Delegation(live, instant),
            accounts=ProviderAccounts(
                roles_timeout=timedelta(seconds=settings.oidc.roles_timeout),
                database=database,
                store=stores.sessions,
                units=RightsUnits(database, SignInDelegation(live, instant), sign_in.revocations),
                directories=directories_of(container),
                notices=changes.notices,
                people=people,
            ),
            console=settings.console.enabled,
        )

    async def finish(self) -> None:
        await self.sign_in.close()
