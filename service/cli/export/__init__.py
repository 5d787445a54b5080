"""The commands ``portcullis export …``: how far each destination of the logs has got.

A command is a module with ``add_arguments`` and ``run``.
"""

from __future__ import annotations

from typing import Final

from service.cli.lazy_commands import Command

COMMANDS: Final = (
    Command("status", "all destinations: how far they have got, and what fails"),
    Command("retry", "ask a destination again at once, and send it its dead letters"),
    Command("dead-letters", "the entries that destinations have refused"),
    Command(
        "forget", "delete the state of a destination, or of a log of it, that is no longer in the settings"
    ),
)
