"""The commands ``portcullis jobs …``: what the service does by itself.

A command is a module with ``add_arguments`` and ``run``.
"""

from __future__ import annotations

from typing import Final

from service.cli.lazy_commands import Command

COMMANDS: Final = (
    Command("list", "all jobs: when they are due, and how their last runs ended"),
    Command("run", "run a job now, in this process, also a paused one"),
    Command("pause", "hold a job back until it is resumed"),
    Command("resume", "let a paused job run by its schedule again"),
)
