"""What the core asks for by the ports ``notify`` and ``mail``."""

from service.administration.account_links import AccountLinks
from service.authn.sealing import FactorKeys
from service.features.notices.notices import Notices
from service.features.notices.outbox import Outbox
from service.settings import Settings


def outbox_of(settings: Settings) -> Outbox:
    """Return the outbox of the installation of ``settings``."""
    return Outbox(settings, FactorKeys.of(settings.auth))


def notices_of(settings: Settings) -> Notices:
    """Return what tells users of their accounts in the installation of ``settings``."""
    outbox = outbox_of(settings)
    links = AccountLinks(outbox, settings.server.public_url, settings.auth.link_timeout)
    return Notices(outbox, links)
