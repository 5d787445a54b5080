"""The commands ``portcullis keys …``: the keys that sign tokens.

A command is a module with ``add_arguments`` and ``run``.
"""

from __future__ import annotations

from typing import Final

from service.cli.lazy_commands import Command

COMMANDS: Final = (Command("rotate", "make a new signing key, and keep the present one as the previous one"),)
