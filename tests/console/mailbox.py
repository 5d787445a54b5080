"""A mail server of the thread of its own, and the links in what it has accepted."""

import re
from email import message_from_bytes
from email.policy import default
from queue import Queue
from typing import Any, Final

from aiosmtpd.controller import Controller

from tests.support.ports import free_port

_LINK: Final = re.compile(r"https?://\S+")


class Mailbox:
    """What has arrived; ``link`` waits for the next mail with a link to somebody."""

    def __init__(self) -> None:
        self.port = free_port()
        self._arrived: Queue[tuple[str, str]] = Queue()
        self._server = Controller(self, hostname="127.0.0.1", port=self.port)
        self._server.start()
        self.close = self._server.stop

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802 - aiosmtpd's
        text = message_from_bytes(envelope.content, policy=default).get_content()
        self._arrived.put((envelope.rcpt_tos[0], text))
        return "250 OK"

    def link(self, address: str, page: str) -> str:
        """Return the link to ``page`` of the next mail to ``address`` that has one."""
        while True:
            recipient, text = self._arrived.get(timeout=60)
            links = [link for link in _LINK.findall(text) if f"#/{page}?token=" in link]
            if recipient == address and links:
                return str(links[0])
