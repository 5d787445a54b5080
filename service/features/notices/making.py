"""The providers of the core's ports ``notify`` and ``mail``."""

from service.features.account_links.links import links_of
from service.features.notices.notices import Notices
from service.features.notices.outbox import Outbox
from service.features.second_factors.sealing import FactorKeys
from service.kernel.feature import provided
from service.settings import Settings


def outbox_of(settings: Settings) -> Outbox:
    """Return the outbox of the installation of ``settings``."""
    return Outbox(settings, FactorKeys.of(settings.auth))


def notices_of(settings: Settings) -> Notices:
    """Return the notices of the installation of ``settings``."""
    outbox = outbox_of(settings)
    chats = [maker(settings) for maker in provided("chat", settings.features.off).values()]
    return Notices(outbox, links_of(settings, outbox), chats[0] if chats else None)
