"""The settings of signing in with providers of OpenID Connect."""

from dataclasses import dataclass

from service.settings.checks import between
from service.settings.providers import Providers
from service.settings.table import setting
from service.settings.values import Origins


@dataclass(frozen=True, slots=True, kw_only=True)
class Oidc:
    """Signing in with providers of OpenID Connect."""

    providers: Providers = setting(
        Providers(),
        secret=True,
        shown="none",
        help="At which providers people sign in: in the file a table `[[oidc.providers]]` for each, in the "
        "environment a JSON array of the same tables. The members are listed in "
        "[sign-in with a provider](../guides/sign-in-with-a-provider.md#providers). "
        "All nodes must have the same.",
    )
    next_origins: Origins = setting(
        Origins(),
        shown="none",
        help="Origins to which a sign-in may lead back, beside paths of this service, such as "
        "`https://app.example.com`.",
    )
    roles_timeout: int = setting(
        43_200,
        unit="s",
        check=between(60, 31_536_000),
        help="Lifetime of roles that a sign-in assigns by groups of the provider; the next sign-in renews "
        "them.",
    )
    timeout: float = setting(
        5.0,
        unit="s",
        check=between(0.1, 30.0),
        help="How long a worker waits for a whole answer of a provider.",
    )

    @property
    def names(self) -> frozenset[str]:
        return frozenset(each.name for each in self.providers)
