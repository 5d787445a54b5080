"""What others are told about sign-in with providers while it is on: whom it lets in, and that it is there."""

from collections.abc import Callable

from service.records.origins import Origin
from service.settings import Settings


def known_at_provider(settings: Settings) -> Callable[[Origin], bool]:
    """Return what tells whether an origin is a subject of a provider of the settings, and of its issuer."""
    issuers = {each.name: each.issuer for each in settings.oidc.providers}
    return lambda origin: issuers.get(origin.source) == origin.issuer


def facts(settings: Settings) -> dict[str, str]:
    """Return what the page of the console tells its scripts: whether there are providers to sign in with."""
    return {"providers": "some"} if settings.oidc.providers else {}
