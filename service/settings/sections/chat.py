"""The settings of notices in a chat."""

from dataclasses import dataclass

from service.settings.chats import ChatDestinations
from service.settings.table import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """Notices about requests for roles, posted to channels of a chat."""

    destinations: ChatDestinations = setting(
        ChatDestinations(),
        secret=True,
        shown="none",
        help="Where notices are posted: in the file a table `[chat.destinations.NAME]` for each, in the "
        "environment a JSON object of the same tables by name. The members are listed in "
        "[chat](../guides/chat.md). All nodes must have the same. It needs `server.public_url`.",
    )
