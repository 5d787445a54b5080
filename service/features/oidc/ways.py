"""Answers to other components about provider sign-in: linked origins, and whether providers exist."""

from collections.abc import Callable

from service.records.origins import Origin
from service.settings import Settings


def known_at_provider(settings: Settings) -> Callable[[Origin], bool]:
    """Return a check whether an origin has a configured provider and that provider's issuer."""
    issuers = {each.name: each.issuer for each in settings.oidc.providers}
    return lambda origin: issuers.get(origin.source) == origin.issuer


def facts(settings: Settings) -> dict[str, str]:
    """Return facts for the console page: whether there are providers."""
    return {"providers": "some"} if settings.oidc.providers else {}
