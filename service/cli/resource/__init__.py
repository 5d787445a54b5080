"""The commands ``portcullis resource …``. A command is a module with ``add_arguments`` and ``run``."""

from __future__ import annotations

from typing import Final

from service.cli.lazy_commands import Command

COMMANDS: Final = (Command("import", "register the operations of an OpenAPI document"),)
